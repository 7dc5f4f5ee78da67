//! Events and actions between a dialect's state machine and its session. No sockets, no tasks, no
//! clock: time is an argument.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use tollgate_core::budget::Tier;
use tollgate_core::tool::{ResultDelivery, ToolEffect};

use super::handover::SessionHandover;
use crate::error::LlmError;

/// One provider's protocol as a state machine. It sees every message of both sides and decides its
/// fate; all ordering rules of the protocol are in here.
///
/// It can rely on this: each [`DialectAction::Run`] is followed by exactly one
/// [`DialectEvent::Answer`], unless the session ends before. After one that is
/// [`AnswerStage::Pending`] at most one more follows, [`AnswerStage::Late`]. It must answer each
/// call of its provider exactly once, as the protocol demands, and never one that is the client's.
pub trait RealtimeDialect: Send {
    /// Both sides are connected, and nothing was received yet.
    fn begin(&mut self, _now: Instant) -> Vec<DialectAction> {
        Vec::new()
    }

    /// Handles a message from the client.
    fn on_client_message(&mut self, frame: RealtimeFrame<'_>, now: Instant) -> DialectStep;

    /// Handles a message from the provider.
    fn on_provider_message(&mut self, frame: RealtimeFrame<'_>, now: Instant) -> DialectStep;

    /// Handles an event of the gateway itself.
    fn on_event(&mut self, news: DialectEvent, now: Instant) -> Vec<DialectAction>;

    /// The provider's connection ended without [`DialectAction::Reconnect`].
    fn on_provider_gone(&mut self, _with: &CloseReason, _now: Instant) -> ProviderGone {
        ProviderGone::End
    }

    /// Begins again on a new connection, which knows nothing of the conversation: of this model or
    /// another one. Called after [`ProviderGone::Replace`] or [`DialectAction::Replace`].
    fn restart(&mut self, _restart: SessionRestart, _now: Instant) -> Vec<DialectAction> {
        Vec::new()
    }

    /// Ends for the client what was begun, and returns what a machine of another protocol needs to
    /// continue. Nothing is asked of this one afterwards.
    fn hand_over(&mut self, _now: Instant) -> (SessionHandover, Vec<DialectAction>) {
        Default::default()
    }

    /// Continues a session of another protocol on a connection that knows nothing of it. The first
    /// call of a machine.
    fn take_over(
        &mut self,
        _handover: SessionHandover,
        _restart: &SessionRestart,
        _now: Instant,
    ) -> Vec<DialectAction> {
        Vec::new()
    }

    /// Relates the two clocks at the beginning of the session: providers state times of day.
    fn synchronize(&mut self, _now: Instant, _wall: SystemTime) {}

    /// When to send [`DialectEvent::Time`], if nothing happens before.
    fn wakes(&self) -> Option<Instant>;

    /// Approximate size of the client's configuration. Any event may make the state machine encode
    /// it again, so a large one makes every event large work.
    fn config_bytes(&self) -> usize;

    /// How the model gets what the agent's memory has.
    fn recall_channel(&self) -> RecallChannel {
        RecallChannel::None
    }

    /// Gives the model a note of the agent's memory, by [`RecallChannel::Item`].
    fn on_recalled(&mut self, _note: &str) -> Vec<DialectAction> {
        Vec::new()
    }
}

/// How a live model gets notes of the agent's memory while a session runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecallChannel {
    /// Not at all: it could not be done without a pause or an answer.
    None,
    /// As an item of the conversation.
    Item,
    /// Behind the agent's prompt.
    Prompt,
}

/// Initial data of a state machine.
#[derive(Debug, Clone)]
pub struct RealtimeInit {
    pub offer: RealtimeOffer,
    /// The provider's name of the model. Empty: any model that the client names.
    pub model: String,
    pub routing: DeepTurnRouting,
    /// What the provider was told before this connection, of a call that the gateway created.
    pub declared: Option<RealtimeOffer>,
}

/// Which model answers turns that need slow tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeepTurnRouting {
    /// The realtime model, as for all other turns.
    Native,
    /// A model behind the chat gateway; the realtime model speaks its text.
    Cascaded,
}

/// What the gateway adds to a session, until the next offer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RealtimeOffer {
    pub tools: Vec<DeclaredTool>,
    /// The agent's prompt. It precedes the client's own instructions.
    pub prompt: Option<Arc<str>>,
}

/// A tool of the gateway, declared in this dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredTool {
    /// Name for the model.
    pub name: String,
    /// In the dialect's own format; shared by all sessions that have it.
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

/// The fate of a message, and then further actions, in this order.
#[derive(Debug, Clone, PartialEq)]
pub struct DialectStep {
    pub fate: MessageFate,
    pub actions: Vec<DialectAction>,
}

impl DialectStep {
    /// Forwards the message unchanged, without further actions.
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

/// Fate of a message on its way to the other side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageFate {
    /// Unchanged, byte for byte.
    Forward,
    Swallow,
    /// This text instead.
    Replace(String),
}

/// An action for the session to perform.
#[derive(Debug, Clone, PartialEq)]
pub enum DialectAction {
    ToClient(String),
    ToProvider(String),
    /// The model calls a tool that is not the client's. A write by the gateway's tools is held
    /// until [`DialectAction::Confirm`] names it.
    Run(RealtimeCall),
    /// The turn of these calls is confirmed: writes among them may run.
    Confirm(Vec<String>),
    /// This call is no longer awaited. Its answer still comes: the result if it could not be
    /// stopped, otherwise [`AnswerStage::Cancelled`].
    Cancel(String),
    /// Speech of the caller.
    CallerSpeech {
        /// The whole utterance so far.
        text: String,
        form: UtteranceStage,
    },
    /// Speech of the agent, as far as its text is known.
    AgentSpeech(String),
    Turn(TurnEvent),
    /// The announcement of a slow call is on its way to the caller.
    Announced,
    /// A late result is on its way to the model.
    LateTold,
    /// The client requests a tier; `None`: the tier follows the utterances again.
    Tier(Option<Tier>),
    /// The provider leaves this turn to us: as for a deep turn, the answer comes as
    /// [`DialectEvent::Speak`].
    Delegate,
    /// A [`DialectAction::Reconnect`] follows soon: opens the new connection beside the old one.
    PrepareReconnect,
    /// Closes the provider's connection, and continues on a new one, with these messages first;
    /// further messages of the old connection are ignored. The client's messages wait until
    /// [`DialectAction::Reconnected`].
    Reconnect(Vec<String>),
    /// The new connection has replaced the old one.
    Reconnected,
    /// Continues on a connection that knows nothing of the conversation, if there is one. The
    /// provider has not closed the present one.
    Replace(ProviderFault),
    /// Closes both sides.
    Close(CloseReason),
}

/// What becomes of a session whose provider is gone.
#[derive(Debug, Clone, PartialEq)]
pub enum ProviderGone {
    End,
    /// It continues; [`DialectAction::Reconnect`] is among the actions.
    Resume(Vec<DialectAction>),
    /// It can continue on a connection that knows nothing of it.
    Replace(ProviderFault),
}

/// Why a session needs another connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderFault {
    pub kind: ProviderFaultKind,
    /// How the session ends if nothing takes over. `None`: it goes on as it is.
    pub with: Option<CloseReason>,
    /// The provider's message about it, which the client gets if nothing takes over.
    pub message: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderFaultKind {
    /// The connection broke: the same model may be connected to again.
    Broken,
    /// The provider would give the same model the same answer again.
    Refused,
    /// The provider limits the time of a session; nothing is wrong.
    Expiring,
}

/// A new connection that knows nothing of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRestart {
    /// The provider's name of the model.
    pub model: String,
    /// Words for the caller, spoken once. `None`: the caller is not to notice.
    pub notice: Option<String>,
    /// Maximum bytes of the conversation so far that the model is given.
    pub max_history_bytes: usize,
}

/// A tool call of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealtimeCall {
    /// The provider's id; each is run once.
    pub id: String,
    /// Name as the model wrote it: a declared tool, or one that does not exist.
    pub name: String,
    /// JSON, as the model wrote it.
    pub arguments: String,
}

/// Whether an utterance may still grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UtteranceStage {
    Partial,
    Final,
}

/// A turn is one answer to the caller: from the end of their utterance until the model has finished
/// its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEvent {
    Began,
    /// The caller spoke, or the client stopped the answer, before it was complete.
    Interrupted,
    Ended,
}

/// How a socket is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseReason {
    pub code: u16,
    pub reason: String,
}

/// An event from the session to a state machine.
#[derive(Debug, Clone, PartialEq)]
pub enum DialectEvent {
    /// Replaces the current offer.
    Offer(RealtimeOffer),
    Answer(CallAnswer),
    /// A call is slow: an announcement to speak meanwhile, if that is safe.
    Slow {
        id: String,
        message: Arc<str>,
    },
    /// How long the realtime model may be kept from answering an utterance whose transcript is
    /// awaited. `None`: no turn can go to another model at present.
    Hold(Option<Duration>),
    /// What was just heard of the caller ([`DialectAction::CallerSpeech`]) needs another model. A
    /// state machine that can keep its own model from answering returns
    /// [`DialectAction::Delegate`] when the utterance is complete, and [`DialectEvent::Speak`]
    /// follows; otherwise nothing happens.
    Route,
    /// The realtime model can answer the complete utterance that was just heard.
    Stay,
    /// The other model is slow: an announcement to speak meanwhile, once in a turn.
    SlowTurn(Arc<str>),
    /// Text of an answer by another model; `Err`: there is none, and the realtime model answers
    /// itself.
    Speak(Result<String, NoDeepAnswerError>),
    /// Confirms a tier that the client requested.
    Tier {
        tier: Option<Tier>,
        reason: String,
    },
    /// The connection of [`DialectAction::PrepareReconnect`] is open, or will not be.
    Successor(SuccessorState),
    /// The gateway stops: the session ends within this time.
    Leaving(Duration),
    /// The time named by [`RealtimeDialect::wakes`] has come.
    Time,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuccessorState {
    Ready,
    Gone,
}

/// Why another model gave no answer. State machines only need to know that there is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoDeepAnswerError {
    #[error("there is no fallback model")]
    NoModel,
    #[error("{0}")]
    Failed(LlmError),
    #[error("no answer arrived in time")]
    Timeout,
    #[error("the answer is empty")]
    Empty,
}

/// Answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallAnswer {
    pub id: String,
    pub answered: AnswerStage,
    /// A JSON object: `{status, message, data, …}`, already within the dialect's size limits.
    pub outcome: String,
    pub delivery: ResultDelivery,
}

/// Stage of a call when its answer is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerStage {
    /// Finished.
    Done,
    /// The turn has no time left for it; it continues, and [`AnswerStage::Late`] may follow.
    Pending,
    /// Late result of a pending call.
    Late,
    /// Stopped, or never run.
    Cancelled,
}
