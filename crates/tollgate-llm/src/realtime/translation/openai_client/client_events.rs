//! Handles the client's events. Each is acknowledged or refused as OpenAI does it, never ignored.

use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use tollgate_core::json;
use tollgate_core::text::truncate_chars;

use super::conversation::unknown_item;
use super::events::EventRefusal;
use super::item_input;
use super::pending::{ItemRole, PartContent, PendingPart, audio_messages};
use super::response::ResponseEnd;
use super::session::{self, TurnDetection};
use super::setup::ClientFunctions;
use super::{CallStage, LinkStage, OpenAiClient, StaleTurn, TurnProgress, UPDATE_WAIT};
use crate::realtime::events::RealtimeFrame;
use crate::realtime::handover::describe_result;
use crate::realtime::tier_request::{self, TIER_MESSAGE_TYPE};

/// The events of a client.
pub(super) const CLIENT_EVENTS: [&str; 11] = [
    "session.update",
    "input_audio_buffer.append",
    "input_audio_buffer.commit",
    "input_audio_buffer.clear",
    "conversation.item.create",
    "conversation.item.retrieve",
    "conversation.item.truncate",
    "conversation.item.delete",
    "response.create",
    "response.cancel",
    TIER_MESSAGE_TYPE,
];
/// Fields of `response.create` that have an effect, or are only echoed.
const RESPONSE_KEYS: [&str; 7] = [
    "conversation",
    "instructions",
    "max_output_tokens",
    "metadata",
    "output_modalities",
    "parallel_tool_calls",
    "audio",
];
/// As OpenAI, in base64.
const MAX_AUDIO_BYTES: usize = 15 << 20;
/// As OpenAI.
const MAX_ID_CHARS: usize = 32;

impl OpenAiClient {
    pub(super) fn read_client_event(&mut self, frame: RealtimeFrame<'_>, now: Instant) {
        let (event, text) = match frame {
            RealtimeFrame::Text(text) => (json::value(text), text),
            RealtimeFrame::Binary(_) => {
                let message = "events are text; send JSON as a text message";
                let refusal = EventRefusal::new("invalid_event", message);
                self.outgoing.push(self.events.error(&refusal, None));
                return;
            }
        };
        let handled = match event {
            Ok(Value::Object(event)) => {
                let id = event.get("event_id").and_then(Value::as_str).map(str::to_owned);
                self.handle_event(&event, text, now).map_err(|refusal| (refusal, id))
            }
            Ok(_) => Err((EventRefusal::new("invalid_event", "an event is a JSON object"), None)),
            Err(malformed) => {
                let message = format!("the event is invalid: {malformed}");
                Err((EventRefusal::new("invalid_json", message), None))
            }
        };
        if let Err((refusal, id)) = handled {
            self.outgoing.push(self.events.error(&refusal, id.as_deref()));
        }
    }

    fn handle_event(
        &mut self,
        event: &Map<String, Value>,
        text: &str,
        now: Instant,
    ) -> Result<(), EventRefusal> {
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "session.update" => self.update_session(event, text, now),
            "input_audio_buffer.append" => self.append_audio(event),
            "input_audio_buffer.commit" => self.commit_audio(now),
            "input_audio_buffer.clear" => {
                self.input.clear();
                self.tell("input_audio_buffer.cleared", json!({}));
                Ok(())
            }
            "conversation.item.create" => self.create_item(event, now),
            "conversation.item.retrieve" => {
                let item = self.items.retrieve(item_id(event)?)?.clone();
                self.tell("conversation.item.retrieved", json!({"item": item}));
                Ok(())
            }
            "conversation.item.truncate" => self.truncate_item(event),
            "conversation.item.delete" => self.delete_item(event),
            "response.create" => self.create_response(event, now),
            "response.cancel" => self.cancel_response(event),
            TIER_MESSAGE_TYPE => self.request_tier(text),
            other => Err(EventRefusal::of(
                "type",
                "invalid_value",
                format!(
                    "Invalid value: '{}'. Supported values are: '{}'.",
                    truncate_chars(other, 64),
                    CLIENT_EVENTS.join("', '")
                ),
            )),
        }
    }

    fn update_session(
        &mut self,
        event: &Map<String, Value>,
        text: &str,
        now: Instant,
    ) -> Result<(), EventRefusal> {
        let Some(Value::Object(update)) = event.get("session") else {
            return Err(missing_parameter("session"));
        };
        let updated = self.session.apply(update)?;
        if self.has_spoken && updated.settings.voice != self.session.settings.voice {
            return Err(EventRefusal::of(
                "session.audio.output.voice",
                "cannot_update_voice",
                "Cannot update a conversation's voice if assistant audio is present.",
            ));
        }
        if updated.settings.tools != self.session.settings.tools {
            self.functions = ClientFunctions::convert(&updated.settings.tools)?;
        }
        self.config_bytes = self.config_bytes.max(text.len());
        self.input.set_format(updated.settings.input);
        self.session = updated;
        if let LinkStage::Unsent(due) = &mut self.link.stage {
            *due = Some(now + UPDATE_WAIT);
        }
        let fields = json!({"session": self.session.client_view()});
        self.tell("session.updated", fields);
        Ok(())
    }

    // === audio ===

    fn append_audio(&mut self, event: &Map<String, Value>) -> Result<(), EventRefusal> {
        let Some(Value::String(encoded)) = event.get("audio") else {
            return Err(missing_parameter("audio"));
        };
        if encoded.len() > MAX_AUDIO_BYTES {
            let message = "Audio is larger than 15 MiB.";
            return Err(EventRefusal::of("audio", "invalid_value", message));
        }
        let audio = STANDARD.decode(encoded).map_err(|_| {
            EventRefusal::of("audio", "invalid_value", "Invalid 'audio': expected base64.")
        })?;
        let audio = self.input.append(&audio);
        match self.session.settings.turns {
            TurnDetection::Manual => self.input.hold(&audio),
            TurnDetection::Server { .. } => {
                self.send_all(audio_messages(&audio));
                Ok(())
            }
        }
    }

    fn commit_audio(&mut self, now: Instant) -> Result<(), EventRefusal> {
        let audio = self.input.commit()?;
        self.with_caller(|caller, view, to| caller.commit(view, to));
        if self.session.settings.turns != TurnDetection::Manual {
            // The model's turn detection need not wait for silence.
            self.send_all(audio_messages(&audio));
            self.send(json!({"realtimeInput": {"audioStreamEnd": true}}).to_string());
            return Ok(());
        }
        let item_id = self.items.last().unwrap_or_default().to_owned();
        let content = PartContent::Audio(audio);
        self.pending.push(PendingPart { item_id, role: ItemRole::User, content }, now)
    }

    // === items ===

    fn create_item(
        &mut self,
        event: &Map<String, Value>,
        now: Instant,
    ) -> Result<(), EventRefusal> {
        let Some(Value::Object(item)) = event.get("item") else {
            return Err(missing_parameter("item"));
        };
        let id = match item.get("id").and_then(Value::as_str) {
            Some(id) if id.chars().count() > MAX_ID_CHARS => {
                let message = "Invalid 'item.id': string too long.";
                return Err(EventRefusal::of("item.id", "string_above_max_length", message));
            }
            Some(id) if self.items.contains(id) => {
                let message = format!("Item with item_id already exists: {id}");
                return Err(EventRefusal::of(
                    "item.id",
                    "item_create_item_already_exists",
                    message,
                ));
            }
            Some(id) => id.to_owned(),
            None => self.events.id("item"),
        };
        // The model's conversation grows at its end only.
        if let Some(after) = event.get("previous_item_id").and_then(Value::as_str)
            && self.items.last() != Some(after)
        {
            return Err(EventRefusal::untranslatable("previous_item_id"));
        }
        match item.get("type").and_then(Value::as_str) {
            Some("message") => {
                for part in item_input::message_parts(item, &id)? {
                    self.pending.push(part, now)?;
                }
            }
            Some("function_call_output") => self.take_output(item, now)?,
            _ => return Err(EventRefusal::untranslatable("item.type")),
        }
        let mut shown = item.clone();
        shown.insert("id".to_owned(), id.into());
        shown.insert("object".to_owned(), "realtime.item".into());
        shown.insert("status".to_owned(), "completed".into());
        self.items.add_whole(&without_images(shown), &mut self.events, &mut self.outgoing);
        Ok(())
    }

    fn take_output(&mut self, item: &Map<String, Value>, now: Instant) -> Result<(), EventRefusal> {
        let call_id = item.get("call_id").and_then(Value::as_str).unwrap_or_default();
        let Some(call) = self.calls.get_mut(call_id).filter(|it| it.stage != CallStage::Answered)
        else {
            let call_id = truncate_chars(call_id, 64);
            return Err(EventRefusal::of(
                "item.call_id",
                "invalid_tool_call_id",
                format!("Tool call ID '{call_id}' not found in conversation."),
            ));
        };
        let before = std::mem::replace(&mut call.stage, CallStage::Answered);
        let text = item.get("output").and_then(Value::as_str).unwrap_or_default();
        let output = json::value(text).unwrap_or_else(|_| text.into());
        match before {
            CallStage::Open => {}
            CallStage::Lost => {
                let content = PartContent::Text(describe_result(&call.name, &output));
                let item_id = String::new();
                let part = PendingPart { item_id, role: ItemRole::User, content };
                return self.pending.push(part, now);
            }
            CallStage::Cancelled | CallStage::Answered => return Ok(()),
        }
        let is_empty = match &output {
            Value::Null => true,
            Value::String(text) => text.trim().is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        // The model repeats a call whose result is empty.
        let output = if is_empty { "done".into() } else { output };
        let mut response = json!({"name": call.name, "response": {"output": output}});
        if let Some(id) = &call.id {
            response["id"] = id.as_str().into();
        }
        self.pending.push_output(response, now);
        // A response that runs waits for it.
        if self.active.is_some() {
            let messages = self.pending.take_outputs();
            self.send_all(messages);
        }
        Ok(())
    }

    fn truncate_item(&mut self, event: &Map<String, Value>) -> Result<(), EventRefusal> {
        let id = item_id(event)?;
        let Some(audio_end_ms) = event.get("audio_end_ms").and_then(Value::as_u64) else {
            return Err(missing_parameter("audio_end_ms"));
        };
        self.items.truncate(id, audio_end_ms)?;
        let fields = json!({"item_id": id, "content_index": 0, "audio_end_ms": audio_end_ms});
        self.tell("conversation.item.truncated", fields);
        Ok(())
    }

    /// Only items that the model has not got can be taken back.
    fn delete_item(&mut self, event: &Map<String, Value>) -> Result<(), EventRefusal> {
        let id = item_id(event)?;
        if !self.items.contains(id) {
            return Err(unknown_item("item_delete_invalid_item_id", id));
        }
        if !self.pending.remove(id) {
            return Err(EventRefusal::of(
                "item_id",
                "unsupported_by_model",
                "The model has this item already, and cannot forget it.",
            ));
        }
        self.items.remove(id);
        self.tell("conversation.item.deleted", json!({"item_id": id}));
        Ok(())
    }

    // === responses ===

    fn create_response(
        &mut self,
        event: &Map<String, Value>,
        now: Instant,
    ) -> Result<(), EventRefusal> {
        let nothing = Map::new();
        let requested = match event.get("response") {
            None | Some(Value::Null) => &nothing,
            Some(Value::Object(requested)) => requested,
            Some(_) => return Err(missing_parameter("response")),
        };
        self.check_response(requested)?;
        if let Some(active) = &self.active {
            return Err(EventRefusal::new(
                "conversation_already_has_active_response",
                format!(
                    "Conversation already has an active response in progress: {}. Wait until the \
                     response is finished before creating a new one.",
                    active.id()
                ),
            ));
        }
        let instructions = requested.get("instructions").and_then(Value::as_str);
        let messages = self.pending.request(instructions, self.family);
        self.send_all(messages);
        self.turn.stale = match self.turn.stale {
            StaleTurn::Silent => StaleTurn::No,
            StaleTurn::No => match self.turn.progress {
                TurnProgress::None => StaleTurn::No,
                TurnProgress::Speaking => StaleTurn::Speaking,
                TurnProgress::Generated => StaleTurn::Ending,
            },
            stale => stale,
        };
        let metadata = requested.get("metadata").cloned().unwrap_or_default();
        self.open_response(metadata, now);
        Ok(())
    }

    fn check_response(&self, requested: &Map<String, Value>) -> Result<(), EventRefusal> {
        let refused = requested.iter().find(|(key, value)| {
            !value.is_null() && !RESPONSE_KEYS.contains(&key.as_str()) && !is_default(key, value)
        });
        if let Some((key, _)) = refused {
            let param = format!("response.{}", truncate_chars(key, 64));
            return Err(EventRefusal::untranslatable(param));
        }
        if requested.get("conversation").and_then(Value::as_str).is_some_and(|it| it != "auto") {
            return Err(EventRefusal::untranslatable("response.conversation"));
        }
        let param = "response.output_modalities";
        let given = requested.get("output_modalities").filter(|given| !given.is_null());
        if given.is_some() && session::modality(given, param)? != self.session.settings.modality {
            return Err(EventRefusal::untranslatable(param));
        }
        Ok(())
    }

    /// The model cannot be stopped; the client hears no more of its answer.
    fn cancel_response(&mut self, event: &Map<String, Value>) -> Result<(), EventRefusal> {
        let named = event.get("response_id").and_then(Value::as_str);
        let active = self.active.as_ref().filter(|it| named.is_none_or(|id| id == it.id()));
        let Some(active) = active else {
            let message = "Cancellation failed: no active response found";
            return Err(EventRefusal::new("response_cancel_not_active", message));
        };
        if self.turn.stale == StaleTurn::No {
            let has_begun = active.has_begun;
            self.turn.stale = if has_begun { StaleTurn::Speaking } else { StaleTurn::Silent };
        }
        self.end_response(ResponseEnd::ClientCancelled);
        Ok(())
    }

    fn request_tier(&mut self, text: &str) -> Result<(), EventRefusal> {
        let tier = tier_request::tier(text)
            .map_err(|error| EventRefusal::of("tier", "invalid_value", error.to_string()))?;
        let tier = tier.map(tollgate_core::budget::Tier::as_str);
        self.send(json!({"tollgate": {"tier": tier}}).to_string());
        Ok(())
    }
}

fn missing_parameter(param: &str) -> EventRefusal {
    let message = format!("Missing required parameter: '{param}'.");
    EventRefusal::of(param, "missing_required_parameter", message)
}

fn item_id(event: &Map<String, Value>) -> Result<&str, EventRefusal> {
    event.get("item_id").and_then(Value::as_str).ok_or_else(|| missing_parameter("item_id"))
}

/// What every session does, said once more.
fn is_default(key: &str, value: &Value) -> bool {
    key == "tool_choice" && value == "auto"
}

/// The item without large data, which no event of the client can refer to.
fn without_images(mut item: Map<String, Value>) -> Value {
    let content = item.get_mut("content").and_then(Value::as_array_mut);
    for part in content.into_iter().flatten().filter_map(Value::as_object_mut) {
        part.remove("image_url");
    }
    item.into()
}
