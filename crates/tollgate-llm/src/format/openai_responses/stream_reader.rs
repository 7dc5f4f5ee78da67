//! Reads the events of a provider's stream. Items that only this dialect has are passed on whole,
//! and what is said of them meanwhile travels beside them.

use serde_json::{Map, Value};
use tollgate_core::text::shortened;

use self::items::Items;
use super::response::{self, End, Head};
use super::{DIALECT, openai_error};
use crate::delta::Delta;
use crate::extra::Extra;
use crate::failure::{Failure, SHOWN};
use crate::format::fields::Fields;
use crate::format::{Broken, Malformed, StreamReader};

mod items;

#[derive(Debug, Default)]
pub(super) struct Reader {
    state: State,
    items: Items,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Waiting,
    Begun,
    Ended,
}

impl StreamReader for Reader {
    fn read(&mut self, name: Option<&str>, data: &str) -> Result<Vec<Delta>, Broken> {
        let data = data.trim();
        if self.state == State::Ended || data.is_empty() || data == "[DONE]" {
            return Ok(Vec::new());
        }
        let event: Value = serde_json::from_str(data).map_err(|_| {
            let shown = shortened(data, SHOWN);
            Malformed(format!("an event is not JSON: {shown}"))
        })?;
        let kind = event["type"].as_str().or(name).unwrap_or_default().to_owned();
        let error = event.get("error").is_some_and(|error| !error.is_null());
        if error || kind == "error" {
            return Err(Broken::Reported(openai_error::read_value(0, &event)));
        }
        if kind == "response.failed" {
            let response = event.get("response").unwrap_or(&event);
            return Err(Broken::Reported(openai_error::read_value(0, response)));
        }
        self.event(&kind, event).map_err(|failure| Broken::Malformed(failure.into()))?;
        Ok(std::mem::take(&mut self.items.out))
    }

    fn end(&mut self) -> Result<Vec<Delta>, Broken> {
        if self.state == State::Ended { Ok(Vec::new()) } else { Err(Broken::Short) }
    }
}

impl Reader {
    fn event(&mut self, kind: &str, event: Value) -> Result<(), Failure> {
        let mut fields = Fields::new(event, "")?;
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
            _ if self.state == State::Waiting => Ok(()),
            "response.output_item.added" | "response.output_item.done" => {
                let at = items::output_index(&fields);
                match fields.object("item")? {
                    Some(item) if kind.ends_with("added") => self.items.added(at, item),
                    Some(item) => self.items.done(at, item.into_value()),
                    None => Ok(()),
                }
            }
            _ => self.items.event(kind, fields),
        }
    }

    fn begin(&mut self, mut response: Fields) -> Result<(), Failure> {
        if self.state != State::Waiting {
            return Ok(());
        }
        self.state = State::Begun;
        let Head { id, model, created } = Head::take(&mut response)?;
        for key in ["output", "status", "error", "incomplete_details", "usage"] {
            response.take(key);
        }
        let extra = not_null(response);
        self.items.out.push(Delta::Start { id, model, created, extra });
        Ok(())
    }

    fn finish(&mut self, mut response: Fields) -> Result<(), Failure> {
        let Head { id, model, created } = Head::take(&mut response)?;
        if self.state == State::Waiting {
            self.items.out.push(Delta::Start { id, model, created, extra: Extra::none() });
        }
        self.state = State::Ended;
        let items = response.list("output")?.unwrap_or_default();
        self.items.close();
        // Some servers say it all at once.
        if self.items.is_empty() {
            self.items.whole(response::read_output(items)?);
        }
        let End { stop, usage, extra } = End::take(response, self.items.plain_stop())?;
        self.items.out.push(Delta::End { stop, usage, extra });
        Ok(())
    }
}

/// Fields without those that say nothing.
fn not_null(fields: Fields) -> Extra {
    match fields.into_value() {
        Value::Object(mut rest) => {
            rest.retain(|_, value| !value.is_null());
            Extra::new(DIALECT, rest)
        }
        _ => Extra::new(DIALECT, Map::new()),
    }
}
