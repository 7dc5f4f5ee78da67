//! Time budget of the tools in one turn: one deadline (wall) for all of them, over any number of
//! rounds. Concurrent calls cost their maximum, consecutive calls their sum. Pure.

use std::time::{Duration, Instant};

use tollgate_core::budget::Deadline;

#[derive(Debug, Default)]
pub(super) struct TurnTimeBudget {
    /// Time spent in finished phases.
    spent: Duration,
    /// Start of the current phase, and its number of running calls.
    phase: Option<(Instant, usize)>,
}

impl TurnTimeBudget {
    /// Starts a call; returns its deadline, if the turn's tools have `ceiling` in total.
    pub(super) fn open(&mut self, ceiling: Option<Duration>, now: Instant) -> Option<Deadline> {
        let (began, running) = self.phase.unwrap_or((now, 0));
        self.phase = Some((began, running + 1));
        Some(Deadline::after(began, ceiling?.saturating_sub(self.spent)))
    }

    /// Ends a call of this turn.
    pub(super) fn close(&mut self, now: Instant) {
        match &mut self.phase {
            Some((began, 1)) => {
                self.spent += now.saturating_duration_since(*began);
                self.phase = None;
            }
            Some((_, running)) => *running -= 1,
            None => {}
        }
    }

    /// Total time of tools so far.
    pub(super) fn time_spent(&self, now: Instant) -> Duration {
        let running = self.phase.map(|(began, _)| now.saturating_duration_since(began));
        self.spent + running.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tollgate_engine::clock::{Clock, SystemClock};

    use super::TurnTimeBudget;

    const CEILING: Option<Duration> = Some(Duration::from_millis(500));

    fn milliseconds(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn calls_side_by_side_have_one_wall_and_rounds_share_what_is_left() {
        let mut time_budget = TurnTimeBudget::default();
        let start = SystemClock.now();
        let at = |count| start + milliseconds(count);
        let wall = |time_budget: &mut TurnTimeBudget, now| {
            time_budget.open(CEILING, now).unwrap().instant()
        };
        assert_eq!(wall(&mut time_budget, at(0)), at(500));
        assert_eq!(wall(&mut time_budget, at(100)), at(500));
        time_budget.close(at(150));
        time_budget.close(at(200));
        assert_eq!(time_budget.time_spent(at(900)), milliseconds(200));
        assert_eq!(wall(&mut time_budget, at(1_000)), at(1_300));
        time_budget.close(at(1_400));
        assert_eq!(wall(&mut time_budget, at(2_000)), at(2_000));
    }

    #[test]
    fn without_a_ceiling_there_is_no_wall() {
        assert_eq!(TurnTimeBudget::default().open(None, SystemClock.now()), None);
    }
}
