//! The words between a dialect's machine and the session around it: what comes in, what is to be
//! done. No sockets, no tasks, no clock: time is an argument.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use tollgate_core::budget::Tier;
use tollgate_core::tool::{Delivery, Effect};

/// One provider's protocol as a state machine. It sees every message of both sides and decides what
/// becomes of it; all ordering rules of the protocol are in here.
///
/// What it can rely on: for each [`Action::Run`] exactly one [`News::Answer`] comes, whatever
/// happens, unless the session ends before; after one that is [`Answered::Pending`] at most one more
/// comes, [`Answered::Late`]. What it must do: answer each call of its provider exactly once, as the
/// protocol demands, and never one that is the client's.
pub trait RealtimeDialect: Send {
    /// A message of the client's, and what becomes of it.
    fn client_said(&mut self, frame: Frame<'_>, now: Instant) -> Step;

    /// A message of the provider's, and what becomes of it.
    fn provider_said(&mut self, frame: Frame<'_>, now: Instant) -> Step;

    /// Something of the gateway's own.
    fn news(&mut self, news: News, now: Instant) -> Vec<Action>;

    /// When it wants to hear [`News::Time`], if nothing happens before.
    fn wakes(&self) -> Option<Instant>;
}

/// What a machine begins with.
#[derive(Debug, Clone)]
pub struct Opening {
    pub offer: Offer,
    /// The model as its provider calls it. Empty: whichever the client names.
    pub model: String,
    pub routing: Routing,
}

/// Who answers turns that need slow tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Routing {
    /// The realtime model, like all others.
    Native,
    /// A model behind the chat gateway; the realtime model says its words.
    Cascaded,
}

/// What a session gets from the gateway, until the next one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Offer {
    pub tools: Vec<Declared>,
    /// The agent's. It stands before what the client itself tells the model.
    pub prompt: Option<Arc<str>>,
}

/// A tool of the gateway's, for this dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    /// As the model calls it.
    pub name: String,
    /// In the dialect's own form; shared by all sessions that have it.
    pub definition: Arc<Value>,
    pub delivery: Delivery,
    pub effect: Effect,
}

/// One WebSocket message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    Text(&'a str),
    Binary(&'a [u8]),
}

/// What becomes of a message, and then what else is to be done, in this order.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub fate: Fate,
    pub actions: Vec<Action>,
}

impl Step {
    /// It goes on as it is, and that is all.
    pub const fn forward() -> Self {
        Self { fate: Fate::Forward, actions: Vec::new() }
    }

    pub const fn swallow() -> Self {
        Self { fate: Fate::Swallow, actions: Vec::new() }
    }

    pub const fn replace(text: String) -> Self {
        Self { fate: Fate::Replace(text), actions: Vec::new() }
    }

    #[must_use]
    pub fn and(mut self, actions: impl IntoIterator<Item = Action>) -> Self {
        self.actions.extend(actions);
        self
    }
}

/// What becomes of a message on its way to the other side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// Byte for byte.
    Forward,
    Swallow,
    /// This text instead.
    Replace(String),
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    ToClient(String),
    ToProvider(String),
    /// The model calls a tool that is not the client's. A write among the gateway's tools is held
    /// until [`Action::Confirm`] names it.
    Run(Call),
    /// The turn that these calls belong to stands: writes among them may run.
    Confirm(Vec<String>),
    /// Nobody waits for this call any more. Its answer still comes: what it came to if it could not
    /// be stopped, else [`Answered::Cancelled`].
    Cancel(String),
    /// What the caller says.
    Heard {
        /// All of the utterance so far.
        text: String,
        form: Form,
    },
    /// What the agent said, as far as it is known in words.
    Said(String),
    Turn(TurnEvent),
    /// The words for a slow call are on their way to the caller.
    Announced,
    /// The client wishes for a tier; `None`: what is said decides again.
    Tier(Option<Tier>),
    /// The provider leaves this turn to us: as for a deep turn, the answer comes as [`News::Speak`].
    Delegate,
    /// A new connection to the provider, on which these are sent first; what the old one still sends
    /// is not heard. The client's messages wait until [`Action::Reconnected`].
    Reconnect(Vec<String>),
    /// The new connection is what the old one was.
    Reconnected,
    /// Both sides.
    Close(CloseWith),
}

/// A tool call of the model's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The provider's; each is run once.
    pub id: String,
    /// As the model calls it: one of the declared ones, or one that nobody has.
    pub name: String,
    /// JSON, as the model wrote it.
    pub arguments: String,
}

/// Whether an utterance may still grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
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
pub struct CloseWith {
    pub code: u16,
    pub reason: String,
}

/// What the session tells a machine.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// From now on this is offered.
    Offer(Offer),
    Answer(Answer),
    /// A call takes long: words to say meanwhile, where that is safe.
    Slow {
        id: String,
        message: Arc<str>,
    },
    /// The turn can go to another model. A machine that can keep its own from answering says
    /// [`Action::Delegate`], and [`News::Speak`] follows; else nothing comes of it.
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
pub struct Answer {
    pub id: String,
    pub answered: Answered,
    /// A JSON object: `{status, message, data, …}`, already within the dialect's caps.
    pub outcome: String,
    pub delivery: Delivery,
}

/// Where a call stands when its answer is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// It is over.
    Done,
    /// The turn has no more time for it; it goes on, and may come to [`Answered::Late`].
    Pending,
    /// What became of one that was pending.
    Late,
    /// It was stopped, or never ran.
    Cancelled,
}
