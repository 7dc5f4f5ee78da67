//! Decodes the events of a provider's stream. Items that only this dialect has are passed on whole;
//! events about them are attached to them.

use serde_json::{Map, Value};
use tollgate_core::text::truncate_chars;

use self::items::ResponsesStreamItems;
use super::response::{self, ResponsesEnd, ResponsesHead};
use super::{DIALECT, errors};
use crate::delta::ResponseDelta;
use crate::error::{LlmError, MAX_QUOTED_CHARS};
use crate::extra::Extra;
use crate::format::fields::FieldReader;
use crate::format::{BrokenStreamError, MalformedResponseError, StreamReader};

mod items;

#[derive(Debug, Default)]
pub(super) struct OpenAiResponsesStreamReader {
    state: ResponsesStreamState,
    items: ResponsesStreamItems,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ResponsesStreamState {
    #[default]
    Waiting,
    Begun,
    Ended,
}

impl StreamReader for OpenAiResponsesStreamReader {
    fn read(
        &mut self,
        name: Option<&str>,
        data: &str,
    ) -> Result<Vec<ResponseDelta>, BrokenStreamError> {
        let data = data.trim();
        if self.state == ResponsesStreamState::Ended || data.is_empty() || data == "[DONE]" {
            return Ok(Vec::new());
        }
        let event: Value = serde_json::from_str(data).map_err(|_| {
            let shown = truncate_chars(data, MAX_QUOTED_CHARS);
            MalformedResponseError(format!("an event is not JSON: {shown}"))
        })?;
        let kind = event["type"].as_str().or(name).unwrap_or_default().to_owned();
        let error = event.get("error").is_some_and(|error| !error.is_null());
        if error || kind == "error" {
            return Err(BrokenStreamError::Reported(errors::read_value(0, &event)));
        }
        if kind == "response.failed" {
            let response = event.get("response").unwrap_or(&event);
            return Err(BrokenStreamError::Reported(errors::read_value(0, response)));
        }
        self.event(&kind, event).map_err(|failure| BrokenStreamError::Malformed(failure.into()))?;
        Ok(std::mem::take(&mut self.items.out))
    }

    fn end(&mut self) -> Result<Vec<ResponseDelta>, BrokenStreamError> {
        if self.state == ResponsesStreamState::Ended {
            Ok(Vec::new())
        } else {
            Err(BrokenStreamError::Short)
        }
    }
}

impl OpenAiResponsesStreamReader {
    fn event(&mut self, kind: &str, event: Value) -> Result<(), LlmError> {
        let mut fields = FieldReader::new(event, "")?;
        fields.take("sequence_number");
        fields.take("obfuscation");
        match kind {
            "response.created" | "response.in_progress" | "response.queued" => {
                let response = fields.object("response")?;
                self.begin(response.ok_or_else(|| fields.missing("response"))?)
            }
            "response.completed" | "response.incomplete" => {
                let response = fields.object("response")?;
                self.finish(response.ok_or_else(|| fields.missing("response"))?)
            }
            _ if self.state == ResponsesStreamState::Waiting => Ok(()),
            "response.output_item.added" | "response.output_item.done" => {
                let at = items::output_index(&fields);
                match fields.object("item")? {
                    Some(item) if kind.ends_with("added") => self.items.add_item(at, item),
                    Some(item) => self.items.finish_item(at, item.into_value()),
                    None => Ok(()),
                }
            }
            _ => self.items.event(kind, fields),
        }
    }

    fn begin(&mut self, mut response: FieldReader) -> Result<(), LlmError> {
        if self.state != ResponsesStreamState::Waiting {
            return Ok(());
        }
        self.state = ResponsesStreamState::Begun;
        let ResponsesHead { id, model, created } = ResponsesHead::take(&mut response)?;
        for key in ["output", "status", "error", "incomplete_details", "usage"] {
            response.take(key);
        }
        let extra = not_null(response);
        self.items.out.push(ResponseDelta::Start { id, model, created, extra });
        Ok(())
    }

    fn finish(&mut self, mut response: FieldReader) -> Result<(), LlmError> {
        let ResponsesHead { id, model, created } = ResponsesHead::take(&mut response)?;
        if self.state == ResponsesStreamState::Waiting {
            self.items.out.push(ResponseDelta::Start { id, model, created, extra: Extra::none() });
        }
        self.state = ResponsesStreamState::Ended;
        let items = response.list("output")?.unwrap_or_default();
        self.items.close()?;
        // Some servers send everything in the last event.
        if self.items.is_empty() {
            self.items.add_whole_parts(response::read_output(items)?);
        }
        let ResponsesEnd { stop, usage, extra } =
            ResponsesEnd::take(response, self.items.plain_stop())?;
        self.items.out.push(ResponseDelta::End { stop, usage, extra });
        Ok(())
    }
}

/// The fields that are not null.
fn not_null(fields: FieldReader) -> Extra {
    match fields.into_value() {
        Value::Object(mut rest) => {
            rest.retain(|_, value| !value.is_null());
            Extra::new(DIALECT, rest)
        }
        _ => Extra::new(DIALECT, Map::new()),
    }
}
