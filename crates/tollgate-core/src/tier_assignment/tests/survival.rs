use super::*;

impl Stage {
    /// The process ends and another one starts, later.
    fn restart(self) -> Self {
        let saved = self.standing.to_saved();
        let samples = self.window.latest(0);
        self.restart_from(&saved, &samples)
    }

    fn restart_from(self, saved: &SavedTierAssignment, samples: &[Sample]) -> Self {
        let window = LatencyWindow::restore(samples);
        let now = self.now + Duration::from_secs(5);
        let declared = self.declared;
        let rules = self.rules;
        let facts = TierFacts { window: &window, declared, rules: &rules, now };
        let standing = TierAssignment::restore(saved, &facts);
        Self { window, now, standing, ..self }
    }
}

#[track_caller]
fn check_after_restart(declared: &str, before: &str, after: &str, expected: &str) {
    let stage = Stage::new(declared).play(before).restart();
    assert_eq!(stage.play(after).describe(), expected, "{before} | {after}");
}

#[test]
fn a_restart_changes_nothing() {
    for script in [
        "",
        "200*3",
        "200*5",
        "900*37",
        "900*100 +30s 480*100",
        "900*100 +30s 200*10",
        "900*300 +30s 200*10 3000",
        "200*60 +30s x*40 +30s 480*40",
        "200*5 +30s x*100",
        "100*20 +30s o1501*20",
    ] {
        for declared in ["", "200/1400", "3000"] {
            let before = Stage::new(declared).play(script).play("+30s");
            let text = before.describe();
            let saved = before.standing.to_saved();
            let after = before.restart();
            assert_eq!(after.describe(), text, "{declared} {script}");
            assert_eq!(after.standing.to_saved(), saved, "{declared} {script}");
        }
    }
}

#[test]
fn the_border_holds_over_a_restart() {
    let border = "standard: measured p50 480 ms over 100 calls, fast only at 450 ms or less";
    check_after_restart("200", "900*100 +30s 480*100", "", border);
}

#[test]
fn what_no_longer_counts_does_not_count_after_a_restart() {
    let fast = "fast: measured p50 200 ms over 10 calls";
    check_after_restart("", "900*100 +30s 200*10", "", fast);
}

#[test]
fn home_and_pauses_outlast_a_restart() {
    let slow = "200*5 +30s 900*100";
    check_after_restart("", slow, "+10m", "fast: on trial after 10 min without a call");
    let failed = format!("{slow} +10m +30s 900");
    check_after_restart("", &failed, "+19m", "standard: measured p50 900 ms over 100 calls");
    check_after_restart("", &failed, "+20m", "fast: on trial after 20 min without a call");
}

#[test]
fn a_trial_ends_with_the_process() {
    let tried = "200*5 +30s 900*100 +10m";
    check_after_restart("", tried, "", "standard: measured p50 900 ms over 100 calls");
}

#[test]
fn the_first_assignment_after_a_restart_is_no_change() {
    let waits = "200*5 +1s 900*6";
    check_after_restart("", waits, "", "standard: measured p50 900 ms over 11 calls");
    let stage = Stage::new("").play(waits).restart().play("200*10");
    assert_eq!(stage.tier(), Tier::Fast);
}

#[test]
fn samples_without_a_standing_are_judged_afresh() {
    let samples = [sample_of("480"); 20];
    let stage = Stage::new("3000").restart_from(&SavedTierAssignment::default(), &samples);
    assert_eq!(stage.describe(), "fast: measured p50 480 ms over 20 calls");
}

#[test]
fn a_standing_without_its_samples_is_believed_until_it_is_measured() {
    let saved =
        SavedTierAssignment { measured: Some(Tier::Deep), ..SavedTierAssignment::default() };
    let stage = Stage::new("200").restart_from(&saved, &[]);
    assert_eq!(stage.describe(), "deep: measured earlier, too few responses since");
    assert_eq!(stage.play("200*5").describe(), "fast: measured p50 200 ms over 5 calls");
}

#[test]
fn absurd_savings_are_put_right() {
    for number in [0, 1, u32::MAX] {
        for health in ToolHealth::ALL {
            let saved = SavedTierAssignment {
                measured: Some(Tier::Fast),
                home: Some(Tier::Deep),
                health,
                epoch: number,
                run: number,
                failed_trials: number,
            };
            let samples = [sample_of("900"); 50];
            let stage = Stage::new("").restart_from(&saved, &samples).play("900*10 +60m +60m");
            let stage = stage.play("200*100 +30s");
            assert_eq!(stage.tier(), Tier::Fast, "{saved:?}");
        }
    }
}

#[test]
fn words_for_health_are_read_back() {
    for health in ToolHealth::ALL {
        assert_eq!(ToolHealth::parse(health.as_str()), Some(health));
    }
    assert_eq!(ToolHealth::parse("dead"), None);
}
