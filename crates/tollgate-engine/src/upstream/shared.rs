//! What the handle of a server and its supervisor both see: how it stands, and the connection
//! that calls go through. The supervisor alone writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use tokio::sync::watch;
use tollgate_core::id::ServerId;
use tollgate_core::secret_values;
use tollgate_core::text::shortened;
use tollgate_mcp::client::SharedConnection;
use tracing::{debug, info};

use super::history::{Heard, History};
use super::mailbox::Mailbox;
use super::process::Log;
use super::turnstile::Turnstile;
use super::{State, Status};
use crate::backend::Place;
use crate::clock::Clock;
use crate::notices::{Notice, Notices};

/// So many characters of a reason are kept.
const LONGEST_REASON: usize = 500;

pub(super) struct Shared {
    pub(super) server: ServerId,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) log: Arc<Log>,
    pub(super) live: ArcSwapOption<Live>,
    /// Resources that somebody watches.
    pub(super) watched: watch::Sender<Vec<String>>,
    status: watch::Sender<Status>,
    notices: Notices,
    pub(super) history: History,
    pub(super) heard: Arc<Heard>,
    /// Another one of the same id speaks for the server now, or nobody does.
    pub(super) muted: AtomicBool,
    /// Of a server that is not in service.
    prospect: Mutex<Prospect>,
}

/// When a server that is away may be back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prospect {
    /// It is being started, or it is just being found out what became of it.
    Soon,
    /// It is tried again then.
    From(Instant),
    /// Not by itself.
    Never,
}

impl Prospect {
    /// Of a server that is tried again then, or not by itself.
    pub(super) fn of(next: Option<Instant>) -> Self {
        next.map_or(Self::Never, Self::From)
    }
}

/// A connection in service. A new one, with a fresh breaker, after every reconnect.
pub(super) struct Live {
    pub(super) connection: SharedConnection,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) turnstile: Turnstile,
    pub(super) heard: Arc<Heard>,
    pub(super) place: Arc<Place>,
}

impl Shared {
    pub(super) fn new(
        server: ServerId,
        (clock, notices): (Arc<dyn Clock>, Notices),
        log: Arc<Log>,
    ) -> Self {
        let status = Status {
            state: State::Starting,
            reason: "not started yet".to_owned(),
            since: clock.wall(),
            restarts: 0,
            late_answers: 0,
            revision: None,
            tools: 0,
            last_error: None,
            pid: None,
        };
        let history = History::default();
        history.note(status.since, status.state, &status.reason);
        Self {
            server,
            heard: Arc::new(Heard::new(Arc::clone(&clock))),
            history,
            clock,
            log,
            live: ArcSwapOption::empty(),
            watched: watch::Sender::default(),
            status: watch::Sender::new(status),
            notices,
            muted: AtomicBool::new(false),
            prospect: Mutex::new(Prospect::Soon),
        }
    }

    /// To be said before the status that it explains, so that who sees that one sees it too.
    pub(super) fn expect(&self, prospect: Prospect) {
        *self.prospect.lock() = prospect;
    }

    pub(super) fn is_expected_by(&self, until: Instant) -> bool {
        match *self.prospect.lock() {
            Prospect::Soon => true,
            Prospect::From(at) => at < until,
            Prospect::Never => false,
        }
    }

    /// The connection in service, unless it is broken and that was not seen yet.
    pub(super) fn working(&self) -> Option<Arc<Live>> {
        self.live.load_full().filter(|live| !live.mailbox.is_closed())
    }

    pub(super) fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    pub(super) fn count_late(&self, more: u32) {
        self.status.send_modify(|status| {
            status.late_answers = status.late_answers.saturating_add(more.into());
        });
    }

    /// Moves to `state`; `more` sets the rest. `since` stays if the state does. A reason may have
    /// the server's own words in it, of which there may be many.
    pub(super) fn set(&self, state: State, reason: &str, more: impl FnOnce(&mut Status)) {
        let wall = self.clock.wall();
        let reason = &*shortened(&secret_values::mask(reason), LONGEST_REASON);
        let mut moved = false;
        self.status.send_modify(|status| {
            if status.state != state {
                moved = true;
                let server = &self.server;
                match state {
                    // On the way up and down it may change often.
                    State::Starting | State::Offline | State::Failed => {
                        debug!(%server, state = state.as_str(), reason, "server");
                    }
                    State::Ready | State::Degraded | State::Disabled => {
                        info!(%server, state = state.as_str(), reason, "server");
                    }
                }
                status.state = state;
                status.since = wall;
            }
            reason.clone_into(&mut status.reason);
            self.history.note(wall, state, reason);
            more(status);
        });
        if moved && !self.muted.load(Ordering::Acquire) {
            self.notices.tell(Notice::Server {
                server: self.server.clone(),
                state: state.as_str(),
                reason: reason.to_owned(),
                since: wall,
            });
        }
    }
}
