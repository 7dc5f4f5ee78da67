//! The calls of one live session: which run, which are held, which are over. Pure.
//!
//! Each call is started at most once and answered exactly once. What changes the world waits for the
//! turn to be confirmed, is not stopped half-way by whoever breaks in, and is not done again when the provider asks for
//! it again because it never heard of the end.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tollgate_core::tool::Effect;

/// How long what a stopped turn has done is remembered, for the call that repeats it.
const REPEATED: Duration = Duration::from_secs(60);
/// Calls remembered, so that an id that comes twice is known.
const MOST_OVER: usize = 1_024;

/// What a call does: the tool and its arguments, in one spelling.
pub(super) type Work = String;

#[derive(Debug, Default)]
pub(super) struct Ledger {
    calls: HashMap<String, Entry>,
    /// Ids of those that are over, the oldest first.
    over: std::collections::VecDeque<String>,
}

#[derive(Debug)]
struct Entry {
    work: Work,
    effect: Effect,
    state: State,
    /// Calls for the same that wait for this one's end.
    followers: Vec<String>,
}

#[derive(Debug)]
enum State {
    /// Until the turn is confirmed.
    Held,
    Running,
    /// Nobody waits any more, but it cannot be stopped.
    Orphaned,
    /// Waits for the end of another.
    Following,
    Over,
    /// What an orphan came to, for whoever asks again.
    Left {
        outcome: String,
        at: Instant,
    },
}

/// What to do with a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Start {
    Run,
    /// Nothing yet.
    Wait,
    /// It was done already: this is what came of it.
    Known(String),
    /// The id came twice.
    Twice,
}

/// What to do when nobody waits for a call any more.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It never ran: answer it as cancelled.
    Dropped,
    /// Abort it, and answer it as cancelled.
    Abort,
    /// It goes on; its end will be its answer.
    Unstoppable,
    /// It is not there, or over.
    Nothing,
}

impl Ledger {
    pub(super) fn propose(
        &mut self,
        id: &str,
        (work, effect): (Work, Effect),
        now: Instant,
    ) -> Start {
        if self.calls.contains_key(id) {
            return Start::Twice;
        }
        let (state, start) = match effect {
            Effect::ReadOnly => (State::Running, Start::Run),
            Effect::Mutating | Effect::Destructive => match self.repeated(&work, now) {
                Some(Repeated::Running(first)) => {
                    if let Some(first) = self.calls.get_mut(&first) {
                        first.followers.push(id.to_owned());
                    }
                    (State::Following, Start::Wait)
                }
                Some(Repeated::Over(outcome)) => (State::Over, Start::Known(outcome)),
                None => (State::Held, Start::Wait),
            },
        };
        if matches!(state, State::Over) {
            self.close(id);
        }
        self.calls.insert(id.to_owned(), Entry { work, effect, state, followers: Vec::new() });
        start
    }

    /// The turn stands. Says whether the call is to run now.
    pub(super) fn confirm(&mut self, id: &str) -> Start {
        match self.calls.get_mut(id) {
            Some(entry) if matches!(entry.state, State::Held) => {
                entry.state = State::Running;
                Start::Run
            }
            _ => Start::Wait,
        }
    }

    pub(super) fn cancel(&mut self, id: &str) -> Stop {
        let Some(entry) = self.calls.get_mut(id) else { return Stop::Nothing };
        match (&entry.state, entry.effect) {
            (State::Held | State::Following, _) => {
                entry.state = State::Over;
                self.close(id);
                for entry in self.calls.values_mut() {
                    entry.followers.retain(|follower| follower != id);
                }
                Stop::Dropped
            }
            (State::Running, Effect::ReadOnly) => {
                entry.state = State::Over;
                self.close(id);
                Stop::Abort
            }
            (State::Running, Effect::Mutating | Effect::Destructive) => {
                entry.state = State::Orphaned;
                Stop::Unstoppable
            }
            (State::Orphaned | State::Over | State::Left { .. }, _) => Stop::Nothing,
        }
    }

    /// The ids that this outcome answers: the call's own and those of its followers. `None`: it is not
    /// worth keeping for whoever asks again.
    pub(super) fn finished(
        &mut self,
        id: &str,
        outcome: Option<&str>,
        now: Instant,
    ) -> Vec<String> {
        let Some(entry) = self.calls.get_mut(id) else { return Vec::new() };
        entry.state = match entry.state {
            State::Running => State::Over,
            State::Orphaned => match outcome {
                Some(outcome) => State::Left { outcome: outcome.to_owned(), at: now },
                None => State::Over,
            },
            State::Held | State::Following | State::Over | State::Left { .. } => return Vec::new(),
        };
        let mut answered = vec![id.to_owned()];
        answered.append(&mut entry.followers);
        for follower in &answered[1..] {
            if let Some(entry) = self.calls.get_mut(follower) {
                entry.state = State::Over;
            }
        }
        for id in &answered {
            self.close(id);
        }
        answered
    }

    fn repeated(&mut self, work: &Work, now: Instant) -> Option<Repeated> {
        let same = |(_, entry): &(&String, &mut Entry)| {
            entry.work == *work && matches!(entry.state, State::Orphaned | State::Left { .. })
        };
        let (id, entry) = self.calls.iter_mut().find(same)?;
        match std::mem::replace(&mut entry.state, State::Over) {
            State::Left { outcome, at } => {
                let is_fresh = now.saturating_duration_since(at) < REPEATED;
                is_fresh.then_some(Repeated::Over(outcome))
            }
            orphaned => {
                entry.state = orphaned;
                Some(Repeated::Running(id.clone()))
            }
        }
    }

    fn close(&mut self, id: &str) {
        self.over.push_back(id.to_owned());
        if self.over.len() > MOST_OVER
            && let Some(oldest) = self.over.pop_front()
        {
            self.calls.remove(&oldest);
        }
    }
}

enum Repeated {
    Running(String),
    Over(String),
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use tollgate_core::tool::Effect::{Destructive, ReadOnly};
    use tollgate_engine::clock::{Clock, SystemClock};

    use super::{Ledger, REPEATED, Start, Stop};

    fn propose(ledger: &mut Ledger, id: &str, work: &str, now: Instant) -> Start {
        ledger.propose(id, (work.to_owned(), Destructive), now)
    }

    fn open(ledger: &Ledger) -> usize {
        let is_open = |entry: &&super::Entry| {
            !matches!(entry.state, super::State::Over | super::State::Left { .. })
        };
        ledger.calls.values().filter(is_open).count()
    }

    #[test]
    fn reads_run_at_once_and_writes_when_the_turn_stands() {
        let (mut ledger, now) = (Ledger::default(), SystemClock.now());
        assert_eq!(ledger.propose("r", ("look{}".to_owned(), ReadOnly), now), Start::Run);
        assert_eq!(propose(&mut ledger, "w", "send{}", now), Start::Wait);
        assert_eq!(ledger.confirm("r"), Start::Wait);
        assert_eq!(ledger.confirm("w"), Start::Run);
        assert_eq!(ledger.confirm("w"), Start::Wait);
        assert_eq!(open(&ledger), 2);
        assert_eq!(ledger.finished("w", Some("done"), now), ["w"]);
        assert_eq!(ledger.finished("w", Some("done"), now), [""; 0]);
        assert_eq!(open(&ledger), 1);
    }

    #[test]
    fn an_id_that_comes_twice_runs_once() {
        let (mut ledger, now) = (Ledger::default(), SystemClock.now());
        propose(&mut ledger, "w", "send{}", now);
        assert_eq!(propose(&mut ledger, "w", "send{}", now), Start::Twice);
        ledger.confirm("w");
        ledger.finished("w", Some("done"), now);
        assert_eq!(propose(&mut ledger, "w", "send{}", now), Start::Twice);
    }

    #[test]
    fn the_same_write_asked_for_twice_on_purpose_is_done_twice() {
        let (mut ledger, now) = (Ledger::default(), SystemClock.now());
        for id in ["a", "b"] {
            assert_eq!(propose(&mut ledger, id, "roll{}", now), Start::Wait);
            assert_eq!(ledger.confirm(id), Start::Run);
        }
    }

    #[test]
    fn a_held_write_is_dropped_with_its_turn() {
        let (mut ledger, now) = (Ledger::default(), SystemClock.now());
        propose(&mut ledger, "w", "send{}", now);
        assert_eq!(ledger.cancel("w"), Stop::Dropped);
        assert_eq!(ledger.confirm("w"), Start::Wait);
        assert_eq!(ledger.cancel("w"), Stop::Nothing);
        assert_eq!(open(&ledger), 0);
    }

    #[test]
    fn a_read_is_stopped_and_a_write_that_began_is_not() {
        let (mut ledger, now) = (Ledger::default(), SystemClock.now());
        ledger.propose("r", ("look{}".to_owned(), ReadOnly), now);
        assert_eq!(ledger.cancel("r"), Stop::Abort);
        assert_eq!(ledger.finished("r", Some("late"), now), [""; 0]);
        propose(&mut ledger, "w", "send{}", now);
        ledger.confirm("w");
        assert_eq!(ledger.cancel("w"), Stop::Unstoppable);
        assert_eq!(ledger.finished("w", Some("sent"), now), ["w"]);
    }

    #[test]
    fn a_write_whose_end_nobody_heard_is_not_done_again_when_it_is_asked_for_again() {
        let (mut ledger, now) = (Ledger::default(), SystemClock.now());
        propose(&mut ledger, "a", "send{}", now);
        ledger.confirm("a");
        ledger.cancel("a");
        assert_eq!(propose(&mut ledger, "b", "send{}", now), Start::Wait);
        assert_eq!(ledger.confirm("b"), Start::Wait);
        assert_eq!(ledger.finished("a", Some("sent"), now), ["a", "b"]);
        assert_eq!(propose(&mut ledger, "c", "send{}", now), Start::Known("sent".to_owned()));
        assert_eq!(propose(&mut ledger, "d", "send{}", now), Start::Wait);
        assert_eq!(ledger.confirm("d"), Start::Run);
    }

    #[test]
    fn what_was_done_long_ago_is_done_again() {
        let (mut ledger, now) = (Ledger::default(), SystemClock.now());
        propose(&mut ledger, "a", "send{}", now);
        ledger.confirm("a");
        ledger.cancel("a");
        ledger.finished("a", Some("sent"), now);
        let later = now + REPEATED + Duration::from_secs(1);
        assert_eq!(propose(&mut ledger, "b", "send{}", later), Start::Wait);
        assert_eq!(ledger.confirm("b"), Start::Run);
    }
}
