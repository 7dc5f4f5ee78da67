//! Handles Gemini's messages: writes what they mean as events of OpenAI's protocol.

use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use tollgate_core::json;

use super::response::{ClientCall, ResponseEnd, ResponseOutput};
use super::{
    CallStage, LinkStage, MODEL_OUTPUT, ModelCall, OpenAiClient, RESPONSE_END_WAIT, StaleTurn,
    TurnProgress,
};
use crate::realtime::audio::{AudioConverter, AudioFormat};
use crate::realtime::tier_request::TIER_MESSAGE_TYPE;

impl OpenAiClient {
    pub(super) fn read_provider_message(&mut self, message: &Value, now: Instant) {
        if message.get("setupComplete").is_some() {
            self.link.stage = LinkStage::Ready;
        }
        if let Some(error) = message.get("error") {
            let why = error.get("message").and_then(Value::as_str);
            self.outgoing
                .push(self.events.server_error(why.unwrap_or("the model reports an error")));
        }
        if let Some(tier) = message.get("tollgate") {
            self.tell(TIER_MESSAGE_TYPE, tier.clone());
        }
        // Before the end of the turn, which may be in the same message.
        if let Some(usage) = message.get("usageMetadata") {
            self.usage.add_gemini(usage);
        }
        if let Some(activity) = message.pointer("/voiceActivity/voiceActivityType") {
            self.read_activity(activity.as_str().unwrap_or_default());
        }
        if let Some(content) = message.get("serverContent") {
            self.read_content(content, now);
        }
        if let Some(calls) = message.pointer("/toolCall/functionCalls").and_then(Value::as_array) {
            self.read_calls(calls, now);
        }
        let cancelled = message.pointer("/toolCallCancellation/ids").and_then(Value::as_array);
        for id in cancelled.into_iter().flatten().filter_map(Value::as_str) {
            let call = self.calls.values_mut().find(|call| call.id.as_deref() == Some(id));
            if let Some(call) = call.filter(|call| call.stage == CallStage::Open) {
                call.stage = CallStage::Cancelled;
            }
        }
    }

    fn read_activity(&mut self, activity: &str) {
        match activity {
            "ACTIVITY_START" => {
                self.with_caller(|caller, view, to| caller.begin_speech(view, to));
            }
            "ACTIVITY_END" => {
                self.input.mark_taken();
                self.with_caller(|caller, view, to| caller.end_speech(view, to));
            }
            _ => {}
        }
    }

    fn read_content(&mut self, content: &Value, now: Instant) {
        let is = |key: &str| content.get(key).and_then(Value::as_bool) == Some(true);
        if let Some(heard) = content.get("inputTranscription") {
            self.read_caller_words(heard);
        }
        if is("interrupted") {
            self.interrupt();
        }
        if let Some(parts) = content.pointer("/modelTurn/parts").and_then(Value::as_array) {
            parts.iter().for_each(|part| self.read_part(part, now));
        }
        let words = content.pointer("/outputTranscription/text").and_then(Value::as_str);
        // Words of a response that is over would begin another one.
        let is_late = self.active.is_none() && self.turn.progress == TurnProgress::Generated;
        if let Some(words) = words.filter(|words| !words.is_empty() && !is_late) {
            self.say(words, now);
        }
        if is("generationComplete") {
            self.turn.progress = TurnProgress::Generated;
            if self.turn.stale == StaleTurn::No {
                let has_begun = self.active.as_ref().is_some_and(|active| active.has_begun);
                self.ends = has_begun.then(|| now + RESPONSE_END_WAIT);
            } else {
                self.turn.stale = StaleTurn::Ending;
            }
        }
        if is("turnComplete") {
            self.complete_turn();
        }
    }

    fn read_caller_words(&mut self, heard: &Value) {
        let is_answered = self.active.as_ref().is_some_and(|active| active.has_begun);
        let text = heard.get("text").and_then(Value::as_str).unwrap_or_default();
        let is_last = heard.get("finished").and_then(Value::as_bool) == Some(true);
        self.with_caller(|caller, view, to| {
            caller.hear(text, is_answered, view, to);
            if is_last {
                caller.finish_transcript(view, to);
            }
        });
    }

    /// The model was interrupted: by the caller, unless the client has cancelled its answer.
    fn interrupt(&mut self) {
        let before = std::mem::replace(&mut self.turn.stale, StaleTurn::Ending);
        self.turn.progress = TurnProgress::None;
        if before != StaleTurn::No {
            return;
        }
        self.with_caller(|caller, view, to| caller.begin_speech(view, to));
        if self.active.as_ref().is_some_and(|active| active.has_begun) {
            self.end_response(ResponseEnd::TurnDetected);
        }
    }

    fn complete_turn(&mut self) {
        self.turn.progress = TurnProgress::None;
        let stale = std::mem::take(&mut self.turn.stale);
        if stale == StaleTurn::No {
            self.end_response(ResponseEnd::Completed);
            self.with_caller(|caller, view, to| caller.complete(view, to));
        }
    }

    /// The model answers: the caller has finished, and a response runs. `false`: the client does
    /// not hear it.
    fn begin_answer(&mut self, now: Instant) -> bool {
        match self.turn.stale {
            StaleTurn::Speaking | StaleTurn::Silent => return false,
            StaleTurn::Ending => self.turn.stale = StaleTurn::No,
            StaleTurn::No => {}
        }
        self.turn.progress = TurnProgress::Speaking;
        if self.caller.is_speaking() {
            self.input.mark_taken();
            self.with_caller(|caller, view, to| caller.end_speech(view, to));
        }
        if self.active.is_none() {
            self.open_response(Value::Null, now);
        }
        self.ends = None;
        true
    }

    fn read_part(&mut self, part: &Value, now: Instant) {
        if part.get("thought").and_then(Value::as_bool) == Some(true) {
            return;
        }
        if let Some(blob) = part.get("inlineData") {
            let data = blob.get("data").and_then(Value::as_str).unwrap_or_default();
            let mime = blob.get("mimeType").and_then(Value::as_str).unwrap_or_default();
            if mime.starts_with("audio/")
                && let Ok(audio) = STANDARD.decode(data)
                && self.begin_answer(now)
            {
                self.speak(&audio, mime);
            }
        }
        // A model that speaks sends its words as a transcript; one that writes, as text.
        if let Some(text) = part.get("text").and_then(Value::as_str).filter(|it| !it.is_empty()) {
            self.say(text, now);
        }
    }

    fn speak(&mut self, audio: &[u8], mime: &str) {
        let from = spoken_format(mime);
        let to_format = self.session.settings.output;
        let Some(active) = &mut self.active else { return };
        self.has_spoken = true;
        active.has_begun = true;
        if active.speaks_text() {
            return;
        }
        if self.output.as_ref().is_none_or(|output| output.from() != from) {
            self.output = AudioConverter::new(from, to_format).ok();
        }
        let Some(output) = &mut self.output else { return };
        let converted = output.convert(audio);
        let mut to = ResponseOutput {
            events: &mut self.events,
            items: &mut self.items,
            out: &mut self.outgoing,
        };
        active.speak(&converted, &mut to);
    }

    fn say(&mut self, text: &str, now: Instant) {
        if !self.begin_answer(now) {
            return;
        }
        let Some(active) = &mut self.active else { return };
        let mut to = ResponseOutput {
            events: &mut self.events,
            items: &mut self.items,
            out: &mut self.outgoing,
        };
        active.say(text, &mut to);
    }

    /// Calls of the client's functions end a response: the client answers, and requests another.
    fn read_calls(&mut self, calls: &[Value], now: Instant) {
        if !self.begin_answer(now) {
            self.refuse_calls(calls);
            return;
        }
        for call in calls {
            let id = call.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
            let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
            let arguments = match call.get("args") {
                Some(Value::Object(arguments)) => arguments.clone(),
                _ => Map::new(),
            };
            let (shown, arguments) = self.functions.call(name, arguments);
            let call_id = self.events.id("call");
            let made = ClientCall {
                call_id: call_id.clone(),
                name: shown,
                arguments: json::raw_value(&arguments).get().to_owned(),
            };
            let Some(active) = &mut self.active else { return };
            let mut to = ResponseOutput {
                events: &mut self.events,
                items: &mut self.items,
                out: &mut self.outgoing,
            };
            active.call(&made, &mut to);
            let id = id.map(str::to_owned);
            let call = ModelCall { id, name: name.to_owned(), stage: CallStage::Open };
            self.remember_call(call_id, call);
        }
        // What follows is another answer.
        self.turn.progress = TurnProgress::None;
        self.end_response(ResponseEnd::Completed);
    }

    /// The client has cancelled the answer that these calls belong to, and the model waits.
    fn refuse_calls(&mut self, calls: &[Value]) {
        let refused = calls.iter().map(|call| {
            let mut answer = json!({
                "name": call.get("name"),
                "response": {"error": "the answer was cancelled before the call was made"},
            });
            if let Some(id) = call.get("id") {
                answer["id"] = id.clone();
            }
            answer
        });
        let refused: Vec<Value> = refused.collect();
        self.send(json!({"toolResponse": {"functionResponses": refused}}).to_string());
    }
}

/// `audio/pcm;rate=24000`.
fn spoken_format(mime: &str) -> AudioFormat {
    let rate = mime.split(';').find_map(|part| part.trim().strip_prefix("rate="));
    match rate.and_then(|rate| rate.parse().ok()) {
        Some(rate) => AudioFormat::Pcm16 { rate },
        None => MODEL_OUTPUT,
    }
}
