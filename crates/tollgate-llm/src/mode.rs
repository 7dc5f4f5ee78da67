//! How a model is given tools, as its config says: natively, through constrained JSON, or natively
//! with an eye on calls that it writes as text.
//!
//! Called by whoever asks a model, around the asking: [`prepare`] before, [`Reading`] on what comes
//! back. Pure.

use crate::conversation::{Request, Response};
use crate::delta::{self, Assembly, Delta};
use crate::settings::ToolMode;

mod balance;
mod recover;
mod schema;
mod writing;

/// How the answer to a request is to be read: one for each answer.
#[derive(Debug, Clone, Default)]
pub struct Reading(Manner);

#[derive(Debug, Clone, Default)]
enum Manner {
    /// As it comes.
    #[default]
    Plain,
    /// It is JSON in which either a call or a reply stands.
    Schema(schema::Reader),
    /// Text that is a call is taken for one.
    Recover(recover::Reader),
}

/// The request as the model takes it, and how to read its answer.
pub fn prepare(request: Request, mode: ToolMode) -> (Request, Reading) {
    let (request, manner) = match mode {
        ToolMode::Native => (request, None),
        ToolMode::Schema => {
            let (request, reader) = schema::rewrite(request);
            (request, reader.map(Manner::Schema))
        }
        ToolMode::Auto => {
            let reader = recover::Reader::new(&request);
            (request, reader.map(Manner::Recover))
        }
    };
    (request, Reading(manner.unwrap_or(Manner::Plain)))
}

impl Reading {
    /// The next step of a stream. [`Delta::End`] brings out whatever was held back.
    pub fn read(&mut self, delta: Delta) -> Vec<Delta> {
        match &mut self.0 {
            Manner::Plain => vec![delta],
            Manner::Schema(reader) => reader.read(delta),
            Manner::Recover(reader) => reader.read(delta),
        }
    }

    /// An answer that came whole.
    pub fn whole(mut self, response: Response) -> Response {
        if matches!(self.0, Manner::Plain) {
            return response;
        }
        let mut assembly = Assembly::default();
        for step in delta::steps(&response) {
            self.read(step).iter().for_each(|step| assembly.add(step));
        }
        assembly.finish().unwrap_or(response)
    }
}

#[cfg(test)]
mod tests;
