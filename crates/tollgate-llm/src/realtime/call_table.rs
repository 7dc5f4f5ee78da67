//! Call table of one realtime session: calls that run, are held, are over, or may be cancelled by a
//! barge-in. Pure.
//!
//! Each call is started at most once and answered exactly once. A call with side effects is held
//! until the turn is confirmed. It is not aborted by a barge-in, and not repeated when the provider
//! calls again because it never got the result.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tollgate_core::tool::ToolEffect;

/// How long the results of an interrupted turn are kept, for a call that repeats them.
const REPEAT_WINDOW: Duration = Duration::from_secs(60);
/// Finished calls that are remembered, to detect duplicate ids.
const MAX_FINISHED_CALLS: usize = 1_024;

/// Identifies the effect of a call: the tool and its normalized arguments.
pub(super) type CallFingerprint = String;

#[derive(Debug, Default)]
pub(super) struct CallTable {
    calls: HashMap<String, CallTableEntry>,
    /// Ids of finished calls, oldest first.
    over: std::collections::VecDeque<String>,
}

#[derive(Debug)]
struct CallTableEntry {
    work: CallFingerprint,
    effect: ToolEffect,
    state: CallTableState,
    /// Equal calls that wait for this one to finish.
    followers: Vec<String>,
}

#[derive(Debug)]
enum CallTableState {
    /// Held until the turn is confirmed.
    Held,
    Running,
    /// No longer awaited, but it cannot be stopped.
    Orphaned,
    /// Waits for an equal call to finish.
    Following,
    Over,
    /// Result of an orphaned call, for a later equal call.
    Left {
        outcome: String,
        at: Instant,
    },
}

/// What to do with a new call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RealtimeCallStart {
    Run,
    /// Nothing yet.
    Wait,
    /// Already done, with this result.
    Known(String),
    /// Duplicate id.
    Twice,
}

/// What to do with a call that is no longer awaited.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RealtimeCallStop {
    /// It never ran: answer it as cancelled.
    Dropped,
    /// Abort it, and answer it as cancelled.
    Abort,
    /// It continues; its result will be its answer.
    Unstoppable,
    /// Unknown, or already over.
    Nothing,
}

impl CallTable {
    pub(super) fn propose(
        &mut self,
        id: &str,
        work: CallFingerprint,
        effect: ToolEffect,
        now: Instant,
    ) -> RealtimeCallStart {
        if self.calls.contains_key(id) {
            return RealtimeCallStart::Twice;
        }
        let (state, start) = match effect {
            ToolEffect::ReadOnly => (CallTableState::Running, RealtimeCallStart::Run),
            ToolEffect::Mutating | ToolEffect::Destructive => {
                match self.take_repeated(&work, now) {
                    Some(RepeatedCall::Running(first)) => {
                        if let Some(first) = self.calls.get_mut(&first) {
                            first.followers.push(id.to_owned());
                        }
                        (CallTableState::Following, RealtimeCallStart::Wait)
                    }
                    Some(RepeatedCall::Over(outcome)) => {
                        (CallTableState::Over, RealtimeCallStart::Known(outcome))
                    }
                    None => (CallTableState::Held, RealtimeCallStart::Wait),
                }
            }
        };
        if matches!(state, CallTableState::Over) {
            self.close(id);
        }
        self.calls
            .insert(id.to_owned(), CallTableEntry { work, effect, state, followers: Vec::new() });
        start
    }

    /// Confirms the turn. Returns whether the call runs now.
    pub(super) fn confirm(&mut self, id: &str) -> RealtimeCallStart {
        match self.calls.get_mut(id) {
            Some(entry) if matches!(entry.state, CallTableState::Held) => {
                entry.state = CallTableState::Running;
                RealtimeCallStart::Run
            }
            _ => RealtimeCallStart::Wait,
        }
    }

    pub(super) fn cancel(&mut self, id: &str) -> RealtimeCallStop {
        let Some(entry) = self.calls.get_mut(id) else { return RealtimeCallStop::Nothing };
        match (&entry.state, entry.effect) {
            (CallTableState::Held | CallTableState::Following, _) => {
                entry.state = CallTableState::Over;
                self.close(id);
                for entry in self.calls.values_mut() {
                    entry.followers.retain(|follower| follower != id);
                }
                RealtimeCallStop::Dropped
            }
            (CallTableState::Running, ToolEffect::ReadOnly) => {
                entry.state = CallTableState::Over;
                self.close(id);
                RealtimeCallStop::Abort
            }
            (CallTableState::Running, ToolEffect::Mutating | ToolEffect::Destructive) => {
                entry.state = CallTableState::Orphaned;
                RealtimeCallStop::Unstoppable
            }
            (CallTableState::Orphaned | CallTableState::Over | CallTableState::Left { .. }, _) => {
                RealtimeCallStop::Nothing
            }
        }
    }

    /// The ids that this outcome answers: the call's own and those of its followers. An `outcome`
    /// of `None` is not kept for later equal calls.
    pub(super) fn finish(&mut self, id: &str, outcome: Option<&str>, now: Instant) -> Vec<String> {
        let Some(entry) = self.calls.get_mut(id) else { return Vec::new() };
        entry.state = match entry.state {
            CallTableState::Running => CallTableState::Over,
            CallTableState::Orphaned => match outcome {
                Some(outcome) => CallTableState::Left { outcome: outcome.to_owned(), at: now },
                None => CallTableState::Over,
            },
            CallTableState::Held
            | CallTableState::Following
            | CallTableState::Over
            | CallTableState::Left { .. } => return Vec::new(),
        };
        let mut answered = vec![id.to_owned()];
        answered.append(&mut entry.followers);
        for follower in &answered[1..] {
            if let Some(entry) = self.calls.get_mut(follower) {
                entry.state = CallTableState::Over;
            }
        }
        for id in &answered {
            self.close(id);
        }
        answered
    }

    fn take_repeated(&mut self, work: &CallFingerprint, now: Instant) -> Option<RepeatedCall> {
        let same = |(_, entry): &(&String, &mut CallTableEntry)| {
            entry.work == *work
                && matches!(entry.state, CallTableState::Orphaned | CallTableState::Left { .. })
        };
        let (id, entry) = self.calls.iter_mut().find(same)?;
        match std::mem::replace(&mut entry.state, CallTableState::Over) {
            CallTableState::Left { outcome, at } => {
                let is_fresh = now.saturating_duration_since(at) < REPEAT_WINDOW;
                is_fresh.then_some(RepeatedCall::Over(outcome))
            }
            orphaned => {
                entry.state = orphaned;
                Some(RepeatedCall::Running(id.clone()))
            }
        }
    }

    fn close(&mut self, id: &str) {
        self.over.push_back(id.to_owned());
        if self.over.len() > MAX_FINISHED_CALLS
            && let Some(oldest) = self.over.pop_front()
        {
            self.calls.remove(&oldest);
        }
    }
}

enum RepeatedCall {
    Running(String),
    Over(String),
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use tollgate_core::tool::ToolEffect::{Destructive, ReadOnly};
    use tollgate_engine::clock::{Clock, SystemClock};

    use super::{CallTable, REPEAT_WINDOW, RealtimeCallStart, RealtimeCallStop};

    fn propose(ledger: &mut CallTable, id: &str, work: &str, now: Instant) -> RealtimeCallStart {
        ledger.propose(id, work.to_owned(), Destructive, now)
    }

    fn open(ledger: &CallTable) -> usize {
        let is_open = |entry: &&super::CallTableEntry| {
            !matches!(entry.state, super::CallTableState::Over | super::CallTableState::Left { .. })
        };
        ledger.calls.values().filter(is_open).count()
    }

    #[test]
    fn reads_run_at_once_and_writes_when_the_turn_stands() {
        let mut ledger = CallTable::default();
        let now = SystemClock.now();
        assert_eq!(ledger.propose("r", "look{}".to_owned(), ReadOnly, now), RealtimeCallStart::Run);
        assert_eq!(propose(&mut ledger, "w", "send{}", now), RealtimeCallStart::Wait);
        assert_eq!(ledger.confirm("r"), RealtimeCallStart::Wait);
        assert_eq!(ledger.confirm("w"), RealtimeCallStart::Run);
        assert_eq!(ledger.confirm("w"), RealtimeCallStart::Wait);
        assert_eq!(open(&ledger), 2);
        assert_eq!(ledger.finish("w", Some("done"), now), ["w"]);
        assert_eq!(ledger.finish("w", Some("done"), now), [""; 0]);
        assert_eq!(open(&ledger), 1);
    }

    #[test]
    fn an_id_that_comes_twice_runs_once() {
        let mut ledger = CallTable::default();
        let now = SystemClock.now();
        propose(&mut ledger, "w", "send{}", now);
        assert_eq!(propose(&mut ledger, "w", "send{}", now), RealtimeCallStart::Twice);
        ledger.confirm("w");
        ledger.finish("w", Some("done"), now);
        assert_eq!(propose(&mut ledger, "w", "send{}", now), RealtimeCallStart::Twice);
    }

    #[test]
    fn the_same_write_asked_for_twice_on_purpose_is_done_twice() {
        let mut ledger = CallTable::default();
        let now = SystemClock.now();
        for id in ["a", "b"] {
            assert_eq!(propose(&mut ledger, id, "roll{}", now), RealtimeCallStart::Wait);
            assert_eq!(ledger.confirm(id), RealtimeCallStart::Run);
        }
    }

    #[test]
    fn a_held_write_is_dropped_with_its_turn() {
        let mut ledger = CallTable::default();
        let now = SystemClock.now();
        propose(&mut ledger, "w", "send{}", now);
        assert_eq!(ledger.cancel("w"), RealtimeCallStop::Dropped);
        assert_eq!(ledger.confirm("w"), RealtimeCallStart::Wait);
        assert_eq!(ledger.cancel("w"), RealtimeCallStop::Nothing);
        assert_eq!(open(&ledger), 0);
    }

    #[test]
    fn a_read_is_stopped_and_a_write_that_began_is_not() {
        let mut ledger = CallTable::default();
        let now = SystemClock.now();
        ledger.propose("r", "look{}".to_owned(), ReadOnly, now);
        assert_eq!(ledger.cancel("r"), RealtimeCallStop::Abort);
        assert_eq!(ledger.finish("r", Some("late"), now), [""; 0]);
        propose(&mut ledger, "w", "send{}", now);
        ledger.confirm("w");
        assert_eq!(ledger.cancel("w"), RealtimeCallStop::Unstoppable);
        assert_eq!(ledger.finish("w", Some("sent"), now), ["w"]);
    }

    #[test]
    fn a_write_whose_end_nobody_heard_is_not_done_again_when_it_is_asked_for_again() {
        let mut ledger = CallTable::default();
        let now = SystemClock.now();
        propose(&mut ledger, "a", "send{}", now);
        ledger.confirm("a");
        ledger.cancel("a");
        assert_eq!(propose(&mut ledger, "b", "send{}", now), RealtimeCallStart::Wait);
        assert_eq!(ledger.confirm("b"), RealtimeCallStart::Wait);
        assert_eq!(ledger.finish("a", Some("sent"), now), ["a", "b"]);
        assert_eq!(
            propose(&mut ledger, "c", "send{}", now),
            RealtimeCallStart::Known("sent".to_owned())
        );
        assert_eq!(propose(&mut ledger, "d", "send{}", now), RealtimeCallStart::Wait);
        assert_eq!(ledger.confirm("d"), RealtimeCallStart::Run);
    }

    #[test]
    fn what_was_done_long_ago_is_done_again() {
        let mut ledger = CallTable::default();
        let now = SystemClock.now();
        propose(&mut ledger, "a", "send{}", now);
        ledger.confirm("a");
        ledger.cancel("a");
        ledger.finish("a", Some("sent"), now);
        let later = now + REPEAT_WINDOW + Duration::from_secs(1);
        assert_eq!(propose(&mut ledger, "b", "send{}", later), RealtimeCallStart::Wait);
        assert_eq!(ledger.confirm("b"), RealtimeCallStart::Run);
    }
}
