//! Tool modes: how a model is given tools, as configured. Natively, through constrained JSON, or
//! natively with recovery of calls written as text.
//!
//! Wraps a model query: [`prepare`] before it, [`ToolModeDecoder`] on the answer. Pure.

use crate::conversation::{ChatRequest, ChatResponse};
use crate::delta::{self, ResponseAssembly, ResponseDelta};
use crate::settings::ToolMode;

mod delta_writer;
mod json_end;
mod recover;
mod schema;

/// Decoder for the answer to a request; one per answer.
#[derive(Debug, Clone, Default)]
pub struct ToolModeDecoder(ToolModeDecoderKind);

#[derive(Debug, Clone, Default)]
enum ToolModeDecoderKind {
    /// The answer is unchanged.
    #[default]
    Plain,
    /// JSON with either a call or a reply.
    Schema(schema::SchemaReplyReader),
    /// Calls written as text are recovered.
    Recover(recover::TextCallReader),
}

/// The request in the form for the model, and the decoder of its answer.
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
    /// Decodes the next delta of a stream. [`ResponseDelta::End`] flushes everything held back.
    pub fn read(&mut self, delta: ResponseDelta) -> Vec<ResponseDelta> {
        match &mut self.0 {
            ToolModeDecoderKind::Plain => vec![delta],
            ToolModeDecoderKind::Schema(reader) => reader.read(delta),
            ToolModeDecoderKind::Recover(reader) => reader.read(delta),
        }
    }

    /// Decodes a complete answer.
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
