//! The response that runs, and its events in the order of OpenAI's servers. A response has any
//! number of messages and calls; it always ends with `response.done`.

use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::conversation::ConversationItems;
use super::events::EventWriter;
use super::session::OutputModality;
use crate::realtime::audio::AudioFormat;

#[derive(Debug)]
pub(super) struct ActiveResponse {
    id: String,
    metadata: Value,
    modality: OutputModality,
    format: AudioFormat,
    /// Whether the model has begun to answer.
    pub(super) has_begun: bool,
    pub(super) since: Instant,
    output: Vec<Value>,
    message: Option<OpenMessage>,
}

/// A message that is being spoken.
#[derive(Debug)]
struct OpenMessage {
    id: String,
    transcript: String,
    audio_bytes: u64,
}

/// A call of one of the client's functions.
#[derive(Debug)]
pub(super) struct ClientCall {
    pub(super) call_id: String,
    pub(super) name: String,
    /// JSON.
    pub(super) arguments: String,
}

/// How a response ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseEnd {
    Completed,
    /// The caller spoke.
    TurnDetected,
    ClientCancelled,
    /// The model did not answer.
    Failed,
}

/// Where events are written to, and what they refer to.
pub(super) struct ResponseOutput<'o> {
    pub(super) events: &'o mut EventWriter,
    pub(super) items: &'o mut ConversationItems,
    pub(super) out: &'o mut Vec<String>,
}

/// What a response looks like from its beginning.
#[derive(Debug, Clone)]
pub(super) struct ResponseShape {
    pub(super) modality: OutputModality,
    pub(super) format: AudioFormat,
    /// The client's own, echoed.
    pub(super) metadata: Value,
}

impl ActiveResponse {
    pub(super) fn open(shape: ResponseShape, now: Instant, to: &mut ResponseOutput<'_>) -> Self {
        let response = Self {
            id: to.events.id("resp"),
            metadata: shape.metadata,
            modality: shape.modality,
            format: shape.format,
            has_begun: false,
            since: now,
            output: Vec::new(),
            message: None,
        };
        let fields =
            json!({"response": response.object("in_progress", &Value::Null, &Value::Null)});
        to.out.push(to.events.write("response.created", fields));
        response
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn speaks_text(&self) -> bool {
        self.modality == OutputModality::Text
    }

    fn object(&self, status: &str, details: &Value, usage: &Value) -> Value {
        let modality = match self.modality {
            OutputModality::Audio => "audio",
            OutputModality::Text => "text",
        };
        json!({
            "object": "realtime.response", "id": self.id, "status": status,
            "status_details": details, "output": self.output, "conversation_id": "conv_1",
            "output_modalities": [modality], "max_output_tokens": "inf",
            "metadata": self.metadata, "usage": usage,
        })
    }

    /// Audio in the client's format. Does nothing if the client gets text.
    pub(super) fn speak(&mut self, audio: &[u8], to: &mut ResponseOutput<'_>) {
        if self.speaks_text() || audio.is_empty() {
            return;
        }
        self.open_message(to);
        let place = self.place();
        let Some(message) = &mut self.message else { return };
        message.audio_bytes += audio.len() as u64;
        let millis = self.format.millis(message.audio_bytes);
        to.items.set_spoken(&message.id, millis);
        let delta = json!({"delta": STANDARD.encode(audio)});
        to.out.push(to.events.write("response.output_audio.delta", with(&place, delta)));
    }

    /// The words of the model: its answer as text, or the transcript of its audio.
    pub(super) fn say(&mut self, text: &str, to: &mut ResponseOutput<'_>) {
        if text.is_empty() {
            return;
        }
        self.open_message(to);
        let place = self.place();
        let Some(message) = &mut self.message else { return };
        message.transcript.push_str(text);
        let kind = match self.modality {
            OutputModality::Audio => "response.output_audio_transcript.delta",
            OutputModality::Text => "response.output_text.delta",
        };
        to.out.push(to.events.write(kind, with(&place, json!({"delta": text}))));
    }

    /// The model calls one of the client's functions.
    pub(super) fn call(&mut self, call: &ClientCall, to: &mut ResponseOutput<'_>) {
        self.close_message("completed", to);
        self.has_begun = true;
        let mut item = json!({
            "id": to.events.id("item"), "object": "realtime.item", "type": "function_call",
            "status": "in_progress", "call_id": call.call_id, "name": call.name, "arguments": "",
        });
        self.begin_item(item.clone(), to);
        let place = json!({
            "response_id": self.id, "item_id": item["id"], "output_index": self.output.len() - 1,
            "call_id": call.call_id,
        });
        let delta = with(&place, json!({"delta": call.arguments}));
        to.out.push(to.events.write("response.function_call_arguments.delta", delta));
        let done = with(&place, json!({"arguments": call.arguments, "name": call.name}));
        to.out.push(to.events.write("response.function_call_arguments.done", done));
        item["status"] = "completed".into();
        item["arguments"] = call.arguments.as_str().into();
        self.end_item(item, to);
    }

    /// Ends it. `usage`: as OpenAI counts it.
    pub(super) fn end(mut self, end: ResponseEnd, usage: &Value, to: &mut ResponseOutput<'_>) {
        let (status, details) = match end {
            ResponseEnd::Completed => ("completed", json!({"type": "completed"})),
            ResponseEnd::TurnDetected => {
                ("cancelled", json!({"type": "cancelled", "reason": "turn_detected"}))
            }
            ResponseEnd::ClientCancelled => {
                ("cancelled", json!({"type": "cancelled", "reason": "client_cancelled"}))
            }
            ResponseEnd::Failed => (
                "failed",
                json!({"type": "failed", "error": {"type": "server_error", "code": "no_answer"}}),
            ),
        };
        let of_message = if end == ResponseEnd::Completed { "completed" } else { "incomplete" };
        self.close_message(of_message, to);
        let fields = json!({"response": self.object(status, &details, usage)});
        to.out.push(to.events.write("response.done", fields));
    }

    fn open_message(&mut self, to: &mut ResponseOutput<'_>) {
        self.has_begun = true;
        if self.message.is_some() {
            return;
        }
        let id = to.events.id("item");
        let item = json!({
            "id": id, "object": "realtime.item", "type": "message", "role": "assistant",
            "status": "in_progress", "content": [],
        });
        self.begin_item(item, to);
        self.message = Some(OpenMessage { id, transcript: String::new(), audio_bytes: 0 });
        let part = json!({"part": self.part("")});
        to.out.push(to.events.write("response.content_part.added", with(&self.place(), part)));
    }

    fn close_message(&mut self, status: &str, to: &mut ResponseOutput<'_>) {
        let place = self.place();
        let Some(message) = self.message.take() else { return };
        let text = message.transcript;
        let part = self.part(&text);
        let content = match self.modality {
            OutputModality::Audio => {
                to.out.push(to.events.write("response.output_audio.done", place.clone()));
                let done = with(&place, json!({"transcript": text}));
                to.out.push(to.events.write("response.output_audio_transcript.done", done));
                json!({"type": "output_audio", "transcript": text})
            }
            OutputModality::Text => {
                let done = with(&place, json!({"text": text}));
                to.out.push(to.events.write("response.output_text.done", done));
                json!({"type": "output_text", "text": text})
            }
        };
        let done = with(&place, json!({"part": part}));
        to.out.push(to.events.write("response.content_part.done", done));
        let item = json!({
            "id": message.id, "object": "realtime.item", "type": "message", "role": "assistant",
            "status": status, "content": [content],
        });
        self.end_item(item, to);
    }

    fn begin_item(&mut self, item: Value, to: &mut ResponseOutput<'_>) {
        let fields = json!({
            "response_id": self.id, "output_index": self.output.len(), "item": item,
        });
        to.out.push(to.events.write("response.output_item.added", fields));
        to.items.add(&item, to.events, to.out);
        self.output.push(item);
    }

    fn end_item(&mut self, item: Value, to: &mut ResponseOutput<'_>) {
        to.items.finish(&item, to.events, to.out);
        let at = self.output.len().saturating_sub(1);
        let fields = json!({"response_id": self.id, "output_index": at, "item": item});
        to.out.push(to.events.write("response.output_item.done", fields));
        if let Some(last) = self.output.last_mut() {
            *last = item;
        }
    }

    fn part(&self, text: &str) -> Value {
        match self.modality {
            OutputModality::Audio => json!({"type": "audio", "transcript": text}),
            OutputModality::Text => json!({"type": "text", "text": text}),
        }
    }

    /// The open message, as its events name it.
    fn place(&self) -> Value {
        json!({
            "response_id": self.id,
            "item_id": self.message.as_ref().map(|message| message.id.as_str()),
            "output_index": self.output.len().saturating_sub(1),
            "content_index": 0,
        })
    }
}

/// Both objects as one.
fn with(place: &Value, more: Value) -> Value {
    let mut fields = place.clone();
    if let (Value::Object(fields), Value::Object(more)) = (&mut fields, more) {
        fields.extend(more);
    }
    fields
}
