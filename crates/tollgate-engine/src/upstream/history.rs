//! Recent states of a server, for display, and the time of its last answer. Written on state
//! changes and by every answered call; bounded and non-blocking.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

use super::UpstreamState;
use crate::clock::Clock;

/// States kept per server.
const MAX_EPISODES: usize = 50;

/// A past or current state of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateEpisode {
    /// When it began.
    pub at: SystemTime,
    pub state: UpstreamState,
    /// The last reason given for it.
    pub reason: String,
}

/// The last states, one entry each: a new reason within a state replaces the previous one.
#[derive(Default)]
pub(super) struct StateHistory(Mutex<VecDeque<StateEpisode>>);

impl StateHistory {
    pub(super) fn note(&self, at: SystemTime, state: UpstreamState, reason: &str) {
        let mut episodes = self.0.lock();
        if let Some(last) = episodes.back_mut()
            && last.state == state
        {
            reason.clone_into(&mut last.reason);
            return;
        }
        if episodes.len() == MAX_EPISODES {
            episodes.pop_front();
        }
        episodes.push_back(StateEpisode { at, state, reason: reason.to_owned() });
    }

    /// Prepends the history of the server it replaces.
    pub(super) fn inherit(&self, before: Vec<StateEpisode>) {
        let mut episodes = self.0.lock();
        let room = MAX_EPISODES.saturating_sub(episodes.len());
        // The oldest are dropped.
        for episode in before.into_iter().take(room) {
            episodes.push_front(episode);
        }
    }

    /// Newest first.
    pub(super) fn episodes(&self) -> Vec<StateEpisode> {
        self.0.lock().iter().rev().cloned().collect()
    }
}

/// When a server last answered anything: a call, a ping, a listing.
pub(super) struct LastAnswer {
    clock: Arc<dyn Clock>,
    /// Milliseconds since 1970; 0: never.
    at: AtomicU64,
}

impl LastAnswer {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, at: AtomicU64::new(0) }
    }

    pub(super) fn note(&self) {
        let since = self.clock.wall().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        self.at.store(at, Ordering::Relaxed);
    }

    pub(super) fn last(&self) -> Option<SystemTime> {
        match self.at.load(Ordering::Relaxed) {
            0 => None,
            at => UNIX_EPOCH.checked_add(Duration::from_millis(at)),
        }
    }
}

#[cfg(test)]
mod tests;
