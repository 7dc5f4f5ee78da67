//! Schedule of background probes of one tool, with a cooldown after failures. Pure; time is an
//! argument.

use std::time::{Duration, Instant};

use tollgate_core::probe::ProbeOrigin;

/// A server must have been idle for this long.
pub(super) const QUIET: Duration = Duration::from_secs(3);
/// A tool that could improve its tier waits at most this long for a busy server.
pub(super) const MAX_BUSY_WAIT: Duration = Duration::from_secs(30);
/// The pause before the first attempt to revive a tool; doubles with every failure.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(5);
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// The same for a tool that may only reject generated arguments.
const MAX_BLIND_PAUSE: Duration = Duration::from_secs(300);

/// Probe schedule of one tool.
pub(super) struct ProbeSchedule {
    /// Where its probe arguments come from.
    origin: ProbeOrigin,
    filling: FillState,
    /// When it was last probed, or first seen.
    probed: Instant,
    revival: Option<RevivalBackoff>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FillState {
    /// Its server has not been up yet.
    Pending,
    /// Since its server came up.
    Due(Instant),
    Done,
}

#[derive(Clone, Copy)]
struct RevivalBackoff {
    due: Instant,
    pause: Duration,
}

/// What is known of a tool at this time.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProbeFacts {
    pub(super) now: Instant,
    /// Since when its server has been idle; `None` while it is busy.
    pub(super) idle_since: Option<Instant>,
    /// Samples still needed before they count.
    pub(super) missing: usize,
    pub(super) standing: TierCondition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TierCondition {
    Fine,
    /// Its tier could be better, or it is unhealthy.
    CouldBeBetter,
}

/// What to do with a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbeTask {
    /// Probe it until it is measured.
    Fill { probes: usize },
    /// Check whether it has recovered; if so, continue until that counts.
    Revive,
    /// One probe, to keep its measurement fresh.
    Refresh,
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbeTaskEnd {
    Well,
    Badly,
    /// A caller needed the server.
    Interrupted,
}

impl ProbeSchedule {
    pub(super) fn new(origin: ProbeOrigin, now: Instant) -> Self {
        Self { origin, filling: FillState::Pending, probed: now, revival: None }
    }

    /// The due task, if any, given that its server is up. `every` is the probe interval of an idle
    /// tool; zero means never.
    pub(super) fn due(&mut self, facts: &ProbeFacts, every: Duration) -> Option<ProbeTask> {
        let since = |then: Instant| facts.now.saturating_duration_since(then);
        if facts.missing == 0 {
            self.filling = FillState::Done;
        }
        if self.filling == FillState::Pending {
            self.filling = FillState::Due(facts.now);
        }
        if let FillState::Due(due) = self.filling {
            // The call that woke the server goes first.
            let may = facts.idle_since.is_some() || since(due) >= MAX_BUSY_WAIT;
            return may.then_some(ProbeTask::Fill { probes: facts.missing });
        }
        let is_quiet = facts.idle_since.is_some_and(|idle| since(idle) >= QUIET);
        match facts.standing {
            TierCondition::Fine => self.revival = None,
            TierCondition::CouldBeBetter => {
                let first = RevivalBackoff { due: facts.now + FIRST_PAUSE, pause: FIRST_PAUSE };
                let due = self.revival.get_or_insert(first).due;
                if due <= facts.now && (is_quiet || since(due) >= MAX_BUSY_WAIT) {
                    return Some(ProbeTask::Revive);
                }
            }
        }
        let is_old = !every.is_zero() && since(self.probed) >= every;
        (is_old && is_quiet).then_some(ProbeTask::Refresh)
    }

    pub(super) fn record_end(&mut self, task: ProbeTask, ended: ProbeTaskEnd, now: Instant) {
        if ended == ProbeTaskEnd::Interrupted {
            return;
        }
        self.probed = now;
        match task {
            ProbeTask::Fill { .. } => self.filling = FillState::Done,
            ProbeTask::Refresh => {}
            ProbeTask::Revive => {
                let before = self.revival.map_or(FIRST_PAUSE, |revival| revival.pause);
                let pause = match ended {
                    ProbeTaskEnd::Badly => before.saturating_mul(2).min(self.longest_pause()),
                    ProbeTaskEnd::Well | ProbeTaskEnd::Interrupted => FIRST_PAUSE,
                };
                self.revival = Some(RevivalBackoff { due: now + pause, pause });
            }
        }
    }

    fn longest_pause(&self) -> Duration {
        match self.origin {
            ProbeOrigin::Operator => MAX_PAUSE,
            ProbeOrigin::MadeUp => MAX_BLIND_PAUSE,
        }
    }
}

#[cfg(test)]
mod tests;
