//! A phone call as a state machine: Twilio's stream on one side, on the other a session of OpenAI
//! Realtime, of which it is the client. No sockets, no clock.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use tollgate_llm::realtime::CloseReason;
use tollgate_llm::realtime::wire::{close, code};

use super::dtmf::DigitCollector;
use super::frames::{self, FrameError, TwilioFrame};
use super::playback::{ItemPart, Playback, Truncation};

/// Unusable messages in one call; then it ends.
const MAX_BAD_FRAMES: u32 = 20;
/// How long a response that we cancelled is waited for before the next one is requested.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(3);
const NO_RESPONSE: &str = "response_cancel_not_active";
const NO_TURN: &str = "conversation_already_has_active_response";

/// What is set at the beginning of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CallOptions {
    pub(super) voice: Option<String>,
    /// Model that transcribes the caller.
    pub(super) transcription: Option<String>,
    /// Spoken first.
    pub(super) greeting: Option<String>,
}

#[derive(Debug)]
pub(super) struct TwilioCall {
    stream: String,
    playback: Playback,
    digits: DigitCollector,
    bad_frames: u32,
    /// Whether the model is answering.
    is_answering: bool,
    /// A response is to be requested: when the running one is over, or at this time.
    response_due: Option<Instant>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum CallAction {
    ToTwilio(String),
    ToSession(String),
    Close(CloseReason),
}

/// Ids of our events, by which the provider's errors name them.
mod event_id {
    pub(super) const FORMAT: &str = "tg-phone-format";
    pub(super) const VOICE: &str = "tg-phone-voice";
    pub(super) const TRANSCRIPTION: &str = "tg-phone-transcription";
    pub(super) const RESPONSE: &str = "tg-phone-response";
}

/// What concerns a call of an event of the session.
#[derive(Deserialize)]
struct SessionEvent<'e> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'e, str>,
    #[serde(default, borrow)]
    item_id: Option<Cow<'e, str>>,
    #[serde(default)]
    content_index: u64,
    #[serde(default, borrow)]
    delta: Option<Cow<'e, str>>,
    #[serde(default, borrow)]
    error: Option<SessionError<'e>>,
}

#[derive(Deserialize)]
struct SessionError<'e> {
    #[serde(default, borrow)]
    code: Option<Cow<'e, str>>,
    #[serde(default, borrow)]
    message: Option<Cow<'e, str>>,
    #[serde(default, borrow)]
    event_id: Option<Cow<'e, str>>,
}

impl TwilioCall {
    pub(super) fn new(stream: String, digits: DigitCollector) -> Self {
        Self {
            stream,
            playback: Playback::default(),
            digits,
            bad_frames: 0,
            is_answering: false,
            response_due: None,
        }
    }

    /// The first messages of the call. A provider drops an update of which it refuses a part, so
    /// only the audio format is in the one without which there is no call.
    pub(super) fn open(&mut self, options: &CallOptions) -> Vec<CallAction> {
        let format = json!({ "type": "audio/pcmu" });
        let audio = json!({ "input": { "format": format }, "output": { "format": format } });
        let mut actions = vec![update(event_id::FORMAT, &audio)];
        if let Some(voice) = &options.voice {
            actions.push(update(event_id::VOICE, &json!({ "output": { "voice": voice } })));
        }
        if let Some(model) = &options.transcription {
            let input = json!({ "transcription": { "model": model } });
            actions.push(update(event_id::TRANSCRIPTION, &json!({ "input": input })));
        }
        if let Some(greeting) = &options.greeting {
            let instructions =
                format!("Greet the caller. Say exactly this, and nothing else: {greeting}");
            let response = json!({ "instructions": instructions, "tool_choice": "none" });
            actions.push(to_session(&json!({
                "type": "response.create", "event_id": event_id::RESPONSE, "response": response
            })));
        }
        actions
    }

    pub(super) fn on_twilio(
        &mut self,
        frame: Result<TwilioFrame, FrameError>,
        now: Instant,
    ) -> Vec<CallAction> {
        match frame {
            Ok(TwilioFrame::Media { stream, payload }) if stream == self.stream => {
                if payload.is_empty() {
                    return Vec::new();
                }
                let append = json!({ "type": "input_audio_buffer.append", "audio": payload });
                vec![to_session(&append)]
            }
            Ok(TwilioFrame::Mark { stream, name }) if stream == self.stream => {
                self.playback.on_mark(&name);
                Vec::new()
            }
            Ok(TwilioFrame::Dtmf { stream, digit }) if stream == self.stream => {
                let complete = self.digits.push(digit, now);
                complete.map_or_else(Vec::new, |digits| self.tell_digits(&digits, now))
            }
            Ok(TwilioFrame::Stop { stream }) if stream == self.stream => {
                vec![CallAction::Close(close(code::NORMAL, "the call is over"))]
            }
            Ok(TwilioFrame::Connected | TwilioFrame::Other) => Vec::new(),
            Ok(TwilioFrame::Start(_)) => self.count_bad("the stream starts a second time"),
            Ok(
                TwilioFrame::Media { .. }
                | TwilioFrame::Mark { .. }
                | TwilioFrame::Dtmf { .. }
                | TwilioFrame::Stop { .. },
            ) => self.count_bad("a message is of another stream"),
            Err(error) => self.count_bad(&error.to_string()),
        }
    }

    /// A bad message is dropped; a stream of them is not Twilio's.
    fn count_bad(&mut self, why: &str) -> Vec<CallAction> {
        tracing::debug!(why, "dropped a message of a phone call");
        self.bad_frames += 1;
        if self.bad_frames < MAX_BAD_FRAMES {
            return Vec::new();
        }
        vec![CallAction::Close(close(code::POLICY, format!("too many bad messages: {why}")))]
    }

    pub(super) fn on_session(&mut self, text: &str, now: Instant) -> Vec<CallAction> {
        let Ok(event) = serde_json::from_str::<SessionEvent<'_>>(text) else { return Vec::new() };
        match &*event.kind {
            "response.output_audio.delta" | "response.audio.delta" => {
                let (Some(id), Some(delta)) = (event.item_id, event.delta) else {
                    return Vec::new();
                };
                let item = ItemPart { id: id.into_owned(), content_index: event.content_index };
                let messages = self.playback.play(&self.stream, &item, &delta);
                messages.into_iter().map(CallAction::ToTwilio).collect()
            }
            "response.created" => {
                self.is_answering = true;
                Vec::new()
            }
            "response.done" => {
                self.is_answering = false;
                self.request_if_due()
            }
            "input_audio_buffer.speech_started" => self.interrupt(),
            "error" => event.error.map_or_else(Vec::new, |error| self.on_error(&error, now)),
            _ => Vec::new(),
        }
    }

    fn on_error(&mut self, error: &SessionError<'_>, now: Instant) -> Vec<CallAction> {
        let message = error.message.as_deref().unwrap_or_default();
        match (error.event_id.as_deref(), error.code.as_deref()) {
            (Some(event_id::FORMAT), _) => {
                let reason = format!("the provider refused telephone audio: {message}");
                tracing::warn!(message, "a provider refused `audio/pcmu`");
                vec![CallAction::Close(close(code::FAULT, reason))]
            }
            (Some(event_id::VOICE | event_id::TRANSCRIPTION), _) => {
                tracing::warn!(message, "a provider refused a setting of a phone line");
                Vec::new()
            }
            // Turn detection began a response first, and does not know of the digits yet.
            (Some(event_id::RESPONSE), Some(NO_TURN)) => {
                self.is_answering = true;
                self.response_due = Some(now + CANCEL_TIMEOUT);
                Vec::new()
            }
            // It ended by itself meanwhile.
            (_, Some(NO_RESPONSE)) => {
                self.is_answering = false;
                self.request_if_due()
            }
            (_, code) => {
                tracing::debug!(code, message, "a provider reported an error during a phone call");
                Vec::new()
            }
        }
    }

    /// The caller speaks or presses keys: Twilio drops what it holds, and the model learns how much
    /// of it was heard.
    fn interrupt(&mut self) -> Vec<CallAction> {
        let Some(truncations) = self.playback.interrupt() else { return Vec::new() };
        let truncate = |Truncation { item, audio_end_ms }| {
            to_session(&json!({
                "type": "conversation.item.truncate", "item_id": item.id,
                "content_index": item.content_index, "audio_end_ms": audio_end_ms
            }))
        };
        let clear = CallAction::ToTwilio(frames::clear(&self.stream));
        std::iter::once(clear).chain(truncations.into_iter().map(truncate)).collect()
    }

    fn tell_digits(&mut self, digits: &str, now: Instant) -> Vec<CallAction> {
        let mut actions = self.interrupt();
        if self.is_answering {
            actions.push(to_session(&json!({ "type": "response.cancel" })));
        }
        let content = json!([{ "type": "input_text", "text": format!("DTMF: {digits}") }]);
        let item = json!({ "type": "message", "role": "user", "content": content });
        actions.push(to_session(&json!({ "type": "conversation.item.create", "item": item })));
        self.response_due = Some(now + CANCEL_TIMEOUT);
        if !self.is_answering {
            actions.extend(self.request_if_due());
        }
        actions
    }

    fn request_if_due(&mut self) -> Vec<CallAction> {
        if self.response_due.take().is_none() {
            return Vec::new();
        }
        let request = json!({ "type": "response.create", "event_id": event_id::RESPONSE });
        vec![to_session(&request)]
    }

    pub(super) fn wakes(&self) -> Option<Instant> {
        [self.digits.due(), self.response_due].into_iter().flatten().min()
    }

    pub(super) fn on_time(&mut self, now: Instant) -> Vec<CallAction> {
        if let Some(digits) = self.digits.on_time(now) {
            return self.tell_digits(&digits, now);
        }
        // The provider never told the end of the response.
        if self.response_due.is_some_and(|due| due <= now) {
            self.is_answering = false;
            return self.request_if_due();
        }
        Vec::new()
    }
}

fn update(event_id: &str, audio: &Value) -> CallAction {
    let session = json!({ "type": "realtime", "audio": audio });
    let update = json!({ "type": "session.update", "event_id": event_id, "session": session });
    to_session(&update)
}

fn to_session(event: &Value) -> CallAction {
    CallAction::ToSession(event.to_string())
}

#[cfg(test)]
mod tests;
