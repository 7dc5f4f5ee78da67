//! Second attempts beside a first that is slower than usual.

use super::*;

const B: &str = r#"{"name":"s_b"}"#;

/// A gate whose tools are hedged, and one of them was called so often, in 10 ms each. From then on
/// the server does what `react` says.
async fn hedged(
    tool: &str,
    calls: usize,
    react: Reaction,
) -> (Reusing, crate::meters::MeterMaintenance) {
    let terms = |rules: &mut ServerRules, _: &mut Vec<Value>| {
        rules.tools.values_mut().for_each(|it| it.hedge = Some(true));
    };
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let script = move |seen| match counted.fetch_add(1, Ordering::Relaxed) {
        number if number < calls => Box::pin(async {
            pass(10).await;
            Ok(text("warm"))
        }),
        number => react(number + 1 - calls, seen),
    };
    let test = reusing_by(Era::Modern, terms, count, script).await;
    let tending = test.gate.meters.start_maintenance();
    for number in 1..=calls {
        let params = json!({"name": tool, "arguments": {"n": number}}).to_string();
        assert_eq!(test.ask(&test.turn(), &params).await, "ok warm");
    }
    pass(1_000).await;
    (test, tending)
}

/// Hangs the first time.
fn stuck_once(number: usize, _: Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
    Box::pin(async move {
        match number {
            1 => std::future::pending().await,
            _ => pass(10).await,
        }
        Ok(text(&number.to_string()))
    })
}

#[tokio::test(start_paused = true)]
async fn a_second_attempt_starts_when_the_first_is_slower_than_usual_and_the_loser_is_cancelled() {
    for tool in ["s_a", "s_b"] {
        let (test, _tending) = hedged(tool, 20, stuck_once).await;
        let began = SystemClock.now();
        assert_eq!(test.ask(&test.turn(), &json!({"name": tool}).to_string()).await, "ok 2");
        assert_eq!((SystemClock.now() - began).as_millis(), 20, "p95, and once more");
        test.settle().await;
        assert_eq!((test.calls(), *test.dropped.lock()), (22, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_is_held_to_its_own_usual_time() {
    let (test, _tending) = hedged("s_b", 20, stuck_once).await;
    // Nobody knows yet how long this one takes.
    assert!(test.ask(&test.short(500), r#"{"name":"s_a"}"#).await.starts_with("pending"));
    assert_eq!(test.calls(), 21);
}

#[tokio::test(start_paused = true)]
async fn the_first_attempt_may_still_win() {
    fn react(number: usize, _: Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
        Box::pin(async move {
            pass(if number == 1 { 50 } else { 100 }).await;
            Ok(text(&number.to_string()))
        })
    }
    let (test, _tending) = hedged("s_b", 20, react).await;
    let began = SystemClock.now();
    assert_eq!(test.ask(&test.turn(), B).await, "ok 1");
    assert_eq!((SystemClock.now() - began).as_millis(), 50);
    assert_eq!((test.calls(), *test.dropped.lock()), (22, 1));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_breaks_decides_nothing() {
    for broken in [1, 2] {
        let react: Reaction = match broken {
            1 => |number, _| {
                Box::pin(async move {
                    pass(30).await;
                    match number {
                        1 => Err(BackendError::Lost("gone".to_owned())),
                        _ => Ok(text(&number.to_string())),
                    }
                })
            },
            _ => |number, _| {
                Box::pin(async move {
                    match number {
                        2 => Err(BackendError::Lost("gone".to_owned())),
                        _ => {
                            pass(30).await;
                            Ok(text(&number.to_string()))
                        }
                    }
                })
            },
        };
        let (test, _tending) = hedged("s_b", 20, react).await;
        assert_eq!(test.ask(&test.turn(), B).await, format!("ok {}", 3 - broken));
        assert_eq!(test.calls(), 22, "and there is no third attempt");
    }
}

#[tokio::test(start_paused = true)]
async fn before_there_are_enough_calls_nobody_knows_what_is_slow() {
    let (test, _tending) = hedged("s_b", 19, |number, _| {
        Box::pin(async move {
            pass(500).await;
            Ok(text(&number.to_string()))
        })
    })
    .await;
    assert_eq!(test.ask(&test.turn(), B).await, "ok 1");
    assert_eq!(test.calls(), 20);
}

#[tokio::test(start_paused = true)]
async fn hedges_are_paid_from_the_same_budget_as_repeats() {
    let (test, _tending) = hedged("s_b", 20, |number, _| {
        Box::pin(async move {
            pass(11).await;
            Ok(text(&number.to_string()))
        })
    })
    .await;
    for _ in 0..80 {
        test.ask(&test.turn(), B).await;
    }
    assert!(test.calls() <= 120, "{}", test.calls());
}

#[tokio::test(start_paused = true)]
async fn a_question_ends_the_race_and_reaches_the_one_who_can_answer_it() {
    fn react(_: usize, _: Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
        Box::pin(async {
            Ok(asking(&json!({
                "resultType": "input_required",
                "inputRequests": {"q": {"method": "elicitation/create", "params": {}}},
            })))
        })
    }
    let (test, _tending) = hedged("s_b", 20, react).await;
    let client = someone();
    let dialogue = Dialogue::Rounds(RoundAnswers::default());
    let caller = Caller { dialogue, ..Caller::silent(&client) };
    assert_eq!(describe_reply(&test.call(B, caller).await), "input required");
}
