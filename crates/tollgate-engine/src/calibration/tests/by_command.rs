//! `Gate::calibrate`.

use super::*;

const EFFECTS: &str = "not probed: it may have side effects; set `probe:` arguments";

#[tokio::test(start_paused = true)]
async fn every_tool_that_may_be_is_probed_in_turns_and_each_step_is_told() {
    let tools = vec![reads("a"), reads("b"), writes("w")];
    let stage = Stage::of(vec![server("s", tools)]).await;
    stage.set("b", Does::Answer(250));
    let text = run_to_end(stage.gate.calibrate(CalibrationScope::All, 2)).await;
    let expected = format!(
        "1/5 s_w {EFFECTS}\n\
         2/5 s_a probed in 10 ms\n\
         3/5 s_b probed in 250 ms\n\
         4/5 s_a probed in 10 ms\n\
         5/5 s_b probed in 250 ms"
    );
    assert_eq!(text, expected);
    assert_eq!(stage.calls(), "s/a=2 s/b=2");
    assert_eq!(stage.log.lock().last_arguments["s/a"], json!({"n": 3}));
}

#[tokio::test(start_paused = true)]
async fn nothing_that_could_have_an_effect_is_ever_called() {
    let hints = [
        json!({}),
        json!({"readOnlyHint": false}),
        json!({"destructiveHint": false}),
        json!({"idempotentHint": true, "destructiveHint": false}),
    ];
    let tools = |prefix: &str| -> Vec<Value> {
        let tool = |(at, hints): (usize, &Value)| json!({"name": format!("{prefix}{at}"), "annotations": hints, "inputSchema": {"type": "object"}});
        hints.iter().enumerate().map(tool).chain([reads(&format!("{prefix}reads"))]).collect()
    };
    let trusted = server("trusted", tools("t"));
    let untrusted = Server { trusted: Trust::Untrusted, ..server("untrusted", tools("u")) };
    let stage = Stage::of(vec![trusted, untrusted]).await;
    let _keeping = stage.keep();
    let _all = run_to_end(stage.gate.calibrate(CalibrationScope::All, 3)).await;
    pass(3_600).await;
    let called: Vec<String> = stage.log.lock().calls.keys().cloned().collect();
    assert_eq!(called, ["trusted/treads"]);
}

#[tokio::test(start_paused = true)]
async fn the_operators_arguments_are_sent_as_they_are() {
    let answers = vec![("w", json!({"city": "Rome"}))];
    let untrusted = Server {
        trusted: Trust::Untrusted,
        answers,
        ..server("s", vec![writes("w"), writes("x")])
    };
    let stage = Stage::of(vec![untrusted]).await;
    let answers = run_to_end(stage.gate.calibrate(CalibrationScope::All, 1)).await;
    assert_eq!(answers, format!("1/2 s_x {EFFECTS}\n2/2 s_w probed in 10 ms"));
    assert_eq!(stage.log.lock().last_arguments["s/w"], json!({"city": "Rome"}));
}

#[tokio::test(start_paused = true)]
async fn a_scope_is_a_server_or_a_tool() {
    let stage =
        Stage::of(vec![server("s", vec![reads("a"), reads("b")]), server("t", vec![reads("a")])])
            .await;
    assert_eq!(
        run_to_end(stage.gate.calibrate(CalibrationScope::Server("t"), 1)).await,
        "1/1 t_a probed in 10 ms"
    );
    assert_eq!(
        run_to_end(stage.gate.calibrate(CalibrationScope::Tool("s_b"), 1)).await,
        "1/1 s_b probed in 10 ms"
    );
    assert_eq!(run_to_end(stage.gate.calibrate(CalibrationScope::Tool("nope"), 1)).await, "");
    assert_eq!(stage.calls(), "s/b=1 t/a=1");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_does_not_like_made_up_arguments_is_given_up_and_not_blamed() {
    let stage = Stage::of(vec![server("s", vec![reads("a"), reads("b")])]).await;
    stage.set("a", Does::Fail(2));
    let text = run_to_end(stage.gate.calibrate(CalibrationScope::All, 3)).await;
    let expected = "3/6 s_a failed: with generated arguments: no such thing\n4/6 s_b probed in 10 \
                    ms\n5/6 s_b probed in 10 ms\n6/6 s_b probed in 10 ms";
    assert_eq!(text, expected);
    pass(1).await;
    assert_eq!(stage.assigned_tier("s", "a"), "standard: not measured yet");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_fails_on_the_operators_arguments_is_counted_as_failing() {
    let texts = vec![("a", json!({"n": 4}))];
    let stage = Stage::of(vec![Server { answers: texts, ..server("s", vec![reads("a")]) }]).await;
    stage.set("a", Does::Fail(2));
    let texts = run_to_end(stage.gate.calibrate(CalibrationScope::All, 5)).await;
    assert_eq!(texts.lines().count(), 5);
    assert_eq!(texts.lines().last(), Some("5/5 s_a failed: no such thing"));
    pass(1).await;
    assert!(
        stage.assigned_tier("s", "a").contains("100 % of the calls failed"),
        "{}",
        stage.assigned_tier("s", "a")
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_hangs_is_known_to_be_slow_and_costs_other_servers_nothing() {
    let slow = server("s", vec![reads("a"), reads("b")]);
    let stage = Stage::of(vec![slow, server("t", vec![reads("c")])]).await;
    stage.set("a", Does::Hang);
    let mut calibration = stage.gate.calibrate(CalibrationScope::All, 8);
    for _ in 0..8 {
        assert_eq!(calibration.next().await.unwrap().exposed, "t_c");
    }
    let step = calibration.next().await.unwrap();
    assert_eq!((step.exposed.as_str(), step.done, step.total), ("s_a", 9, 24));
    let Outcome::Failed { why } = step.outcome else { panic!("{step:?}") };
    assert_eq!(why, "`s_a` did not answer within 10000 ms");
    let text = run_to_end(calibration).await;
    assert_eq!(text.lines().last(), Some("24/24 s_b probed in 10 ms"));
    assert_eq!(stage.calls(), "s/a=5 s/b=8 t/c=8");
    pass(1).await;
    assert!(
        stage.assigned_tier("s", "a").starts_with("deep: measured"),
        "{}",
        stage.assigned_tier("s", "a")
    );
}

#[tokio::test(start_paused = true)]
async fn servers_are_probed_side_by_side_and_never_twice_at_once() {
    let names = [
        "s01", "s02", "s03", "s04", "s05", "s06", "s07", "s08", "s09", "s10", "s11", "s12", "s13",
        "s14", "s15", "s16", "s17", "s18", "s19", "s20",
    ];
    let servers = names.map(|name| server(name, vec![reads("x"), reads("y")]));
    let stage = Stage::of(servers.into()).await;
    let runs = [
        stage.gate.calibrate(CalibrationScope::All, 3),
        stage.gate.calibrate(CalibrationScope::All, 2),
    ];
    for run in runs {
        run_to_end(run).await;
    }
    let log = stage.log.lock();
    assert_eq!(log.most_at_once["all"], 16);
    assert!(names.iter().all(|name| log.most_at_once[*name] == 1), "{:?}", log.most_at_once);
    assert!(log.calls.values().all(|calls| *calls == 5));
}

#[tokio::test(start_paused = true)]
async fn dropping_the_run_stops_it() {
    let stage = Stage::of(vec![server("s", vec![reads("a")])]).await;
    stage.set("a", Does::Answer(1_000));
    let mut calibration = stage.gate.calibrate(CalibrationScope::All, 100);
    calibration.next().await.expect("a first step");
    drop(calibration);
    pass(60).await;
    assert!(stage.calls_of("s/a") <= 2, "{}", stage.calls());
    assert_eq!(stage.log.lock().at_once["all"], 0);
}

#[tokio::test(start_paused = true)]
async fn what_was_probed_is_measured() {
    let stage = Stage::of(vec![server("s", vec![reads("a"), reads("b")])]).await;
    stage.set("b", Does::Answer(700));
    let times = stage.gate.probes_that_count();
    run_to_end(stage.gate.calibrate(CalibrationScope::All, times)).await;
    pass(1).await;
    assert_eq!(stage.assigned_tier("s", "a"), "fast: measured p50 10 ms over 5 calls");
    assert_eq!(stage.assigned_tier("s", "b"), "standard: measured p50 700 ms over 5 calls");
}
