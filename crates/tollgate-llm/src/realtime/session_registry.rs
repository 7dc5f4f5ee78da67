//! Session registry of realtime sessions: what they need, which are open, and what they came to in
//! sum. Asked by the fronts and by whoever runs the gateway.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tollgate_core::budget::Tier;
use tollgate_core::call::CallId;
use tollgate_engine::clock::Clock;
use tollgate_engine::gate::Gate;
use tollgate_engine::notices::{LiveEnding, LiveEvent, LiveSession, LiveTurn, Notice};
use tollgate_mcp::offload::LargeWork;

use super::driver;
use super::events::CloseReason;
use super::protocol::RealtimeProtocol;
use super::session::RealtimeSession;
use super::session_request::SessionRequest;
use super::wire::SocketSide;
use crate::agent::ChatService;
use crate::provider::ProviderSocket;

/// Orders that a session was given and has not read.
const MAX_QUEUED_COMMANDS: usize = 8;

pub struct RealtimeSessionRegistry {
    pub(super) gate: Arc<Gate>,
    pub(super) chat: Arc<ChatService>,
    pub(super) clock: Arc<dyn Clock>,
    guests: Mutex<BTreeMap<String, SessionEntry>>,
    sums: Mutex<BTreeMap<&'static str, SessionTotals>>,
}

/// The two ends of a session.
pub struct SessionSockets<S> {
    pub client: WebSocketStream<S>,
    pub provider: ProviderSocket,
    /// What the client said before its provider could be known.
    pub first: Option<Message>,
    /// Where large messages are reported by both of them.
    pub large_work: LargeWork,
}

/// What ends a session from outside.
pub struct SessionEnds {
    pub at_once: BoxFuture<'static, CloseReason>,
    /// The turn that runs may end; no other begins.
    pub after_turn: BoxFuture<'static, CloseReason>,
}

/// A session, seen from outside.
struct SessionEntry {
    session: Arc<LiveSession>,
    since: SystemTime,
    standing: SessionStatus,
    orders: mpsc::Sender<SessionCommand>,
}

/// What changes in the life of a session.
#[derive(Debug, Clone, Default)]
pub struct SessionStatus {
    /// `None`: no budget.
    pub tier: Option<Tier>,
    pub reason: String,
    /// Of ours.
    pub tools: usize,
    pub turns: u64,
    pub calls: u64,
}

/// One session, as the admin page shows it.
#[derive(Debug, Clone)]
pub struct SessionSummary {
    pub session: Arc<LiveSession>,
    pub since: SystemTime,
    pub standing: SessionStatus,
}

/// What an administrator wants of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionCommand {
    /// Insists on a tier; `None`: what is said decides again.
    Tier(Option<Tier>),
    Close,
}

/// An order that reaches nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SessionCommandError {
    #[error("there is no such session")]
    Unknown,
    #[error("the session has not processed the previous commands yet: try again")]
    Busy,
}

/// What the sessions of one dialect came to, since the start.
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
    pub took: Duration,
    pub tools: Duration,
}

impl RealtimeSessionRegistry {
    pub fn new(gate: Arc<Gate>, chat: Arc<ChatService>, clock: Arc<dyn Clock>) -> Self {
        let (guests, sums) = (Mutex::default(), Mutex::default());
        Self { gate, chat, clock, guests, sums }
    }

    /// Holds a session until one of the three ends it: the client, the provider, `ends`. Says what the
    /// client was told.
    pub async fn hold<S>(
        self: &Arc<Self>,
        visit: SessionRequest,
        sockets: SessionSockets<S>,
        ends: SessionEnds,
    ) -> CloseReason
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let (orders, given) = mpsc::channel(MAX_QUEUED_COMMANDS);
        let id = CallId::new(self.clock.wall(), rand::random());
        let session = Arc::new(LiveSession {
            id: id.to_string(),
            principal: visit.party.principal.clone(),
            agent: visit.agent.id.clone(),
            dialect: visit.live.as_str(),
            model: visit.model.settings.name.clone(),
        });
        let seat = self.register(&session, orders);
        let now = self.clock.now();
        let SessionSockets { client, mut provider, first, large_work } = sockets;
        provider.get_mut().report_to(&large_work);
        let client = SocketSide::new(client, large_work.clone(), now);
        let sides = (client, SocketSide::new(provider, large_work, now));
        let ended = match RealtimeSession::begin(Arc::clone(self), visit, Arc::clone(&session)) {
            Ok(session) => driver::drive(session, sides, first, (given, ends)).await,
            Err(with) => driver::turn_away(sides, with).await,
        };
        drop(seat);
        let (code, reason) = (ended.code, ended.reason.clone());
        self.gate.announce(Notice::Live { session, event: LiveEvent::Closed { code, reason } });
        ended
    }

    /// All that are held, the oldest first.
    pub fn sessions(&self) -> Vec<SessionSummary> {
        let guests = self.guests.lock();
        let shown = guests.values().map(|guest| SessionSummary {
            session: Arc::clone(&guest.session),
            since: guest.since,
            standing: guest.standing.clone(),
        });
        shown.collect()
    }

    pub fn order(&self, session: &str, order: SessionCommand) -> Result<(), SessionCommandError> {
        let guests = self.guests.lock();
        let guest = guests.get(session).ok_or(SessionCommandError::Unknown)?;
        guest.orders.try_send(order).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => SessionCommandError::Busy,
            mpsc::error::TrySendError::Closed(_) => SessionCommandError::Unknown,
        })
    }

    /// By dialect.
    pub fn sums(&self) -> Vec<(&'static str, SessionTotals)> {
        self.sums.lock().iter().map(|(dialect, sums)| (*dialect, *sums)).collect()
    }

    pub(super) fn update_status(
        &self,
        session: &LiveSession,
        change: impl FnOnce(&mut SessionStatus),
    ) {
        if let Some(guest) = self.guests.lock().get_mut(&session.id) {
            change(&mut guest.standing);
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

    pub(super) fn tell(&self, session: &Arc<LiveSession>, event: LiveEvent) {
        self.gate.announce(Notice::Live { session: Arc::clone(session), event });
    }

    fn count(&self, dialect: &'static str, change: impl FnOnce(&mut SessionTotals)) {
        change(self.sums.lock().entry(dialect).or_default());
    }

    fn register(
        self: &Arc<Self>,
        session: &Arc<LiveSession>,
        orders: mpsc::Sender<SessionCommand>,
    ) -> SessionGuard {
        let guest = SessionEntry {
            session: Arc::clone(session),
            since: self.clock.wall(),
            standing: SessionStatus::default(),
            orders,
        };
        self.guests.lock().insert(session.id.clone(), guest);
        self.count(session.dialect, |sums| {
            sums.open += 1;
            sums.sessions += 1;
        });
        self.tell(session, LiveEvent::Opened);
        SessionGuard { hall: Arc::clone(self), session: Arc::clone(session) }
    }
}

/// Given back however a session ends.
struct SessionGuard {
    hall: Arc<RealtimeSessionRegistry>,
    session: Arc<LiveSession>,
}

impl Drop for SessionGuard {
    fn drop(&mut self) {
        self.hall.guests.lock().remove(&self.session.id);
        self.hall.count(self.session.dialect, |sums| sums.open -= 1);
    }
}

impl RealtimeProtocol {
    /// Whether the provider can be kept from answering a turn that another model answers.
    pub(super) fn can_route(self) -> bool {
        self == Self::OpenAi
    }

    /// Whether the provider itself leaves turns to another model.
    pub(super) fn can_delegate(self) -> bool {
        self == Self::GptLive
    }
}
