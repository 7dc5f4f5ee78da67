//! Schedule of a live connection's maintenance: listings and pings (liveness checks). Pure; time is
//! an argument.

use std::time::{Duration, Instant};

/// Listings are requested at most this often, however many changes a server announces.
const BETWEEN_LISTS: Duration = Duration::from_secs(1);
/// And at least this often, in case a change was not announced.
const RESYNC: Duration = Duration::from_secs(300);
/// Ping intervals of a remote server: while it is in use, and while it is idle. Two unanswered
/// pings fit into twenty seconds.
const PING_BUSY: Duration = Duration::from_secs(13);
const PING_IDLE: Duration = Duration::from_secs(60);
/// Doubts about liveness are checked at most this often.
const RECHECK_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionTask {
    List,
    Watch,
    Ping,
}

/// How the loss of a server is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UpstreamKind {
    /// A child process: its exit and EOF on its pipe are seen.
    Child,
    /// A remote server: judged by failing requests.
    Remote,
}

/// Why the server is pinged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PingCause {
    Clock,
    Doubt,
}

#[derive(Debug)]
pub(super) struct ConnectionSchedule {
    nature: UpstreamKind,
    list_at: Instant,
    listed_at: Instant,
    watch: bool,
    ping_at: Option<Instant>,
    pinged_at: Option<Instant>,
    cause: PingCause,
}

impl ConnectionSchedule {
    /// For a connection whose lists were just read.
    pub(super) fn new(nature: UpstreamKind, now: Instant) -> Self {
        let ping_at = (nature == UpstreamKind::Remote).then_some(now + PING_BUSY);
        let list_at = now + RESYNC;
        Self {
            nature,
            list_at,
            listed_at: now,
            watch: true,
            ping_at,
            pinged_at: None,
            cause: PingCause::Clock,
        }
    }

    pub(super) fn note_list_changed(&mut self, now: Instant) {
        self.list_at = self.list_at.min((self.listed_at + BETWEEN_LISTS).max(now));
    }

    pub(super) fn watch(&mut self) {
        self.watch = true;
    }

    pub(super) fn doubt(&mut self, now: Instant) {
        self.cause = PingCause::Doubt;
        let soonest = self.pinged_at.map_or(now, |at| at + RECHECK_INTERVAL).max(now);
        self.ping_at = Some(self.ping_at.map_or(soonest, |at| at.min(soonest)));
    }

    pub(super) fn is_doubted(&self) -> bool {
        self.cause == PingCause::Doubt
    }

    /// The next due task; it counts as started.
    pub(super) fn due(&mut self, now: Instant) -> Option<ConnectionTask> {
        if self.ping_at.is_some_and(|at| at <= now) {
            self.ping_at = None;
            self.pinged_at = Some(now);
            return Some(ConnectionTask::Ping);
        }
        if std::mem::take(&mut self.watch) {
            return Some(ConnectionTask::Watch);
        }
        if self.list_at <= now {
            self.list_at = now + RESYNC;
            self.listed_at = now;
            return Some(ConnectionTask::List);
        }
        None
    }

    /// The server is alive; the next ping depends on whether it is in use.
    pub(super) fn note_ping_answered(&mut self, now: Instant, calls: usize) {
        // A doubt that arrived during the ping is still to be checked.
        if self.ping_at.is_none() {
            self.cause = PingCause::Clock;
        }
        if self.nature == UpstreamKind::Remote {
            let pause = if calls > 0 { PING_BUSY } else { PING_IDLE };
            self.ping_at.get_or_insert(now + pause);
        }
    }

    pub(super) fn wake_at(&self) -> Instant {
        self.ping_at.map_or(self.list_at, |at| at.min(self.list_at))
    }
}

#[cfg(test)]
mod tests;
