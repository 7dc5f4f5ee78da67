use std::time::{Duration, Instant};

use tollgate_core::probe::ProbeOrigin;

use super::{ProbeFacts, ProbeSchedule, ProbeTaskEnd, TierCondition};

/// A tool of a server that nobody calls, second by second.
struct Stage {
    times: ProbeSchedule,
    began: Instant,
    facts: ProbeFacts,
    every: Duration,
}

fn stage(origin: ProbeOrigin) -> Stage {
    #[expect(clippy::disallowed_methods, reason = "any instant will do to count from")]
    let began = Instant::now();
    let facts = ProbeFacts {
        now: began,
        idle_since: Some(began),
        missing: 0,
        standing: TierCondition::Fine,
    };
    Stage {
        times: ProbeSchedule::new(origin, began),
        began,
        facts,
        every: Duration::from_secs(300),
    }
}

impl Stage {
    /// Goes on to the second `until`, and says what was done and when: `5 Revive`.
    fn go(&mut self, until: u64, ended: ProbeTaskEnd) -> String {
        let mut lines = Vec::new();
        let now = |stage: &Self| stage.facts.now.duration_since(stage.began).as_secs();
        while now(self) <= until {
            if let Some(task) = self.times.due(&self.facts, self.every) {
                lines.push(format!("{} {task:?}", now(self)));
                self.times.record_end(task, ended, self.facts.now);
            }
            self.facts.now += Duration::from_secs(1);
        }
        lines.join(", ")
    }
}

#[test]
fn a_tool_that_is_not_measured_is_so_at_once_and_then_not_again() {
    let mut stage = stage(ProbeOrigin::MadeUp);
    stage.facts.missing = 3;
    assert_eq!(stage.go(200, ProbeTaskEnd::Badly), "0 Fill { probes: 3 }");
}

#[test]
fn whoever_calls_a_server_that_has_just_come_up_comes_first() {
    let mut stage = stage(ProbeOrigin::MadeUp);
    stage.facts.missing = 3;
    stage.facts.idle_since = None;
    assert_eq!(stage.go(29, ProbeTaskEnd::Well), "");
    assert_eq!(stage.go(100, ProbeTaskEnd::Well), "30 Fill { probes: 3 }");
}

#[test]
fn what_is_measured_already_is_left_until_it_is_old() {
    let mut stage = stage(ProbeOrigin::MadeUp);
    assert_eq!(stage.go(900, ProbeTaskEnd::Well), "300 Refresh, 600 Refresh, 900 Refresh");
    stage.every = Duration::ZERO;
    assert_eq!(stage.go(5_000, ProbeTaskEnd::Well), "");
}

#[test]
fn a_tool_that_could_stand_better_is_tried_soon_and_then_ever_less() {
    let mut stage = stage(ProbeOrigin::Operator);
    stage.facts.standing = TierCondition::CouldBeBetter;
    let text = stage.go(300, ProbeTaskEnd::Badly);
    assert_eq!(
        text,
        "5 Revive, 15 Revive, 35 Revive, 75 Revive, 135 Revive, 195 Revive, 255 Revive"
    );
    // Well again, but not yet so that it counts.
    let text = stage.go(328, ProbeTaskEnd::Well);
    assert_eq!(text, "315 Revive, 320 Revive, 325 Revive");
    stage.facts.standing = TierCondition::Fine;
    assert_eq!(stage.go(600, ProbeTaskEnd::Well), "");
}

#[test]
fn one_that_may_not_like_what_was_made_up_is_tried_more_seldom() {
    let mut stage = stage(ProbeOrigin::MadeUp);
    stage.facts.standing = TierCondition::CouldBeBetter;
    let text = stage.go(1_000, ProbeTaskEnd::Badly);
    assert_eq!(
        text,
        "5 Revive, 15 Revive, 35 Revive, 75 Revive, 155 Revive, 315 Revive, 615 Revive, 915 Revive"
    );
}

#[test]
fn a_server_that_is_called_is_not_probed_for_freshness() {
    let mut stage = stage(ProbeOrigin::MadeUp);
    stage.facts.idle_since = None;
    assert_eq!(stage.go(1_000, ProbeTaskEnd::Well), "");
    stage.facts.idle_since = Some(stage.facts.now);
    assert_eq!(stage.go(1_010, ProbeTaskEnd::Well), "1004 Refresh");
}

#[test]
fn a_busy_server_keeps_a_tool_waiting_but_not_for_ever() {
    let mut stage = stage(ProbeOrigin::Operator);
    stage.facts.standing = TierCondition::CouldBeBetter;
    stage.facts.idle_since = None;
    assert_eq!(stage.go(100, ProbeTaskEnd::Badly), "35 Revive, 75 Revive");
}

#[test]
fn an_errand_that_was_interrupted_is_still_due() {
    let mut stage = stage(ProbeOrigin::MadeUp);
    assert_eq!(stage.go(301, ProbeTaskEnd::Interrupted), "300 Refresh, 301 Refresh");
    assert_eq!(stage.go(305, ProbeTaskEnd::Well), "302 Refresh");
}
