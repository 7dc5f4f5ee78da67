//! State that the handle of a server shares with its supervisor: its status, and the connection for
//! calls. Only the supervisor writes it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use tokio::sync::watch;
use tollgate_core::id::ServerId;
use tollgate_core::secret_values;
use tollgate_core::text::truncate_chars;
use tollgate_mcp::client::SharedConnection;
use tracing::{debug, info};

use super::call_limiter::CallLimiter;
use super::history::{LastAnswer, StateHistory};
use super::mailbox::Mailbox;
use super::process::ServerLog;
use super::{UpstreamState, UpstreamStatus};
use crate::backend::PeerAddress;
use crate::clock::Clock;
use crate::notices::{Notice, Notices};

/// Characters kept of a reason.
const MAX_REASON_CHARS: usize = 500;

pub(super) struct UpstreamShared {
    pub(super) server: ServerId,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) log: Arc<ServerLog>,
    pub(super) live: ArcSwapOption<LiveConnection>,
    /// Resources with a subscription.
    pub(super) watched: watch::Sender<Vec<String>>,
    status: watch::Sender<UpstreamStatus>,
    notices: Notices,
    pub(super) history: StateHistory,
    pub(super) last_answer: Arc<LastAnswer>,
    /// Another instance with the same id replaces this one, or the server was removed.
    pub(super) muted: AtomicBool,
    /// For a server that is not in service.
    prospect: Mutex<ReturnForecast>,
}

/// When a server that is down may be back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReturnForecast {
    /// It is starting, or its state is just being determined.
    Soon,
    /// The next attempt is then.
    From(Instant),
    /// No automatic retry.
    Never,
}

impl ReturnForecast {
    /// From the time of the next attempt; `None`: no automatic retry.
    pub(super) fn of(next: Option<Instant>) -> Self {
        next.map_or(Self::Never, Self::From)
    }
}

/// A connection in service. After every reconnect it is a new one with a fresh circuit breaker.
pub(super) struct LiveConnection {
    pub(super) connection: SharedConnection,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) limiter: CallLimiter,
    pub(super) last_answer: Arc<LastAnswer>,
    pub(super) place: Arc<PeerAddress>,
}

impl UpstreamShared {
    pub(super) fn new(
        server: ServerId,
        clock: Arc<dyn Clock>,
        notices: Notices,
        log: Arc<ServerLog>,
    ) -> Self {
        let status = UpstreamStatus {
            state: UpstreamState::Starting,
            reason: "not started yet".to_owned(),
            since: clock.wall(),
            restarts: 0,
            late_answers: 0,
            revision: None,
            tools: 0,
            last_error: None,
            pid: None,
        };
        let history = StateHistory::default();
        history.note(status.since, status.state, &status.reason);
        Self {
            server,
            last_answer: Arc::new(LastAnswer::new(Arc::clone(&clock))),
            history,
            clock,
            log,
            live: ArcSwapOption::empty(),
            watched: watch::Sender::default(),
            status: watch::Sender::new(status),
            notices,
            muted: AtomicBool::new(false),
            prospect: Mutex::new(ReturnForecast::Soon),
        }
    }

    /// Set this before the status that it explains, so that a reader of the status sees it too.
    pub(super) fn expect(&self, prospect: ReturnForecast) {
        *self.prospect.lock() = prospect;
    }

    pub(super) fn is_expected_by(&self, until: Instant) -> bool {
        match *self.prospect.lock() {
            ReturnForecast::Soon => true,
            ReturnForecast::From(at) => at < until,
            ReturnForecast::Never => false,
        }
    }

    /// The connection in service, unless it is broken and the supervisor has not noticed yet.
    pub(super) fn working(&self) -> Option<Arc<LiveConnection>> {
        self.live.load_full().filter(|live| !live.mailbox.is_closed())
    }

    pub(super) fn status(&self) -> UpstreamStatus {
        self.status.borrow().clone()
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<UpstreamStatus> {
        self.status.subscribe()
    }

    pub(super) fn count_late(&self, more: u32) {
        self.status.send_modify(|status| {
            status.late_answers = status.late_answers.saturating_add(more.into());
        });
    }

    /// Moves to `state`; `more` sets the rest. `since` is kept if the state is unchanged. The
    /// reason may quote the server and is truncated.
    pub(super) fn set(
        &self,
        state: UpstreamState,
        reason: &str,
        more: impl FnOnce(&mut UpstreamStatus),
    ) {
        let wall = self.clock.wall();
        let reason = &*truncate_chars(&secret_values::mask(reason), MAX_REASON_CHARS);
        let mut moved = false;
        self.status.send_modify(|status| {
            if status.state != state {
                moved = true;
                let server = &self.server;
                match state {
                    // These may change often while a server starts or fails.
                    UpstreamState::Starting | UpstreamState::Offline | UpstreamState::Failed => {
                        debug!(%server, state = state.as_str(), reason, "server");
                    }
                    UpstreamState::Ready | UpstreamState::Degraded | UpstreamState::Disabled => {
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
