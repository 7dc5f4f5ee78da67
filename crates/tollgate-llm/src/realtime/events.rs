//! The words between a dialect's machine and the session around it: what comes in, what is to be
//! done. No sockets, no tasks, no clock: time is an argument.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use tollgate_core::budget::Tier;
use tollgate_core::tool::{ResultDelivery, ToolEffect};

/// One provider's protocol as a state machine. It sees every message of both sides and decides what
/// becomes of it; all ordering rules of the protocol are in here.
///
/// What it can rely on: for each [`DialectAction::Run`] exactly one [`DialectEvent::Answer`] comes, whatever
/// happens, unless the session ends before; after one that is [`AnswerStage::Pending`] at most one more
/// comes, [`AnswerStage::Late`]. What it must do: answer each call of its provider exactly once, as the
/// protocol demands, and never one that is the client's.
pub trait RealtimeDialect: Send {
    /// A message of the client's, and what becomes of it.
    fn on_client_message(&mut self, frame: RealtimeFrame<'_>, now: Instant) -> DialectStep;

    /// A message of the provider's, and what becomes of it.
    fn on_provider_message(&mut self, frame: RealtimeFrame<'_>, now: Instant) -> DialectStep;

    /// Something of the gateway's own.
    fn on_event(&mut self, news: DialectEvent, now: Instant) -> Vec<DialectAction>;

    /// When it wants to hear [`DialectEvent::Time`], if nothing happens before.
    fn wakes(&self) -> Option<Instant>;

    /// About how large the client's configuration is. Any event may make the machine write it
    /// again, so a large one makes every event large work.
    fn config_bytes(&self) -> usize;
}

/// What a machine begins with.
#[derive(Debug, Clone)]
pub struct RealtimeInit {
    pub offer: RealtimeOffer,
    /// The model as its provider calls it. Empty: whichever the client names.
    pub model: String,
    pub routing: DeepTurnRouting,
}

/// Who answers turns that need slow tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeepTurnRouting {
    /// The realtime model, like all others.
    Native,
    /// A model behind the chat gateway; the realtime model says its words.
    Cascaded,
}

/// What a session gets from the gateway, until the next one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RealtimeOffer {
    pub tools: Vec<DeclaredTool>,
    /// The agent's. It stands before what the client itself tells the model.
    pub prompt: Option<Arc<str>>,
}

/// A tool of the gateway's, for this dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredTool {
    /// As the model calls it.
    pub name: String,
    /// In the dialect's own form; shared by all sessions that have it.
    pub definition: Arc<Value>,
    pub delivery: ResultDelivery,
    pub effect: ToolEffect,
}

/// One WebSocket message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RealtimeFrame<'a> {
    Text(&'a str),
    Binary(&'a [u8]),
}

/// What becomes of a message, and then what else is to be done, in this order.
#[derive(Debug, Clone, PartialEq)]
pub struct DialectStep {
    pub fate: MessageFate,
    pub actions: Vec<DialectAction>,
}

impl DialectStep {
    /// It goes on as it is, and that is all.
    pub const fn forward() -> Self {
        Self { fate: MessageFate::Forward, actions: Vec::new() }
    }

    pub const fn swallow() -> Self {
        Self { fate: MessageFate::Swallow, actions: Vec::new() }
    }

    pub const fn replace(text: String) -> Self {
        Self { fate: MessageFate::Replace(text), actions: Vec::new() }
    }

    #[must_use]
    pub fn and(mut self, actions: impl IntoIterator<Item = DialectAction>) -> Self {
        self.actions.extend(actions);
        self
    }
}

/// What becomes of a message on its way to the other side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageFate {
    /// Byte for byte.
    Forward,
    Swallow,
    /// This text instead.
    Replace(String),
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum DialectAction {
    ToClient(String),
    ToProvider(String),
    /// The model calls a tool that is not the client's. A write among the gateway's tools is held
    /// until [`DialectAction::Confirm`] names it.
    Run(RealtimeCall),
    /// The turn that these calls belong to stands: writes among them may run.
    Confirm(Vec<String>),
    /// Nobody waits for this call any more. Its answer still comes: what it came to if it could not
    /// be stopped, else [`AnswerStage::Cancelled`].
    Cancel(String),
    /// What the caller says.
    Heard {
        /// All of the utterance so far.
        text: String,
        form: UtteranceStage,
    },
    /// What the agent said, as far as it is known in words.
    Said(String),
    Turn(TurnEvent),
    /// The words for a slow call are on their way to the caller.
    Announced,
    /// The client wishes for a tier; `None`: what is said decides again.
    Tier(Option<Tier>),
    /// The provider leaves this turn to us: as for a deep turn, the answer comes as [`DialectEvent::Speak`].
    Delegate,
    /// A new connection to the provider, on which these are sent first; what the old one still sends
    /// is not heard. The client's messages wait until [`DialectAction::Reconnected`].
    Reconnect(Vec<String>),
    /// The new connection is what the old one was.
    Reconnected,
    /// Both sides.
    Close(CloseReason),
}

/// A tool call of the model's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealtimeCall {
    /// The provider's; each is run once.
    pub id: String,
    /// As the model calls it: one of the declared ones, or one that nobody has.
    pub name: String,
    /// JSON, as the model wrote it.
    pub arguments: String,
}

/// Whether an utterance may still grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UtteranceStage {
    Partial,
    Final,
}

/// A turn is one answer to the caller: from the end of what they say until the model has nothing
/// more to say to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEvent {
    Began,
    /// The caller spoke, or the client stopped the answer, before it was over.
    Interrupted,
    Ended,
}

/// How a socket is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseReason {
    pub code: u16,
    pub reason: String,
}

/// What the session tells a machine.
#[derive(Debug, Clone, PartialEq)]
pub enum DialectEvent {
    /// From now on this is offered.
    Offer(RealtimeOffer),
    Answer(CallAnswer),
    /// A call takes long: words to say meanwhile, where that is safe.
    Slow {
        id: String,
        message: Arc<str>,
    },
    /// The turn can go to another model. A machine that can keep its own from answering says
    /// [`DialectAction::Delegate`], and [`DialectEvent::Speak`] follows; else nothing comes of it.
    Route,
    /// The words of the answer that another model gave; `Err`: there are none, and the realtime model
    /// has to help itself.
    Speak(Result<String, String>),
    /// Told because the client asked for it.
    Tier {
        tier: Option<Tier>,
        reason: String,
    },
    /// The time that [`RealtimeDialect::wakes`] named has come.
    Time,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallAnswer {
    pub id: String,
    pub answered: AnswerStage,
    /// A JSON object: `{status, message, data, …}`, already within the dialect's caps.
    pub outcome: String,
    pub delivery: ResultDelivery,
}

/// Where a call stands when its answer is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerStage {
    /// It is over.
    Done,
    /// The turn has no more time for it; it goes on, and may come to [`AnswerStage::Late`].
    Pending,
    /// What became of one that was pending.
    Late,
    /// It was stopped, or never ran.
    Cancelled,
}
