//! When a tool is probed without anybody asking for it. Decides only; time is an argument.

use std::time::{Duration, Instant};

use tollgate_core::probe::Origin;

/// For so long nobody must have called a server.
pub(super) const QUIET: Duration = Duration::from_secs(3);
/// A tool that could stand better is not kept waiting by a busy server for longer than this.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// The pause before the first attempt to bring a tool back; it doubles with every failure.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The same for a tool that may just not like what was made up for it.
const LONGEST_BLIND_PAUSE: Duration = Duration::from_secs(300);

/// The times of one tool that may be probed.
pub(super) struct Times {
    /// Whose arguments it is probed with.
    origin: Origin,
    filling: Filling,
    /// When it was last probed, or first seen.
    probed: Instant,
    revival: Option<Revival>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Filling {
    /// Its server was not up yet.
    Wanted,
    /// Since its server is up.
    Due(Instant),
    Done,
}

#[derive(Clone, Copy)]
struct Revival {
    due: Instant,
    pause: Duration,
}

/// What is known of a tool at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    pub(super) now: Instant,
    /// Since when its server has nothing to do; `None` while it has.
    pub(super) idle_since: Option<Instant>,
    /// Samples that are missing before they count.
    pub(super) missing: usize,
    pub(super) standing: Standing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Fine,
    /// It stands higher than it could, or is not healthy.
    CouldBeBetter,
}

/// What is to be done with a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Errand {
    /// Probe it until it is measured.
    Fill { probes: usize },
    /// See whether it is well again; if so, go on until that counts.
    Revive,
    /// Once, so that what is known of it does not grow old.
    Refresh,
}

/// How an errand ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Well,
    Badly,
    /// Somebody wanted the server.
    Interrupted,
}

impl Times {
    pub(super) fn new(origin: Origin, now: Instant) -> Self {
        Self { origin, filling: Filling::Wanted, probed: now, revival: None }
    }

    /// What is due now that its server is up, if anything. `every` is how often an idle tool is probed; zero is never.
    pub(super) fn due(&mut self, facts: &Facts, every: Duration) -> Option<Errand> {
        let since = |then: Instant| facts.now.saturating_duration_since(then);
        if facts.missing == 0 {
            self.filling = Filling::Done;
        }
        if self.filling == Filling::Wanted {
            self.filling = Filling::Due(facts.now);
        }
        if let Filling::Due(due) = self.filling {
            // Whoever woke the server comes first.
            let may = facts.idle_since.is_some() || since(due) >= PATIENCE;
            return may.then_some(Errand::Fill { probes: facts.missing });
        }
        let is_quiet = facts.idle_since.is_some_and(|idle| since(idle) >= QUIET);
        match facts.standing {
            Standing::Fine => self.revival = None,
            Standing::CouldBeBetter => {
                let first = Revival { due: facts.now + FIRST_PAUSE, pause: FIRST_PAUSE };
                let due = self.revival.get_or_insert(first).due;
                if due <= facts.now && (is_quiet || since(due) >= PATIENCE) {
                    return Some(Errand::Revive);
                }
            }
        }
        let is_old = !every.is_zero() && since(self.probed) >= every;
        (is_old && is_quiet).then_some(Errand::Refresh)
    }

    pub(super) fn done(&mut self, errand: Errand, ended: Ended, now: Instant) {
        if ended == Ended::Interrupted {
            return;
        }
        self.probed = now;
        match errand {
            Errand::Fill { .. } => self.filling = Filling::Done,
            Errand::Refresh => {}
            Errand::Revive => {
                let before = self.revival.map_or(FIRST_PAUSE, |revival| revival.pause);
                let pause = match ended {
                    Ended::Badly => before.saturating_mul(2).min(self.longest_pause()),
                    Ended::Well | Ended::Interrupted => FIRST_PAUSE,
                };
                self.revival = Some(Revival { due: now + pause, pause });
            }
        }
    }

    fn longest_pause(&self) -> Duration {
        match self.origin {
            Origin::Operator => LONGEST_PAUSE,
            Origin::MadeUp => LONGEST_BLIND_PAUSE,
        }
    }
}

#[cfg(test)]
mod tests;
