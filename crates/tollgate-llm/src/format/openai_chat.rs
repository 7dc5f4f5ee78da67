//! OpenAI's Chat Completions, which most other servers of models speak too. Truth for the wire are
//! the types of the `openai` packages. Reached through [`super::of`] only.

use serde_json::Value;

use super::{Address, Format, Malformed, Reported, StreamReader, StreamWriter, Written};
use super::{openai_error, openai_media};
use crate::conversation::{Message, Request, Response};
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::told::Told;

mod history;
mod message;
mod part;
mod request;
mod response;
mod stream_reader;
mod stream_writer;
mod tool;
mod usage;
mod write;

const DIALECT: Dialect = Dialect::OpenAiChat;

#[derive(Debug, Clone, Copy)]
pub struct OpenAiChat;

impl Format for OpenAiChat {
    fn dialect(&self) -> Dialect {
        DIALECT
    }

    fn read_request(&self, body: Value, _: &Address<'_>) -> Result<Request, Failure> {
        request::read(body)
    }

    fn write_request(&self, request: &Request) -> Result<Written, Failure> {
        write::write(request)
    }

    fn read_response(&self, body: Value) -> Result<Response, Malformed> {
        response::read(body)
    }

    fn write_response(&self, response: &Response, request: &Request, told: Option<&Told>) -> Value {
        response::write(response, request, told)
    }

    fn stream_reader(&self) -> Box<dyn StreamReader> {
        Box::new(stream_reader::Reader::default())
    }

    fn stream_writer(&self, request: &Request) -> Box<dyn StreamWriter> {
        Box::new(stream_writer::Writer::new(request))
    }

    fn read_error(&self, status: u16, body: &[u8]) -> Reported {
        openai_error::read(status, body)
    }

    fn write_error(&self, failure: &Failure) -> Value {
        openai_error::write(failure)
    }

    fn write_history(&self, messages: &[Message]) -> Value {
        history::for_client(messages)
    }
}

/// The `tollgate` field.
fn told_json(told: &Told) -> Value {
    told.json(history::for_client(&told.history))
}

#[cfg(test)]
mod tests;
