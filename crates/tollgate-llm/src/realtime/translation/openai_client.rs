//! A client of OpenAI Realtime before a Gemini Live model.
//!
//! OpenAI answers when a response is requested, Gemini whenever it is sent something. What the
//! client adds is therefore held until it requests a response (`pending`); the events of a response
//! are written in OpenAI's order (`response`), and utterances are derived from what Gemini reports
//! (`caller`). `client_events` handles the client's events, `provider` Gemini's messages.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::usage::TokenCounts;
use super::{Translated, Translator};
use crate::realtime::audio::{AudioConverter, AudioFormat};
use crate::realtime::events::{
    CloseReason, DialectAction, RealtimeFrame, RealtimeInit, SessionRestart,
};
use crate::realtime::gemini::{GeminiFamily, GeminiLive};
use crate::realtime::handover::SessionHandover;

mod caller;
mod client_events;
mod conversation;
mod events;
mod handover;
mod input_audio;
mod item_input;
mod pending;
mod provider;
mod response;
mod session;
mod setup;
#[cfg(test)]
mod tests;

use caller::{Caller, CallerView, SpeechDetector};
use conversation::ConversationItems;
use events::EventWriter;
use input_audio::InputAudio;
use pending::PendingInput;
use response::{ActiveResponse, ResponseEnd, ResponseOutput, ResponseShape};
use session::{ClientSession, TurnDetection};
use setup::ClientFunctions;

/// The format that Gemini speaks, unless its messages name another rate.
const MODEL_OUTPUT: AudioFormat = AudioFormat::Pcm16 { rate: 24_000 };
/// Clients configure a session at once; until then the model's session is not set up.
const FIRST_UPDATE_WAIT: Duration = Duration::from_millis(500);
/// Further updates within this time are part of the same setup.
const UPDATE_WAIT: Duration = Duration::from_millis(50);
/// After the end of an answer, its usage and the rest of its transcript may follow.
const RESPONSE_END_WAIT: Duration = Duration::from_millis(250);
/// A model that has not begun to answer by then will not.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);
/// Messages that wait until the provider has accepted the setup.
const MAX_HELD_BYTES: usize = 20 << 20;
/// Calls of the client that are remembered.
const MAX_CALLS: usize = 256;

/// Translates for one client.
pub(super) struct OpenAiClient {
    events: EventWriter,
    session: ClientSession,
    functions: ClientFunctions,
    config_bytes: usize,
    family: GeminiFamily,
    link: ModelLink,
    input: InputAudio,
    output: Option<AudioConverter>,
    caller: Caller,
    items: ConversationItems,
    pending: PendingInput,
    active: Option<ActiveResponse>,
    /// When the active response ends.
    ends: Option<Instant>,
    turn: ModelTurn,
    calls: HashMap<String, ModelCall>,
    /// Ids of `calls`, oldest first.
    call_order: VecDeque<String>,
    usage: TokenCounts,
    has_spoken: bool,
    /// Events for the client, not sent yet.
    outgoing: Vec<String>,
    close: Option<CloseReason>,
}

/// The model's session.
#[derive(Debug)]
struct ModelLink {
    stage: LinkStage,
    held: Vec<String>,
    held_bytes: usize,
    /// The setup that the machine has.
    setup: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkStage {
    /// The setup is sent at this time.
    Unsent(Option<Instant>),
    Sent,
    Ready,
}

/// The model's current turn.
#[derive(Debug, Default)]
struct ModelTurn {
    progress: TurnProgress,
    stale: StaleTurn,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum TurnProgress {
    #[default]
    None,
    Speaking,
    /// It is still played, in Gemini's view.
    Generated,
}

/// A turn that the client no longer hears.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum StaleTurn {
    #[default]
    No,
    /// Until it is interrupted or complete.
    Speaking,
    /// The model had not begun to answer when the client cancelled it.
    Silent,
    /// Only its end may still come.
    Ending,
}

/// A call of one of the client's functions.
#[derive(Debug)]
struct ModelCall {
    /// Gemini's id; `None`: it sent none.
    id: Option<String>,
    /// Gemini's name.
    name: String,
    stage: CallStage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallStage {
    Open,
    Answered,
    /// The model does not wait for it any more.
    Cancelled,
    /// Made by a model of another provider.
    Lost,
}

impl Translator for OpenAiClient {
    type Machine = GeminiLive;

    fn new(opening: RealtimeInit) -> (Self, GeminiLive) {
        let mut events = EventWriter::new(rand::random());
        let session = ClientSession::new(&events.id("sess"), &opening.model);
        let family = GeminiFamily::of(&opening.model);
        let format = session.settings.input;
        let translator = Self {
            events,
            functions: ClientFunctions::default(),
            config_bytes: 0,
            family,
            link: ModelLink {
                stage: LinkStage::Unsent(None),
                held: Vec::new(),
                held_bytes: 0,
                setup: Value::Null,
            },
            input: InputAudio::new(format),
            output: None,
            session,
            caller: Caller::default(),
            items: ConversationItems::default(),
            pending: PendingInput::default(),
            active: None,
            ends: None,
            turn: ModelTurn::default(),
            calls: HashMap::new(),
            call_order: VecDeque::new(),
            usage: TokenCounts::default(),
            has_spoken: false,
            outgoing: Vec::new(),
            close: None,
        };
        (translator, GeminiLive::new(opening))
    }

    fn begin(&mut self, now: Instant, out: &mut Vec<Translated>) {
        self.link.stage = LinkStage::Unsent(Some(now + FIRST_UPDATE_WAIT));
        let fields = json!({"session": self.session.client_view()});
        out.push(Translated::ToClient(self.events.write("session.created", fields)));
    }

    fn on_client(&mut self, frame: RealtimeFrame<'_>, now: Instant, out: &mut Vec<Translated>) {
        self.read_client_event(frame, now);
        out.extend(self.outgoing.drain(..).map(Translated::ToClient));
    }

    fn on_provider(&mut self, text: &str, now: Instant, out: &mut Vec<Translated>) {
        // A message that nobody can read is not for the client.
        if let Ok(message) = serde_json::from_str::<Value>(text) {
            self.read_provider_message(&message, now);
        }
        out.extend(self.outgoing.drain(..).map(Translated::ToClient));
    }

    fn settle(&mut self, machine: &mut GeminiLive, now: Instant, out: &mut Vec<Translated>) {
        // Another model may have taken over.
        self.family = machine.family();
        self.time_passes(now);
        out.extend(self.outgoing.drain(..).map(Translated::ToClient));
        if let LinkStage::Unsent(due) = self.link.stage
            && (!self.link.held.is_empty() || due.is_some_and(|due| due <= now))
        {
            self.link.stage = LinkStage::Sent;
            self.link.setup = self.setup();
            out.push(Translated::ToMachine(json!({"setup": self.link.setup}).to_string()));
        }
        // What is sent while a connection is renewed would be lost.
        if self.link.stage == LinkStage::Ready && machine.is_connected() {
            let setup = self.setup();
            if setup != self.link.setup {
                out.push(Translated::Actions(machine.change_setup(&setup.to_string(), now)));
                self.link.setup = setup;
            }
            self.link.held_bytes = 0;
            out.extend(self.link.held.drain(..).map(Translated::ToMachine));
        }
        out.extend(self.close.take().map(Translated::Close));
    }

    fn wakes(&self) -> Option<Instant> {
        let link = match self.link.stage {
            LinkStage::Unsent(due) => due,
            LinkStage::Sent | LinkStage::Ready => None,
        };
        let silent = self.active.as_ref().filter(|active| !active.has_begun);
        let timeout = silent.map(|active| active.since + ANSWER_TIMEOUT);
        [link, self.pending.due(), self.ends, timeout].into_iter().flatten().min()
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
        out.extend(self.outgoing.drain(..).map(Translated::ToClient));
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

impl OpenAiClient {
    fn setup(&self) -> Value {
        setup::setup(&self.session.settings, &self.functions, self.family)
    }

    /// Sends a message to the model, once its session is set up.
    fn send(&mut self, message: String) {
        self.link.held_bytes += message.len();
        if !self.link.held.is_empty() && self.link.held_bytes > MAX_HELD_BYTES {
            let reason = "the provider did not accept the session in time".to_owned();
            self.close = Some(CloseReason { code: 1011, reason });
            return;
        }
        self.link.held.push(message);
    }

    fn send_all(&mut self, messages: impl IntoIterator<Item = String>) {
        messages.into_iter().for_each(|message| self.send(message));
    }

    fn view(&self) -> CallerView {
        CallerView {
            transcribes: self.session.settings.transcribes,
            detector: match self.session.settings.turns {
                TurnDetection::Manual => SpeechDetector::Client,
                TurnDetection::Server { .. } => SpeechDetector::Model,
            },
            heard_ms: self.input.heard_ms(),
        }
    }

    /// Writes an event for the client.
    fn tell(&mut self, kind: &str, fields: Value) {
        self.outgoing.push(self.events.write(kind, fields));
    }

    fn open_response(&mut self, metadata: Value, now: Instant) {
        let settings = &self.session.settings;
        let shape =
            ResponseShape { modality: settings.modality, format: settings.output, metadata };
        let mut to = ResponseOutput {
            events: &mut self.events,
            items: &mut self.items,
            out: &mut self.outgoing,
        };
        self.active = Some(ActiveResponse::open(shape, now, &mut to));
        self.ends = None;
        self.output = None;
    }

    fn end_response(&mut self, end: ResponseEnd) {
        self.ends = None;
        let Some(mut active) = self.active.take() else { return };
        let rest = self.output.take().map(|mut output| output.flush()).unwrap_or_default();
        let usage = std::mem::take(&mut self.usage).to_openai();
        let mut to = ResponseOutput {
            events: &mut self.events,
            items: &mut self.items,
            out: &mut self.outgoing,
        };
        if end == ResponseEnd::Completed {
            active.speak(&rest, &mut to);
        }
        active.end(end, &usage, &mut to);
    }

    fn with_caller(&mut self, act: impl FnOnce(&mut Caller, CallerView, &mut ResponseOutput<'_>)) {
        let view = self.view();
        let mut to = ResponseOutput {
            events: &mut self.events,
            items: &mut self.items,
            out: &mut self.outgoing,
        };
        act(&mut self.caller, view, &mut to);
    }

    fn time_passes(&mut self, now: Instant) {
        if self.ends.is_some_and(|ends| ends <= now) {
            self.end_response(ResponseEnd::Completed);
        }
        let silent = self.active.as_ref().filter(|active| !active.has_begun);
        if silent.is_some_and(|active| active.since + ANSWER_TIMEOUT <= now) {
            let message = "the model did not answer in time";
            self.outgoing.push(self.events.server_error(message));
            self.end_response(ResponseEnd::Failed);
        }
        let is_idle = self.active.is_none() && self.turn.progress == TurnProgress::None;
        let messages = self.pending.take_due(is_idle, self.family, now);
        self.send_all(messages);
    }

    /// Remembers a call of the model under an id for the client.
    fn remember_call(&mut self, call_id: String, call: ModelCall) {
        if self.call_order.len() == MAX_CALLS
            && let Some(oldest) = self.call_order.pop_front()
        {
            self.calls.remove(&oldest);
        }
        self.call_order.push_back(call_id.clone());
        self.calls.insert(call_id, call);
    }
}
