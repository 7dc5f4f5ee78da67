//! How a server stood lately, for people to see, and when it was last heard. Written by whoever
//! changes its state and by every call that was answered; bounded, and never waited for.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

use super::UpstreamState;
use crate::clock::Clock;

/// States of one server that are remembered.
const MAX_EPISODES: usize = 50;

/// A state that a server was in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateEpisode {
    /// Since when.
    pub at: SystemTime,
    pub state: UpstreamState,
    /// The last thing that was said of it.
    pub reason: String,
}

/// The last states, one entry for each: a reason that changes within a state replaces the one
/// before it.
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

    /// What came before its own, of one whose place it takes.
    pub(super) fn inherit(&self, before: Vec<StateEpisode>) {
        let mut episodes = self.0.lock();
        let room = MAX_EPISODES.saturating_sub(episodes.len());
        // The oldest are left out.
        for episode in before.into_iter().take(room) {
            episodes.push_front(episode);
        }
    }

    /// Newest first.
    pub(super) fn episodes(&self) -> Vec<StateEpisode> {
        self.0.lock().iter().rev().cloned().collect()
    }
}

/// When a server last answered something: a call, a ping, a wish for its lists.
pub(super) struct LastHeard {
    clock: Arc<dyn Clock>,
    /// Milliseconds since 1970; 0: never.
    at: AtomicU64,
}

impl LastHeard {
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
