//! Hands a session over to a provider of the client's own protocol, and continues one that such a
//! provider had.

use std::time::Instant;

use serde_json::{Map, Value, json};

use super::conversation::text;
use super::input_audio::MODEL_INPUT;
use super::response::ResponseEnd;
use super::session::TurnDetection;
use super::setup::ClientFunctions;
use super::{CallStage, LinkStage, ModelCall, OpenAiClient};
use crate::realtime::events::{DialectAction, RealtimeDialect as _, SessionRestart};
use crate::realtime::gemini::GeminiLive;
use crate::realtime::handover::{
    ClientToolCall, HANDOVER_AUDIO, SessionHandover, Speaker, SpokenLine, convert_audio,
};

impl OpenAiClient {
    /// Ends for the client what was begun, and returns what a machine of its protocol needs.
    pub(super) fn leave_session(
        &mut self,
        machine: &mut GeminiLive,
        now: Instant,
    ) -> (SessionHandover, Vec<DialectAction>) {
        let (of_machine, mut actions) = machine.hand_over(now);
        // The client is told in its own way.
        actions.retain(|action| !matches!(action, DialectAction::ToClient(_)));
        let is_requested = self.active.is_some();
        self.end_response(ResponseEnd::TurnDetected);
        if !self.caller.is_speaking() {
            self.with_caller(|caller, view, to| caller.complete(view, to));
        }
        let mut lines = of_machine.lines;
        lines.extend(self.pending.take_lines());
        for message in self.link.held.drain(..) {
            lines.extend(read_lines(&message));
        }
        let mut audio = of_machine.audio;
        audio.extend(convert_audio(&self.input.take_held(), MODEL_INPUT, HANDOVER_AUDIO));
        let handover = SessionHandover {
            settings: Some(
                json!({"type": "session.update", "session": self.settings()}).to_string(),
            ),
            early: None,
            lines,
            items: self.items.list(),
            client_calls: self.open_calls(),
            audio,
            owes_answer: of_machine.owes_answer || is_requested,
            ..of_machine
        };
        (handover, actions)
    }

    /// What the client has set, without what only Gemini has.
    fn settings(&self) -> Map<String, Value> {
        let mut requested = self.session.client_settings().clone();
        if self.session.settings.voice.is_some()
            && let Some(Value::Object(output)) =
                requested.get_mut("audio").and_then(|audio| audio.get_mut("output"))
        {
            output.shift_remove("voice");
        }
        requested
    }

    /// Calls that the client may still answer.
    fn open_calls(&self) -> Vec<ClientToolCall> {
        let open = self
            .call_order
            .iter()
            .filter(|id| self.calls.get(*id).is_some_and(|call| call.stage == CallStage::Open));
        let call = |id: &String| {
            let item = self.items.find(|item| text(item, "call_id") == id)?;
            let name = text(item, "name").to_owned();
            let arguments = text(item, "arguments").to_owned();
            Some(ClientToolCall { id: id.clone(), name, arguments })
        };
        open.filter_map(call).collect()
    }

    /// Begins at Gemini with what a machine of the client's protocol has handed over.
    pub(super) fn continue_session(
        &mut self,
        machine: &mut GeminiLive,
        mut handover: SessionHandover,
        restart: &SessionRestart,
        now: Instant,
    ) -> Vec<DialectAction> {
        let update: Value = handover
            .settings
            .as_deref()
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        if let Some(Value::Object(session)) = update.get("session") {
            self.adopt_settings(session);
        }
        for item in handover.items.drain(..) {
            let id = text(&item, "id").to_owned();
            let is_models = text(&item, "role") == "assistant";
            self.items.push(item);
            if is_models {
                // How much of it was spoken is not known.
                self.items.set_spoken(&id, u64::MAX);
            }
        }
        for call in handover.client_calls.drain(..) {
            let stage = CallStage::Lost;
            self.remember_call(call.id, ModelCall { id: None, name: call.name, stage });
        }
        if self.session.settings.turns == TurnDetection::Manual {
            let audio = convert_audio(&handover.audio, HANDOVER_AUDIO, self.session.settings.input);
            handover.audio.clear();
            let audio = self.input.append(&audio);
            // More than the buffer holds cannot come from another buffer.
            let _ = self.input.hold(&audio);
        }
        self.family = machine.family();
        self.link.setup = self.setup();
        self.link.stage = LinkStage::Ready;
        handover.settings = Some(json!({"setup": self.link.setup}).to_string());
        machine.take_over(handover, restart, now)
    }

    /// What Gemini can do of the settings; the client was not told of a refusal when it set them.
    fn adopt_settings(&mut self, session: &Map<String, Value>) {
        for (key, value) in session {
            for update in single_updates(key, value) {
                match self.session.apply(&update) {
                    Ok(updated) => self.session = updated,
                    Err(refusal) => {
                        tracing::info!(key, ?refusal, "a setting is lost at the next provider");
                    }
                }
            }
        }
        self.functions = ClientFunctions::convert(&self.session.settings.tools).unwrap_or_default();
        self.input.set_format(self.session.settings.input);
    }
}

/// One update for each field, so that one that is refused takes no other along.
fn single_updates(key: &str, value: &Value) -> Vec<Map<String, Value>> {
    let sides = value.as_object().filter(|_| key == "audio");
    let Some(sides) = sides else {
        return vec![Map::from_iter([(key.to_owned(), value.clone())])];
    };
    let fields = sides.iter().flat_map(|(side, fields)| {
        fields.as_object().into_iter().flatten().map(move |(field, value)| (side, field, value))
    });
    let update = |(side, field, value): (&String, &String, &Value)| {
        let mut fields = Map::new();
        fields.insert(field.clone(), value.clone());
        let sides = Map::from_iter([(side.clone(), Value::Object(fields))]);
        Map::from_iter([("audio".to_owned(), Value::Object(sides))])
    };
    fields.map(update).collect()
}

/// What a message to Gemini that was not sent says.
fn read_lines(message: &str) -> Vec<SpokenLine> {
    let message: Value = serde_json::from_str(message).unwrap_or_default();
    if let Some(words) = message.pointer("/realtimeInput/text").and_then(Value::as_str) {
        return vec![SpokenLine::caller(words)];
    }
    let turns = message.pointer("/clientContent/turns").and_then(Value::as_array);
    let lines = turns.into_iter().flatten().flat_map(|turn| {
        let speaker = if text(turn, "role") == "model" { Speaker::Model } else { Speaker::Caller };
        let parts = turn.get("parts").and_then(Value::as_array).into_iter().flatten();
        let texts = parts.filter_map(|part| part.get("text")?.as_str());
        texts.map(move |words| SpokenLine { speaker, text: words.to_owned() })
    });
    lines.collect()
}
