//! Session registry: open realtime sessions, their dependencies, and totals since the start. Used
//! by the sessions, the fronts and the admin API.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tollgate_core::budget::Tier;
use tollgate_core::model_usage::UsageTotals;
use tollgate_engine::clock::Clock;
use tollgate_engine::gate::Gate;
use tollgate_engine::notices::{LiveEnding, LiveEvent, LiveSession, LiveTurn, Notice};

use super::events::CloseReason;
use super::protocol::RealtimeProtocol;
use super::silence::{SilenceHistograms, TurnSilence};
use crate::agent::ChatService;

/// Silences kept of each session.
const MAX_SILENCES: usize = 20;

pub struct RealtimeSessionRegistry {
    pub(super) gate: Arc<Gate>,
    pub(super) chat: Arc<ChatService>,
    pub(super) clock: Arc<dyn Clock>,
    entries: Mutex<BTreeMap<String, SessionEntry>>,
    sums: Mutex<BTreeMap<&'static str, SessionTotals>>,
    silences: SilenceHistograms,
}

/// Futures that end a session from outside.
pub struct SessionEnds {
    pub at_once: BoxFuture<'static, CloseReason>,
    /// The current turn may finish; no other starts.
    pub after_turn: BoxFuture<'static, CloseReason>,
    /// How long it may take.
    pub drain: Duration,
}

/// Registry entry of a session.
struct SessionEntry {
    session: Arc<LiveSession>,
    since: SystemTime,
    standing: SessionStatus,
    orders: mpsc::Sender<SessionCommand>,
}

/// Changing state of a session.
#[derive(Debug, Clone, Default)]
pub struct SessionStatus {
    /// `None`: no budget.
    pub tier: Option<Tier>,
    pub reason: String,
    /// Number of our tools.
    pub tools: usize,
    pub turns: u64,
    pub calls: u64,
    /// The model that serves it now, if that is not the first one.
    pub model: Option<String>,
    /// What it used of models, since it began.
    pub usage: UsageTotals,
    /// The last turns with a silence before their answer, oldest first.
    pub silences: VecDeque<MeasuredSilence>,
}

/// The silence before one answer.
#[derive(Debug, Clone)]
pub struct MeasuredSilence {
    /// When the agent was heard.
    pub at: SystemTime,
    /// Number of the turn in its session, from 1.
    pub turn: u64,
    pub silence: TurnSilence,
}

/// A session as shown on the admin page.
#[derive(Debug, Clone)]
pub struct SessionSummary {
    pub session: Arc<LiveSession>,
    pub since: SystemTime,
    pub standing: SessionStatus,
}

/// A command of an administrator to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionCommand {
    /// Sets a tier; `None`: automatic selection again.
    Tier(Option<Tier>),
    Close,
}

/// Why a command could not be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SessionCommandError {
    #[error("there is no such session")]
    Unknown,
    #[error("the session has not processed the previous commands yet: try again")]
    Busy,
}

/// Totals of the sessions of one dialect since the start.
#[derive(Debug, Clone, Copy, Default)]
pub struct SessionTotals {
    pub open: u64,
    pub sessions: u64,
    pub turns: u64,
    pub interrupted: u64,
    pub calls: u64,
    pub missed: u64,
    pub announced: u64,
    pub cancelled: u64,
    pub late: u64,
    /// Providers that failed in a session that went on.
    pub failovers: u64,
    pub took: Duration,
    pub tools: Duration,
}

impl RealtimeSessionRegistry {
    pub fn new(gate: Arc<Gate>, chat: Arc<ChatService>, clock: Arc<dyn Clock>) -> Self {
        let entries = Mutex::default();
        let sums = Mutex::default();
        Self { gate, chat, clock, entries, sums, silences: SilenceHistograms::default() }
    }

    /// All open sessions, oldest first.
    pub fn sessions(&self) -> Vec<SessionSummary> {
        let entries = self.entries.lock();
        let shown = entries.values().map(|session_entry| SessionSummary {
            session: Arc::clone(&session_entry.session),
            since: session_entry.since,
            standing: session_entry.standing.clone(),
        });
        shown.collect()
    }

    /// An open session.
    pub fn session(&self, id: &str) -> Option<SessionSummary> {
        let entries = self.entries.lock();
        let session_entry = entries.get(id)?;
        Some(SessionSummary {
            session: Arc::clone(&session_entry.session),
            since: session_entry.since,
            standing: session_entry.standing.clone(),
        })
    }

    /// Silences before answers since the start, by part.
    pub fn silences(&self) -> &SilenceHistograms {
        &self.silences
    }

    pub(super) fn record_silence(&self, session: &LiveSession, turn: u64, silence: TurnSilence) {
        self.silences.observe(&silence);
        let at = self.clock.wall();
        self.update_status(session, |standing| {
            if standing.silences.len() == MAX_SILENCES {
                standing.silences.pop_front();
            }
            standing.silences.push_back(MeasuredSilence { at, turn, silence });
        });
    }

    pub fn order(&self, session: &str, order: SessionCommand) -> Result<(), SessionCommandError> {
        let entries = self.entries.lock();
        let session_entry = entries.get(session).ok_or(SessionCommandError::Unknown)?;
        session_entry.orders.try_send(order).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => SessionCommandError::Busy,
            mpsc::error::TrySendError::Closed(_) => SessionCommandError::Unknown,
        })
    }

    /// Totals by dialect.
    pub fn sums(&self) -> Vec<(&'static str, SessionTotals)> {
        self.sums.lock().iter().map(|(dialect, sums)| (*dialect, *sums)).collect()
    }

    pub(super) fn update_status(
        &self,
        session: &LiveSession,
        change: impl FnOnce(&mut SessionStatus),
    ) {
        if let Some(session_entry) = self.entries.lock().get_mut(&session.id) {
            change(&mut session_entry.standing);
        }
    }

    pub(super) fn record_turn(&self, session: &Arc<LiveSession>, turn: LiveTurn) {
        self.count(session.dialect, |sums| {
            sums.turns += 1;
            sums.interrupted += u64::from(turn.ending == LiveEnding::Interrupted);
            sums.calls += u64::from(turn.calls);
            sums.missed += u64::from(turn.missed);
            sums.announced += u64::from(turn.announced);
            sums.cancelled += u64::from(turn.cancelled);
            sums.late += u64::from(turn.late);
            sums.took += turn.took;
            sums.tools += turn.tools;
        });
        self.update_status(session, |standing| {
            standing.turns += 1;
            standing.calls += u64::from(turn.calls);
        });
        self.tell(session, LiveEvent::Turn(turn));
    }

    /// A running session has another connection, maybe to another model.
    pub(super) fn record_failover(&self, session: &LiveSession, model: String, is_unnoticed: bool) {
        if !is_unnoticed {
            self.count(session.dialect, |sums| sums.failovers += 1);
        }
        let is_other = model != session.model;
        self.update_status(session, |status| status.model = is_other.then_some(model));
    }

    pub(super) fn tell(&self, session: &Arc<LiveSession>, event: LiveEvent) {
        self.gate.announce(Notice::Live { session: Arc::clone(session), event });
    }

    fn count(&self, dialect: &'static str, change: impl FnOnce(&mut SessionTotals)) {
        change(self.sums.lock().entry(dialect).or_default());
    }

    /// Adds a session, until the guard is dropped.
    pub(super) fn register(
        self: &Arc<Self>,
        session: &Arc<LiveSession>,
        orders: mpsc::Sender<SessionCommand>,
    ) -> SessionGuard {
        let session_entry = SessionEntry {
            session: Arc::clone(session),
            since: self.clock.wall(),
            standing: SessionStatus::default(),
            orders,
        };
        self.entries.lock().insert(session.id.clone(), session_entry);
        self.count(session.dialect, |sums| {
            sums.open += 1;
            sums.sessions += 1;
        });
        self.tell(session, LiveEvent::Opened);
        SessionGuard { session_registry: Arc::clone(self), session: Arc::clone(session) }
    }
}

/// Removes the entry however a session ends.
pub(super) struct SessionGuard {
    session_registry: Arc<RealtimeSessionRegistry>,
    session: Arc<LiveSession>,
}

impl Drop for SessionGuard {
    fn drop(&mut self) {
        self.session_registry.entries.lock().remove(&self.session.id);
        self.session_registry.count(self.session.dialect, |sums| sums.open -= 1);
    }
}

impl RealtimeProtocol {
    /// Whether the provider can be kept from answering a turn that another model answers.
    pub(super) fn can_route(self) -> bool {
        self == Self::OpenAi
    }

    /// Whether the provider itself delegates turns to another model.
    pub(super) fn can_delegate(self) -> bool {
        self == Self::GptLive
    }
}
