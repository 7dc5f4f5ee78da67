//! How a model is given tools, as its config says: natively, through constrained JSON, or natively
//! with an eye on calls that it writes as text.
//!
//! Called by whoever asks a model, around the asking: [`prepare`] before, [`ToolModeDecoder`] on what comes
//! back. Pure.

use crate::conversation::{ChatRequest, ChatResponse};
use crate::delta::{self, ResponseAssembly, ResponseDelta};
use crate::settings::ToolMode;

mod delta_writer;
mod json_end;
mod recover;
mod schema;

/// How the answer to a request is to be read: one for each answer.
#[derive(Debug, Clone, Default)]
pub struct ToolModeDecoder(ToolModeDecoderKind);

#[derive(Debug, Clone, Default)]
enum ToolModeDecoderKind {
    /// As it comes.
    #[default]
    Plain,
    /// It is JSON in which either a call or a reply stands.
    Schema(schema::SchemaReplyReader),
    /// Text that is a call is taken for one.
    Recover(recover::TextCallReader),
}

/// The request as the model takes it, and how to read its answer.
pub fn prepare(request: ChatRequest, mode: ToolMode) -> (ChatRequest, ToolModeDecoder) {
    let (request, manner) = match mode {
        ToolMode::Native => (request, None),
        ToolMode::Schema => {
            let (request, reader) = schema::rewrite(request);
            (request, reader.map(ToolModeDecoderKind::Schema))
        }
        ToolMode::Auto => {
            let reader = recover::TextCallReader::new(&request);
            (request, reader.map(ToolModeDecoderKind::Recover))
        }
    };
    (request, ToolModeDecoder(manner.unwrap_or(ToolModeDecoderKind::Plain)))
}

impl ToolModeDecoder {
    /// The next step of a stream. [`ResponseDelta::End`] brings out whatever was held back.
    pub fn read(&mut self, delta: ResponseDelta) -> Vec<ResponseDelta> {
        match &mut self.0 {
            ToolModeDecoderKind::Plain => vec![delta],
            ToolModeDecoderKind::Schema(reader) => reader.read(delta),
            ToolModeDecoderKind::Recover(reader) => reader.read(delta),
        }
    }

    /// An answer that came whole.
    pub fn whole(mut self, response: ChatResponse) -> ChatResponse {
        if matches!(self.0, ToolModeDecoderKind::Plain) {
            return response;
        }
        let mut assembly = ResponseAssembly::default();
        for step in delta::steps(&response) {
            self.read(step).iter().for_each(|step| assembly.add(step));
        }
        assembly.finish().unwrap_or(response)
    }
}

#[cfg(test)]
mod tests;
