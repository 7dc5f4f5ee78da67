//! Google's generateContent API. Called through [`Format`]; knows nothing of HTTP. The model and
//! whether the answer is streamed stand in the URL and come as [`Address`].

use serde_json::Value;

use crate::conversation::{Message, Request, Response};
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::format::{Address, Format, Malformed, Reported, StreamReader, StreamWriter, Written};
use crate::told::Told;

mod answer;
mod compose;
mod config_reader;
mod config_writer;
mod errors;
mod parts;
mod request_reader;
mod schema;
mod spelling;
mod stream_reader;
mod stream_writer;
mod writing;

/// `POST /v1beta/models/{model}:generateContent` and `:streamGenerateContent`.
#[derive(Debug, Clone, Copy)]
pub struct Gemini;

impl Format for Gemini {
    fn dialect(&self) -> Dialect {
        Dialect::Gemini
    }

    fn read_request(&self, body: Value, address: &Address<'_>) -> Result<Request, Failure> {
        request_reader::read(body, address)
    }

    fn write_request(&self, request: &Request) -> Result<Written, Failure> {
        config_writer::write(request)
    }

    fn read_response(&self, body: Value) -> Result<Response, Malformed> {
        answer::read(body)
    }

    fn write_response(&self, response: &Response, _: &Request, told: Option<&Told>) -> Value {
        answer::write(response, told)
    }

    fn stream_reader(&self) -> Box<dyn StreamReader> {
        Box::<stream_reader::Reader>::default()
    }

    fn stream_writer(&self, request: &Request) -> Box<dyn StreamWriter> {
        Box::new(stream_writer::Writer::new(&request.model))
    }

    fn read_error(&self, status: u16, body: &[u8]) -> Reported {
        errors::read(status, body)
    }

    fn write_error(&self, failure: &Failure) -> Value {
        errors::write(failure)
    }

    fn write_history(&self, messages: &[Message]) -> Value {
        compose::history(messages)
    }
}

#[cfg(test)]
mod tests;
