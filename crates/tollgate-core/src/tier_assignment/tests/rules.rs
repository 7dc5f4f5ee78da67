use super::*;

#[test]
fn what_is_not_measured_stands_by_its_word_else_in_the_middle() {
    check("", "", "standard: not measured yet");
    check("200", "", "fast: declared 200 ms");
    check("500", "", "fast: declared 500 ms");
    check("501", "", "standard: declared 501 ms");
    check("200/800", "700*4", "fast: declared 200 ms");
    check("0", "", "fast: declared 0 ms");
    check("99999999", "", "deep: declared 28 h");
    check("18446744073709551615", "", "deep: declared 5124095576031 h");
}

#[test]
fn five_calls_measure() {
    check("", "x*4", "standard: not measured yet");
    check("", "200*2", "standard: not measured yet, 2 of 5 calls");
    check("", "200*4 x", "standard: not measured yet, 4 of 5 calls");
    check("", "200*5", "fast: measured p50 200 ms over 5 calls");
    check("200", "900*5", "standard: measured p50 900 ms over 5 calls");
    check("200", "9000*5", "deep: measured p50 9000 ms over 5 calls");
    check("", "620*37", "standard: measured p50 620 ms over 37 calls");
    check("", "620*250", "standard: measured p50 620 ms over 100 calls");
}

#[test]
fn the_first_measurement_needs_no_margin() {
    check("", "480*5", "fast: measured p50 480 ms over 5 calls");
    check("300", "480*5", "fast: measured p50 480 ms over 5 calls");
}

#[test]
fn the_percentile_is_a_setting() {
    let rules = TierRules { percentile: 95, ..TierRules::default() };
    let stage = Stage::with("", rules).play("200*18 +30s 900*2");
    assert_eq!(stage.describe(), "standard: measured p95 900 ms over 20 calls");
    let absurd = TierRules { percentile: 255, min_samples: 0, ..TierRules::default() };
    let stage = Stage::with("", absurd).play("200 +30s 900");
    assert_eq!(stage.describe(), "standard: measured p100 900 ms over 2 calls");
}

#[test]
fn asking_for_more_samples_than_the_window_has_asks_for_all() {
    let rules = TierRules { min_samples: u32::MAX, ..TierRules::default() };
    let stage = Stage::with("", rules).play("200*99");
    assert_eq!(stage.describe(), "standard: not measured yet, 99 of 100 calls");
    let stage = stage.play("200");
    assert_eq!(stage.describe(), "fast: measured p50 200 ms over 100 calls");
}

#[test]
fn a_tool_at_the_border_comes_down_only_below_it() {
    let border = "standard: measured p50 480 ms over 100 calls, fast only at 450 ms or less";
    check("200", "900*100 +30s 480*100", border);
    check("200", "900*100 +30s 451*100 +30s", &border.replace("480", "451"));
    check("200", "900*100 +30s 450*10", "fast: measured p50 450 ms over 10 calls");
    check("200", "450*100 +30s 500*100", "fast: measured p50 500 ms over 100 calls");
    check("200", "450*100 +30s 501*100", "standard: measured p50 501 ms over 100 calls");
}

#[test]
fn hysteresis_holds_above_fast_too() {
    let border = "deep: measured p50 1400 ms over 100 calls, standard only at 1350 ms or less";
    check("", "3000*100 +30s 1400*100", border);
    check("", "3000*100 +30s 1350*10", "standard: measured p50 1350 ms over 10 calls");
    check("", "3000*100 +30s 200*10", "fast: measured p50 200 ms over 10 calls");
}

#[test]
fn many_good_calls_bring_it_down_without_a_run() {
    // Never ten good ones in a row, but so many that it is no chance.
    let mixed = "200*4 460 ".repeat(20);
    check("200", &format!("900*100 +30s {mixed}"), "fast: measured p50 200 ms over 100 calls");
    let half = "200*3 600*2 ".repeat(20);
    let uneven = "standard: measured p50 200 ms over 100 calls, too uneven for fast";
    check("200", &format!("900*100 +30s {half}"), uneven);
}

#[test]
fn r_31_one_change_in_thirty_seconds() {
    let waits = "fast: measured p50 900 ms over 11 calls, standard when this has lasted 30 s";
    check("", "200*5 900*6", waits);
    check_moves("", "200*5 900*6 +29s", "0s standard>fast");
    check_moves("", "200*5 900*6 +29s +1s", "0s standard>fast, 30s fast>standard");
}

#[test]
fn a_clock_that_stands_still_changes_nothing_twice() {
    check_moves("200", "900*50 200*50 900*200 200*100", "0s fast>standard");
}

#[test]
fn the_way_back_may_be_found_before_the_way_up_was_free() {
    let script = "200*5 900*30 +10s 200*10 +20s";
    check_moves("", script, "0s standard>fast");
    check("", script, "fast: measured p50 200 ms over 10 calls");
}

#[test]
fn errors_move_it_one_up_until_they_are_few() {
    let failing = "standard: measured p50 180 ms over 7 calls, one up: 42 % of the calls failed";
    check("", "180*7 +30s x*5", failing);
    // 3 of 10 are not more than 30 %; 4 of 20 are not less than 20 %.
    check("", "180*7 +30s x*3", "fast: measured p50 180 ms over 7 calls");
    let still = "standard: measured p50 480 ms over 16 calls, one up: 20 % of the calls failed";
    check("", "180*7 +30s x*4 480*9 +30s", still);
    check("", "180*7 +30s x*4 480*10 +30s", "fast: measured p50 480 ms over 17 calls");
}

#[test]
fn one_error_of_one_call_is_no_measure_of_health() {
    check("200", "x*4", "fast: declared 200 ms");
    check("200", "x*5", "standard: declared 200 ms, one up: 100 % of the calls failed");
    check("", "x*5", "deep: not measured yet, one up: 100 % of the calls failed");
}

#[test]
fn quick_errors_do_not_make_a_slow_tool_fast() {
    let deep = "deep: measured p50 3000 ms over 5 calls, but 91 % of the calls failed";
    check("", "3000*5 +30s x*50", deep);
    let forgotten = "deep: measured earlier, too few responses since, but 100 % of the calls \
                     failed";
    check("200", "3000*5 +30s x*100", forgotten);
}

#[test]
fn errors_roll_out_of_the_window() {
    // 480 ms is too near the ceiling for a run: only the window forgives here.
    let ill = Stage::new("").play("480*60 +30s x*40 +30s 480*79 +30s");
    assert_eq!(ill.standing.assigned_tier().health, ToolHealth::Failing);
    let well = ill.play("480*2 +30s");
    assert_eq!(well.standing.assigned_tier().health, ToolHealth::Healthy);
    assert_eq!(well.describe(), "fast: measured p50 480 ms over 81 calls");
}

#[test]
fn overruns_of_its_own_maximum_move_it_one_up() {
    let over =
        "standard: measured p50 100 ms over 23 calls, one up: 3 calls took longer than 300 ms";
    check("100/300", "100*20 o301*3", over);
    check("100/300", "100*20 o301*2", "fast: measured p50 100 ms over 22 calls");
    check("100/300", "100*20 310*3", over);
    check("100", "100*20 o301*3", "fast: measured p50 100 ms over 23 calls");
}

#[test]
fn one_overrun_is_forgiven_and_two_are_not() {
    // Spans over 450 ms are no run, so that the overruns must roll out one by one.
    let ill = Stage::new("100/490").play("480*20 o491 480*20 o491 480*20 o491 +30s 480*60 +30s");
    assert_eq!(ill.standing.assigned_tier().health, ToolHealth::Overrunning);
    let well = ill.play("480*19 +30s");
    assert_eq!(well.standing.assigned_tier().health, ToolHealth::Healthy);
    assert_eq!(well.tier(), Tier::Fast);
}

#[test]
fn r_31_nothing_but_timeouts_is_slow_and_ill() {
    let deep = "deep: measured p50 1501 ms over 100 calls, but 100 % of the calls failed";
    check("", "o1501*100 +30s", deep);
}

#[test]
fn two_kinds_of_calls_are_flagged() {
    let bimodal = |script| Stage::new("").play(script).standing.assigned_tier().bimodal;
    assert!(bimodal("200*18 3000*2"));
    assert!(!bimodal("200*20"));
    assert!(!bimodal("200*19 3000"), "one of twenty is not the 95th percentile");
    assert!(!bimodal("9000*20"), "that fits nowhere, but evenly so");
    assert!(bimodal("3000*10 9000*10"));
    assert!(!bimodal("3000"), "nothing is measured yet");
}

#[test]
fn ten_good_calls_outweigh_a_hundred_bad_ones() {
    check("200", "900*100 +30s 200*9", "standard: measured p50 900 ms over 100 calls");
    check("200", "900*100 +30s 200*10", "fast: measured p50 200 ms over 10 calls");
    check("200", "900*100 +30s 200*9 x 200*9", "standard: measured p50 900 ms over 99 calls");
    check("200", "200*60 +30s x*40 +30s 200*10", "fast: measured p50 200 ms over 10 calls");
}

#[test]
fn a_run_must_keep_the_maximum_too() {
    let ill = Stage::new("100/300").play("100*20 +30s o301*20 +30s 310*20");
    assert_eq!(ill.standing.assigned_tier().health, ToolHealth::Failing);
    assert_eq!(ill.tier(), Tier::Standard);
    assert_eq!(ill.play("290*10").tier(), Tier::Fast);
}

#[test]
fn a_run_measures_even_where_more_samples_are_asked_for() {
    let rules = TierRules { min_samples: 50, ..TierRules::default() };
    let stage = Stage::with("5000", rules).play("900*60 +30s 200*10");
    assert_eq!(stage.describe(), "fast: measured p50 200 ms over 10 calls");
}

#[test]
fn a_run_that_was_luck_makes_the_next_one_longer() {
    let relapsed = "900*100 +30s 200*10 +30s 900*11 +30s";
    let luck = "standard: measured p50 200 ms over 31 calls, too uneven for fast";
    check("200", &format!("{relapsed} 200*10 +30s"), luck);
    check("200", &format!("{relapsed} 200*20"), "fast: measured p50 200 ms over 20 calls");
    // It proves itself by two hundred calls; then ten are enough again.
    let proved = format!("{relapsed} 200*200 +30s 900*100 +30s 200*10");
    check("200", &proved, "fast: measured p50 200 ms over 10 calls");
}

#[test]
fn a_tool_that_nobody_calls_gets_a_trial() {
    let slow = "200*5 +30s 900*100";
    check("", &format!("{slow} +9m"), "standard: measured p50 900 ms over 100 calls");
    check("", &format!("{slow} +10m"), "fast: on trial after 10 min without a call");
    check("", &format!("{slow} +5m 900 +9m"), "standard: measured p50 900 ms over 100 calls");
}

#[test]
fn a_good_trial_settles_after_ten_calls() {
    let tried = "200*5 +30s 900*100 +10m";
    check("", &format!("{tried} 480*9"), "fast: on trial after 10 min without a call");
    check("", &format!("{tried} 480*10"), "fast: measured p50 480 ms over 10 calls");
    check_moves(
        "",
        &format!("{tried} 480*50 +30s"),
        "0s standard>fast, 30s fast>standard, 630s standard>fast",
    );
}

#[test]
fn the_first_bad_call_ends_a_trial_and_doubles_the_pause() {
    let tried = "200*5 +30s 900*100 +10m +30s";
    for bad in ["501", "x", "o501"] {
        let stage = Stage::new("").play(&format!("{tried} 200*3 {bad}"));
        assert_eq!(stage.tier(), Tier::Standard, "{bad}");
        let stage = stage.play("+19m");
        assert_eq!(stage.tier(), Tier::Standard, "{bad}");
        let again = stage.play("+1m");
        assert_eq!(again.describe(), "fast: on trial after 20 min without a call", "{bad}");
    }
}

#[test]
fn a_trial_that_fails_at_once_waits_like_any_change() {
    let script = "200*5 +30s 900*100 +10m 900";
    let waits = "fast: measured p50 900 ms over 100 calls, standard when this has lasted 30 s";
    check("", script, waits);
    check("", &format!("{script} +30s"), "standard: measured p50 900 ms over 100 calls");
}

#[test]
fn pauses_between_trials_stop_growing_at_an_hour() {
    let mut stage = Stage::new("200").play("900*100 +30s");
    let mut pauses = Vec::new();
    for _ in 0..6 {
        let before = stage.now;
        while stage.tier() == Tier::Standard {
            stage.pass(Duration::from_secs(60));
        }
        pauses.push((stage.now - before).as_secs() / 60);
        stage = stage.play("+30s 900");
    }
    assert_eq!(pauses, [10, 20, 40, 60, 60, 60]);
}

#[test]
fn a_trial_goes_on_to_the_next_tier_while_nobody_calls() {
    let deep = "200*5 +30s 3000*100";
    check("", &format!("{deep} +10m"), "standard: on trial after 10 min without a call");
    check("", &format!("{deep} +10m +10m"), "fast: on trial after 20 min without a call");
    check("", &format!("{deep} +10m +10m 3000 +30s"), "deep: measured p50 3000 ms over 100 calls");
    check("", &format!("{deep} +10m +60m +60m +60m"), "fast: on trial after 20 min without a call");
}

#[test]
fn only_a_tool_above_its_home_is_tried() {
    check("", "900*5 +60m", "standard: measured p50 900 ms over 5 calls");
    check("", "+60m", "standard: not measured yet");
    check("900", "3000*5 +10m", "standard: on trial after 10 min without a call");
    check("900", "3000*5 +10m +60m", "standard: on trial after 10 min without a call");
}

#[test]
fn a_tool_of_which_only_errors_are_known_is_tried_too() {
    check("", "x*5 +10m", "standard: on trial after 10 min without a call");
    check("", "x*5 +10m 200*10 +30s", "fast: measured p50 200 ms over 10 calls");
}

#[test]
fn recovery_may_be_set_to_nothing_or_to_never() {
    let at_once = TierRules { recovery: Duration::ZERO, ..TierRules::default() };
    let stage = Stage::with("200", at_once).play("900*5 +29s");
    assert_eq!(stage.tier(), Tier::Standard);
    assert_eq!(stage.play("+1s").tier(), Tier::Fast);
    let never = TierRules { recovery: Duration::MAX, ..TierRules::default() };
    let stage = Stage::with("200", never).play("900*5 +9999999m");
    assert_eq!(stage.tier(), Tier::Standard);
    assert_eq!(stage.standing.next_look(), None);
}

#[test]
fn a_corrected_declaration_is_no_hope_any_more() {
    let mut stage = Stage::new("200").play("900*5");
    assert!(stage.standing.should_probe());
    stage.declared.estimated = Some(Estimate::Believed(Duration::from_millis(900)));
    let stage = stage.play("+60m");
    assert!(!stage.standing.should_probe());
    assert_eq!(stage.describe(), "standard: measured p50 900 ms over 5 calls");
}

#[test]
fn a_new_declaration_counts_at_once_where_nothing_is_measured() {
    let mut stage = Stage::new("");
    stage.declared.estimated = Some(Estimate::Believed(Duration::from_millis(480)));
    assert_eq!(stage.judge(), TierVerdict::Moved { from: Tier::Standard, to: Tier::Fast });
    assert_eq!(stage.describe(), "fast: declared 480 ms");
}

#[test]
fn a_claim_only_makes_a_tool_slower_than_one_of_which_nothing_is_known() {
    let ceilings = |fast, standard, deep| {
        let [fast, standard, deep] = [fast, standard, deep].map(Duration::from_millis);
        TierRules {
            ceilings: crate::budget::Ceilings { fast, standard, deep },
            ..TierRules::default()
        }
    };
    let unknown = "standard: not measured yet";
    for (rules, claim, expected) in [
        (TierRules::default(), 5, unknown),
        (TierRules::default(), 1_500, unknown),
        (TierRules::default(), 1_501, "deep: declared 1501 ms"),
        (ceilings(300, 800, 2_000), 800, unknown),
        (ceilings(300, 800, 2_000), 801, "deep: declared 801 ms"),
        (ceilings(2_000, 3_000, 9_000), 1_600, unknown),
        (ceilings(2_000, 3_000, 9_000), 3_001, "deep: declared 3001 ms"),
    ] {
        let mut stage = Stage::with("", rules);
        stage.declared.estimated = Some(Estimate::Claimed(Duration::from_millis(claim)));
        stage.judge();
        assert_eq!(stage.describe(), expected, "{claim} {:?}", stage.rules.ceilings);
    }
}

#[test]
fn probes_help_what_stands_too_high_or_is_ill() {
    let helps = |declared, script| Stage::new(declared).play(script).standing.should_probe();
    assert!(!helps("", ""));
    assert!(!helps("200", "200*50"));
    assert!(helps("200", "900*5"));
    assert!(helps("200", "900*5 +10m"), "on trial a probe costs no user anything");
    assert!(helps("", "3000*10 x*10"));
    assert!(!helps("200", "900*100 +30s 200*10"));
}

#[test]
fn the_next_look_is_when_time_alone_may_change_something() {
    let next = |script| {
        let stage = Stage::new("").play(script);
        stage.standing.next_look().map(|at| (at - stage.now).as_secs())
    };
    assert_eq!(next(""), None);
    assert_eq!(next("200*50"), None);
    assert_eq!(next("200*5 +1s 900*6"), Some(29));
    assert_eq!(next("200*5 +30s 900*6"), Some(600));
    assert_eq!(next("200*5 +30s 900*6 +5m"), Some(300));
    assert_eq!(next("200*5 +30s 900*6 +10m"), None, "on trial at home, samples decide");
    assert_eq!(next("200*5 +30s 3000*6 +10m"), Some(600));
}

#[test]
fn spans_are_said_in_fitting_units() {
    for (micros, expected) in [
        (0, "0 ms"),
        (1, "0.1 ms"),
        (2_300, "2.3 ms"),
        (9_000, "9 ms"),
        (9_999, "10 ms"),
        (620_000, "620 ms"),
        (500_001, "501 ms"),
        (9_999_999, "10 s"),
        (30_000_000, "30 s"),
        (600_000_000, "10 min"),
        (3_600_000_000, "60 min"),
        (7_200_000_000, "2 h"),
    ] {
        let text = TierBasis::Declared(Duration::from_micros(micros)).to_string();
        assert_eq!(text, format!("declared {expected}"));
    }
    assert_eq!(stage_of_one_call(), "measured p50 200 ms over 1 call");
}

fn stage_of_one_call() -> String {
    let rules = TierRules { min_samples: 1, ..TierRules::default() };
    Stage::with("", rules).play("200").standing.assigned_tier().cause.to_string()
}
