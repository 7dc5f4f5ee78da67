//! Encodes the events of a client's stream: the response is created, its items are added and
//! finished, and it is completed. The official clients check that ids stay the same throughout.

use serde_json::{Map, Value, json};

use self::items::ResponsesOutputItems;
use self::names::EVENT_NAMES;
use super::{DIALECT, echo, errors, report_json, usage};
use crate::conversation::{ChatRequest, StopReason, TokenUsage};
use crate::delta::ResponseDelta;
use crate::error::{LlmError, LlmErrorKind};
use crate::extra::Extra;
use crate::format::{ChatSseEvent, StreamWriter};
use crate::gateway_report::GatewayReport;

mod items;
mod names;
mod part_position;

#[derive(Debug)]
pub(super) struct OpenAiResponsesStreamWriter {
    request: ChatRequest,
    /// `None` before the start.
    id: Option<String>,
    model: String,
    created: u64,
    extra: Extra,
    items: ResponsesOutputItems,
    end: Option<(StopReason, TokenUsage)>,
    sequence: u64,
}

impl OpenAiResponsesStreamWriter {
    pub(super) fn new(request: &ChatRequest) -> Self {
        // The conversation is long and not repeated in any response.
        let messages = request.messages.iter().take(1).cloned().collect();
        Self {
            model: request.model.clone(),
            request: ChatRequest { messages, ..request.clone() },
            id: None,
            created: 0,
            extra: Extra::none(),
            items: ResponsesOutputItems::default(),
            end: None,
            sequence: 0,
        }
    }

    /// The events of one delta.
    pub(super) fn step(&mut self, delta: &ResponseDelta) -> Vec<ResponsesEvent> {
        match delta {
            ResponseDelta::Start { id, model, created, extra } => {
                self.items.answer = id.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
                self.id = Some(id.clone());
                (self.model, self.created) = (model.clone(), *created);
                self.extra.merge(extra.clone());
                let response = self.response("in_progress", &Value::Null);
                vec![
                    ResponsesEvent::new("response.created", json!({"response": response})),
                    ResponsesEvent::new("response.in_progress", json!({"response": response})),
                ]
            }
            ResponseDelta::End { stop, usage, extra } => {
                self.end = Some((stop.clone(), usage.clone()));
                self.extra.merge(extra.clone());
                Vec::new()
            }
            delta => self.items.step(delta),
        }
    }

    /// The response in its current state.
    fn response(&self, status: &str, usage: &Value) -> Map<String, Value> {
        let mut body = Map::from_iter([
            ("id".to_owned(), self.id.clone().unwrap_or_default().into()),
            ("object".to_owned(), "response".into()),
            ("created_at".to_owned(), self.created.into()),
            ("status".to_owned(), status.into()),
            ("error".to_owned(), Value::Null),
            ("incomplete_details".to_owned(), Value::Null),
            ("model".to_owned(), self.model.clone().into()),
            ("output".to_owned(), self.items.output().into()),
            ("usage".to_owned(), usage.clone()),
        ]);
        self.extra.write_into(DIALECT, &mut body);
        body.extend(echo::certain(&self.request));
        echo::otherwise(&self.request, &mut body);
        body
    }

    /// The last events; the very last contains the whole response.
    pub(super) fn finish(&mut self, report: Option<&GatewayReport>) -> Vec<ResponsesEvent> {
        let (stop, used) = self.end.take().unwrap_or((StopReason::End, TokenUsage::default()));
        let ending = ResponsesFinalStatus::of(&stop, self.items.refusal());
        let mut events = self.items.finish(ending.status);
        let mut body = self.response(ending.status, &usage::write(&used));
        if let Some(reason) = ending.reason {
            body.insert("incomplete_details".to_owned(), json!({"reason": reason}));
        }
        if let Some(report) = report {
            body.insert("tollgate".to_owned(), report_json(report));
        }
        events.push(ResponsesEvent::new(ending.event(), json!({"response": body})));
        events
    }

    fn frames(&mut self, events: Vec<ResponsesEvent>) -> Vec<ChatSseEvent> {
        let mut frame = |event: ResponsesEvent| {
            let number = self.sequence;
            self.sequence += 1;
            event.with_number(number)
        };
        events.into_iter().map(&mut frame).collect()
    }
}

impl StreamWriter for OpenAiResponsesStreamWriter {
    fn write(&mut self, delta: &ResponseDelta) -> Vec<ChatSseEvent> {
        let events = self.step(delta);
        self.frames(events)
    }

    fn end(&mut self, report: Option<&GatewayReport>) -> Vec<ChatSseEvent> {
        let events = self.finish(report);
        self.frames(events)
    }

    /// The official clients raise the content of `error`; others wait for a terminal event.
    fn fail(&mut self, failure: &LlmError) -> Vec<ChatSseEvent> {
        let mut events = vec![ResponsesEvent::error(failure)];
        if self.id.is_some() {
            let mut response = self.response("failed", &Value::Null);
            let code = match failure.kind {
                LlmErrorKind::RateLimited | LlmErrorKind::ModelLimit => "rate_limit_exceeded",
                LlmErrorKind::Invalid | LlmErrorKind::TooLong => "invalid_prompt",
                _ => "server_error",
            };
            let error = json!({"code": code, "message": failure.message});
            response.insert("error".to_owned(), error);
            events.push(ResponsesEvent::new("response.failed", json!({"response": response})));
        }
        self.frames(events)
    }
}

/// Final status of a response.
struct ResponsesFinalStatus<'a> {
    status: &'static str,
    reason: Option<&'a str>,
}

impl<'a> ResponsesFinalStatus<'a> {
    fn event(&self) -> &'static str {
        match self.reason {
            Some(_) => "response.incomplete",
            None => "response.completed",
        }
    }

    fn of(stop: &'a StopReason, refusal: ModelRefusal) -> Self {
        let incomplete = |reason| Self { status: "incomplete", reason: Some(reason) };
        match stop {
            StopReason::Length => incomplete("max_output_tokens"),
            StopReason::Filtered => incomplete("content_filter"),
            StopReason::Refused if refusal == ModelRefusal::Absent => incomplete("content_filter"),
            StopReason::Other { dialect: DIALECT, reason } => incomplete(reason),
            // Cut off for a reason that this dialect has no word for.
            StopReason::Other { .. } => incomplete("max_output_tokens"),
            StopReason::End | StopReason::Sequence(_) | StopReason::Calls | StopReason::Refused => {
                Self { status: "completed", reason: None }
            }
        }
    }
}

/// Whether the model refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelRefusal {
    Present,
    Absent,
}

/// An event without its sequence number.
#[derive(Debug)]
pub(super) struct ResponsesEvent {
    name: String,
    fields: Map<String, Value>,
}

impl ResponsesEvent {
    fn new(name: &str, fields: Value) -> Self {
        let fields = match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        Self { name: name.to_owned(), fields }
    }

    /// Both flat and nested, as clients read either.
    pub(super) fn error(failure: &LlmError) -> Self {
        let error = errors::body(failure);
        let mut event = error.clone();
        event["error"] = error;
        Self::new("error", event)
    }

    pub(super) fn with_number(self, number: u64) -> ChatSseEvent {
        let name = EVENT_NAMES.iter().find(|known| **known == self.name).copied();
        let mut data = Map::from_iter([
            ("type".to_owned(), self.name.into()),
            ("sequence_number".to_owned(), number.into()),
        ]);
        for (key, value) in self.fields {
            data.entry(key).or_insert(value);
        }
        ChatSseEvent { name, data: Value::Object(data).to_string() }
    }

    pub(super) fn into_response(mut self) -> Value {
        self.fields.shift_remove("response").unwrap_or_default()
    }
}
