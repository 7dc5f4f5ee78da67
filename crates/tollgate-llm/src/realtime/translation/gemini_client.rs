//! A client of Gemini Live before an OpenAI Realtime model.
//!
//! A turn of Gemini may be several responses of OpenAI, because the gateway's tools run between
//! them; the machine knows whether one more follows. As Gemini does it, a turn is complete when its
//! audio has been played, so that the caller can still interrupt it. `client_messages` handles the
//! client's messages, `provider` OpenAI's events, `setup` the configuration.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::{Translated, Translator};
use crate::realtime::audio::{AudioConverter, AudioFormat};
use crate::realtime::events::{
    CloseReason, DialectAction, RealtimeFrame, RealtimeInit, SessionRestart,
};
use crate::realtime::handover::SessionHandover;
use crate::realtime::openai::OpenAiRealtime;

mod client_messages;
mod handover;
mod provider;
mod setup;
#[cfg(test)]
mod tests;

use setup::{ClientSetup, ModelFunctions};

/// The format in which OpenAI gets and sends audio; Gemini's clients expect the same rate.
const MODEL_AUDIO: AudioFormat = AudioFormat::Pcm16 { rate: 24_000 };
/// The rate of a client that names none.
const CLIENT_RATE: u32 = 16_000;
/// Longest time that a turn stays open for its audio to be played.
const MAX_PLAYBACK: Duration = Duration::from_secs(120);
/// Calls of the client that are remembered.
const MAX_CALLS: usize = 256;

/// Translates for one client.
pub(super) struct GeminiClient {
    stage: SetupStage,
    setup: ClientSetup,
    /// The setup as the client would send it now.
    setup_fields: Map<String, Value>,
    functions: ModelFunctions,
    config_bytes: usize,
    /// Number of the last message to the model; its id names it in errors.
    sent_count: u64,
    input: Option<AudioConverter>,
    /// Bytes for the model since the activity began.
    activity_bytes: u64,
    /// Responses that run.
    responses: HashSet<String>,
    request: RequestState,
    turn: GeminiTurn,
    /// Unanswered calls of the client's functions, by id.
    calls: HashMap<String, String>,
    /// The same of calls that a model of another provider made.
    lost_calls: HashMap<String, String>,
    /// The caller's utterance of which words were sent.
    transcribed: Option<String>,
    outgoing: Vec<Value>,
    sent: Vec<Value>,
    close: Option<CloseReason>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SetupStage {
    Awaited,
    /// Under this event id.
    Sent(String),
    Ready,
}

/// Whether the client's last input is to be answered.
#[derive(Debug, Default)]
struct RequestState {
    /// A response was requested, and has not begun.
    requested: Option<String>,
    /// One is to be requested when no other runs.
    is_wanted: bool,
}

/// A turn of the model.
#[derive(Debug, Default)]
struct GeminiTurn {
    stage: TurnStage,
    /// When all audio of the turn has been played.
    played: Option<Instant>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum TurnStage {
    #[default]
    None,
    Open,
    /// No response runs; another one may follow.
    Finishing,
    /// It is generated, and still played.
    Playing,
}

impl Translator for GeminiClient {
    type Machine = OpenAiRealtime;

    fn new(opening: RealtimeInit) -> (Self, OpenAiRealtime) {
        let translator = Self {
            stage: SetupStage::Awaited,
            setup: ClientSetup::default(),
            setup_fields: Map::new(),
            functions: ModelFunctions::default(),
            config_bytes: 0,
            sent_count: 0,
            input: None,
            activity_bytes: 0,
            responses: HashSet::new(),
            request: RequestState::default(),
            turn: GeminiTurn::default(),
            calls: HashMap::new(),
            lost_calls: HashMap::new(),
            transcribed: None,
            outgoing: Vec::new(),
            sent: Vec::new(),
            close: None,
        };
        (translator, OpenAiRealtime::new(opening))
    }

    fn on_client(&mut self, frame: RealtimeFrame<'_>, _now: Instant, out: &mut Vec<Translated>) {
        self.read_client_message(frame);
        self.drain(out);
    }

    fn on_provider(&mut self, text: &str, now: Instant, out: &mut Vec<Translated>) {
        // A message that nobody can read is not for the client.
        if let Ok(event) = serde_json::from_str::<Value>(text) {
            self.read_event(&event, now);
        }
        self.drain(out);
    }

    fn settle(&mut self, machine: &mut OpenAiRealtime, now: Instant, out: &mut Vec<Translated>) {
        let is_quiet = self.responses.is_empty()
            && self.request.requested.is_none()
            && !self.request.is_wanted
            && self.calls.is_empty();
        if self.turn.stage == TurnStage::Finishing && is_quiet && !machine.expects_response() {
            self.turn.stage = TurnStage::Playing;
            self.tell_content("generationComplete", true.into());
        }
        if self.turn.stage == TurnStage::Playing
            && self.turn.played.is_none_or(|played| played <= now)
        {
            self.complete_turn();
        }
        self.drain(out);
    }

    fn wakes(&self) -> Option<Instant> {
        self.turn.played.filter(|_| self.turn.stage == TurnStage::Playing)
    }

    fn config_bytes(&self) -> usize {
        self.config_bytes
    }

    fn hand_over(
        &mut self,
        machine: &mut Self::Machine,
        now: Instant,
        out: &mut Vec<Translated>,
    ) -> (SessionHandover, Vec<DialectAction>) {
        let handed = self.leave_session(machine, now);
        self.drain(out);
        handed
    }

    fn take_over(
        &mut self,
        machine: &mut Self::Machine,
        handover: SessionHandover,
        restart: &SessionRestart,
        now: Instant,
    ) -> Vec<DialectAction> {
        self.continue_session(machine, handover, restart, now)
    }
}

impl GeminiClient {
    fn drain(&mut self, out: &mut Vec<Translated>) {
        out.extend(
            self.outgoing.drain(..).map(|message| Translated::ToClient(message.to_string())),
        );
        out.extend(self.sent.drain(..).map(|event| Translated::ToMachine(event.to_string())));
        out.extend(self.close.take().map(Translated::Close));
    }

    /// Sends an event to the model; returns its id.
    fn send(&mut self, kind: &str, fields: Value) -> String {
        self.sent_count += 1;
        let id = format!("client_{}", self.sent_count);
        let mut event = json!({"type": kind, "event_id": id});
        if let (Value::Object(event), Value::Object(fields)) = (&mut event, fields) {
            event.extend(fields);
        }
        self.sent.push(event);
        id
    }

    fn tell_content(&mut self, key: &str, value: Value) {
        let content = Map::from_iter([(key.to_owned(), value)]);
        self.outgoing.push(json!({"serverContent": content}));
    }

    fn tell_error(&mut self, code: u16, message: &str) {
        let status = if code == 400 { "INVALID_ARGUMENT" } else { "INTERNAL" };
        let error = json!({"code": code, "message": message, "status": status});
        self.outgoing.push(json!({"code": code, "error": error}));
    }

    fn end(&mut self, code: u16, reason: impl Into<String>) {
        self.close = Some(CloseReason { code, reason: reason.into() });
    }

    /// The client's input is to be answered: at once, or when the running answer has stopped.
    fn want_response(&mut self) {
        if self.turn.stage == TurnStage::Playing {
            self.interrupt_turn();
        }
        if self.responses.is_empty() && self.request.requested.is_none() {
            let id = self.send("response.create", json!({}));
            self.request.requested = Some(id);
            return;
        }
        if !self.request.is_wanted && !self.responses.is_empty() {
            self.send("response.cancel", json!({}));
        }
        self.request.is_wanted = true;
    }

    /// The client hears no more of the turn.
    fn interrupt_turn(&mut self) {
        if self.turn.stage != TurnStage::None {
            self.tell_content("interrupted", true.into());
            self.complete_turn();
        }
    }

    fn complete_turn(&mut self) {
        self.turn = GeminiTurn::default();
        self.tell_content("turnComplete", true.into());
    }
}
