//! Where live sessions are held: what they need, who is there, and what they came to in sum. Asked
//! by the fronts and by whoever runs the gateway.

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

use super::drive;
use super::events::CloseWith;
use super::live::Live;
use super::session::Session;
use super::visit::Visit;
use super::wire::Side;
use crate::agent::Chat;
use crate::provider::Socket;

/// Orders that a session was given and has not read.
const MOST_ORDERS: usize = 8;

pub struct Hall {
    pub(super) gate: Arc<Gate>,
    pub(super) chat: Arc<Chat>,
    pub(super) clock: Arc<dyn Clock>,
    guests: Mutex<BTreeMap<String, Guest>>,
    sums: Mutex<BTreeMap<&'static str, Sums>>,
}

/// The two ends of a session.
pub struct Sockets<S> {
    pub client: WebSocketStream<S>,
    pub provider: Socket,
    /// What the client said before its provider could be known.
    pub first: Option<Message>,
}

/// What ends a session from outside.
pub struct SessionEnds {
    pub at_once: BoxFuture<'static, CloseWith>,
    /// The turn that runs may end; no other begins.
    pub after_turn: BoxFuture<'static, CloseWith>,
}

/// A session, seen from outside.
struct Guest {
    session: Arc<LiveSession>,
    since: SystemTime,
    standing: Standing,
    orders: mpsc::Sender<Order>,
}

/// What changes in the life of a session.
#[derive(Debug, Clone, Default)]
pub struct Standing {
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
pub struct Shown {
    pub session: Arc<LiveSession>,
    pub since: SystemTime,
    pub standing: Standing,
}

/// What an administrator wants of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Insists on a tier; `None`: what is said decides again.
    Tier(Option<Tier>),
    Close,
}

/// An order that reaches nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotGiven {
    #[error("there is no such session")]
    Unknown,
    #[error("the session has not read the orders before this one: try again")]
    Busy,
}

/// What the sessions of one dialect came to, since the start.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sums {
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

impl Hall {
    pub fn new(gate: Arc<Gate>, chat: Arc<Chat>, clock: Arc<dyn Clock>) -> Self {
        let (guests, sums) = (Mutex::default(), Mutex::default());
        Self { gate, chat, clock, guests, sums }
    }

    /// Holds a session until one of the three ends it: the client, the provider, `ends`. Says what the
    /// client was told.
    pub async fn hold<S>(
        self: &Arc<Self>,
        visit: Visit,
        sockets: Sockets<S>,
        ends: SessionEnds,
    ) -> CloseWith
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let (orders, given) = mpsc::channel(MOST_ORDERS);
        let id = CallId::new(self.clock.wall(), rand::random());
        let session = Arc::new(LiveSession {
            id: id.to_string(),
            principal: visit.party.principal.clone(),
            agent: visit.agent.id.clone(),
            dialect: visit.live.as_str(),
            model: visit.model.settings.name.clone(),
        });
        let seat = self.seat(&session, orders);
        let now = self.clock.now();
        let Sockets { client, provider, first } = sockets;
        let sides = (Side::new(client, now), Side::new(provider, now));
        let ended = match Session::begin(Arc::clone(self), visit, Arc::clone(&session)) {
            Ok(session) => drive::drive(session, sides, first, (given, ends)).await,
            Err(with) => drive::turn_away(sides, with).await,
        };
        drop(seat);
        let (code, reason) = (ended.code, ended.reason.clone());
        self.gate.announce(Notice::Live { session, event: LiveEvent::Closed { code, reason } });
        ended
    }

    /// All that are held, the oldest first.
    pub fn sessions(&self) -> Vec<Shown> {
        let guests = self.guests.lock();
        let shown = guests.values().map(|guest| Shown {
            session: Arc::clone(&guest.session),
            since: guest.since,
            standing: guest.standing.clone(),
        });
        shown.collect()
    }

    pub fn order(&self, session: &str, order: Order) -> Result<(), NotGiven> {
        let guests = self.guests.lock();
        let guest = guests.get(session).ok_or(NotGiven::Unknown)?;
        guest.orders.try_send(order).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => NotGiven::Busy,
            mpsc::error::TrySendError::Closed(_) => NotGiven::Unknown,
        })
    }

    /// By dialect.
    pub fn sums(&self) -> Vec<(&'static str, Sums)> {
        self.sums.lock().iter().map(|(dialect, sums)| (*dialect, *sums)).collect()
    }

    pub(super) fn stands(&self, session: &LiveSession, change: impl FnOnce(&mut Standing)) {
        if let Some(guest) = self.guests.lock().get_mut(&session.id) {
            change(&mut guest.standing);
        }
    }

    pub(super) fn had_turn(&self, session: &Arc<LiveSession>, turn: LiveTurn) {
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
        self.stands(session, |standing| {
            standing.turns += 1;
            standing.calls += u64::from(turn.calls);
        });
        self.tell(session, LiveEvent::Turn(turn));
    }

    pub(super) fn tell(&self, session: &Arc<LiveSession>, event: LiveEvent) {
        self.gate.announce(Notice::Live { session: Arc::clone(session), event });
    }

    fn count(&self, dialect: &'static str, change: impl FnOnce(&mut Sums)) {
        change(self.sums.lock().entry(dialect).or_default());
    }

    fn seat(self: &Arc<Self>, session: &Arc<LiveSession>, orders: mpsc::Sender<Order>) -> Seat {
        let guest = Guest {
            session: Arc::clone(session),
            since: self.clock.wall(),
            standing: Standing::default(),
            orders,
        };
        self.guests.lock().insert(session.id.clone(), guest);
        self.count(session.dialect, |sums| {
            sums.open += 1;
            sums.sessions += 1;
        });
        self.tell(session, LiveEvent::Opened);
        Seat { hall: Arc::clone(self), session: Arc::clone(session) }
    }
}

/// Given back however a session ends.
struct Seat {
    hall: Arc<Hall>,
    session: Arc<LiveSession>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.hall.guests.lock().remove(&self.session.id);
        self.hall.count(self.session.dialect, |sums| sums.open -= 1);
    }
}

impl Live {
    /// Whether the provider can be kept from answering a turn that another model answers.
    pub(super) fn can_route(self) -> bool {
        self == Self::OpenAi
    }

    /// Whether the provider itself leaves turns to another model.
    pub(super) fn can_delegate(self) -> bool {
        self == Self::GptLive
    }
}
