//! Every run is measured once, and nothing else is.

use super::*;

/// What the meters know of a tool: `2 calls, 1 failed, 0 overran, p50 900 ms`.
async fn figures(test: &Reusing, tool: &str) -> String {
    let _tending = test.gate.meters.start_maintenance();
    pass(1_000).await;
    let server = ServerId::parse("s").unwrap();
    let tool = tollgate_core::id::ToolId { server, tool: ToolName::new(tool) };
    let reading = test.gate.reading(&tool).expect("it is listed");
    let figures = &reading.assigned.figures;
    let count = figures.count;
    let failed = figures.failed;
    let overran = figures.overran;
    let p50 = figures.p50().map_or(0, |it| it.as_millis());
    format!("{count} calls, {failed} failed, {overran} overran, p50 {p50} ms")
}

const NOTHING: &str = "0 calls, 0 failed, 0 overran, p50 0 ms";
const SLOW: &str = r#"{"name":"s_a","arguments":{"n":300}}"#;

#[tokio::test(start_paused = true)]
async fn what_is_kept_or_shared_is_measured_once() {
    let test = reusing(Era::Modern, numbered).await;
    let turn = test.turn();
    futures_util::future::join_all((0..5).map(|_| test.ask(&turn, SLOW))).await;
    test.ask(&turn, SLOW).await;
    assert_eq!(figures(&test, "a").await, "1 calls, 0 failed, 0 overran, p50 300 ms");
}

#[tokio::test(start_paused = true)]
async fn a_late_call_is_measured_to_its_end() {
    let test = reusing(Era::Modern, numbered).await;
    let params = r#"{"name":"s_a","arguments":{"n":900}}"#;
    assert!(test.ask(&test.short(500), params).await.starts_with("pending"));
    assert_eq!(figures(&test, "a").await, "1 calls, 0 failed, 0 overran, p50 900 ms");
}

#[tokio::test(start_paused = true)]
async fn each_attempt_counts() {
    let test = reusing(Era::Modern, |number, _| {
        Box::pin(async move {
            pass(100).await;
            match number {
                1 => Err(BackendError::Lost("gone".to_owned())),
                _ => Ok(text("fine")),
            }
        })
    })
    .await;
    assert_eq!(test.ask(&test.turn(), r#"{"name":"s_b"}"#).await, "ok fine");
    assert_eq!(figures(&test, "b").await, "2 calls, 1 failed, 0 overran, p50 100 ms");
}

#[tokio::test(start_paused = true)]
async fn results_that_say_that_they_failed_are_failures() {
    for name in ["a", "b"] {
        let test = reusing(Era::Modern, |_, _| {
            let result = raw_value(&json!({"content": [], "isError": true}));
            Box::pin(async { Ok(Answer { kind: AnswerKind::Complete, result }) })
        })
        .await;
        test.ask(&test.turn(), &json!({"name": format!("s_{name}")}).to_string()).await;
        assert_eq!(figures(&test, name).await, "1 calls, 1 failed, 0 overran, p50 0 ms");
    }
}

#[tokio::test(start_paused = true)]
async fn a_short_turn_says_nothing_about_the_tool_and_its_own_limit_does() {
    let test = reusing(Era::Modern, |_, _| Box::pin(std::future::pending())).await;
    let b = r#"{"name":"s_b"}"#;
    assert!(test.ask(&test.short(500), b).await.starts_with("timeout"));
    assert_eq!(figures(&test, "b").await, "0 calls, 0 failed, 0 overran, p50 0 ms");
    assert!(test.ask(&test.turn(), b).await.starts_with("timeout"));
    assert_eq!(figures(&test, "b").await, "1 calls, 0 failed, 1 overran, p50 10000 ms");
    assert!(test.ask(&test.turn(), r#"{"name":"s_a"}"#).await.starts_with("timeout"));
    assert_eq!(figures(&test, "a").await, "1 calls, 0 failed, 1 overran, p50 10000 ms");
}

#[tokio::test(start_paused = true)]
async fn the_time_in_the_queue_is_not_the_tools() {
    for era in [Era::Modern, Era::Legacy] {
        let test = reusing(era, numbered).await;
        let b = r#"{"name":"s_b","arguments":{"queue":2000,"n":100}}"#;
        assert_eq!(test.ask(&test.turn(), b).await, "ok 1");
        assert_eq!(figures(&test, "b").await, "1 calls, 0 failed, 0 overran, p50 100 ms");
        let rounds = Dialogue::Rounds(RoundAnswers::default());
        let client = someone();
        let caller = Caller { dialogue: rounds, ..Caller::silent(&client) };
        assert_eq!(describe_reply(&test.call(b, caller).await), "ok 2");
        assert_eq!(figures(&test, "b").await, "2 calls, 0 failed, 0 overran, p50 100 ms");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_never_sent_measures_nothing() {
    let test = reusing(Era::Modern, numbered).await;
    let never = r#"{"name":"s_b","arguments":{"queue":60000}}"#;
    assert!(test.ask(&test.turn(), never).await.starts_with("timeout"));
    assert_eq!((test.calls(), figures(&test, "b").await.as_str()), (0, NOTHING));
    // Nor is the tool slow if the queue left it no time.
    let hardly = r#"{"name":"s_b","arguments":{"queue":9800,"n":60000}}"#;
    assert!(test.ask(&test.turn(), hardly).await.starts_with("timeout"));
    assert_eq!((test.calls(), figures(&test, "b").await.as_str()), (1, NOTHING));
}

#[tokio::test(start_paused = true)]
async fn probes_with_made_up_arguments_measure_answers_and_no_errors() {
    fn react(number: usize, _: Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
        Box::pin(async move {
            pass(10).await;
            let failed = json!({"content": [], "isError": true});
            match number {
                1 => Ok(Answer { kind: AnswerKind::Complete, result: raw_value(&failed) }),
                2 => Err(BackendError::Lost("gone".to_owned())),
                _ => Ok(text("fine")),
            }
        })
    }
    let test = reusing(Era::Modern, react).await;
    let client = nobody();
    let probe = || Caller { purpose: CallPurpose::BlindProbe, ..Caller::silent(&client) };
    for _ in 0..3 {
        test.call(SLOW, probe()).await.unwrap();
    }
    assert_eq!(figures(&test, "a").await, "1 calls, 0 failed, 0 overran, p50 10 ms");
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_person_is_not_the_tools() {
    fn react(_: usize, seen: Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
        Box::pin(async move {
            let _ = ask(&seen.events.unwrap(), "elicitation/create".to_owned(), None).await;
            Ok(text("fine"))
        })
    }
    let test = reusing(Era::Legacy, react).await;
    let client = someone();
    let (events, mut received) = mpsc::channel(8);
    let dialogue = Dialogue::Live;
    let caller = Caller { events: Some(events), dialogue, ..Caller::silent(&client) };
    let person = async {
        while let Some(event) = received.recv().await {
            if let Event::Question(question) = event {
                pass(5_000).await;
                question.reply.send(Ok(raw("{}".to_owned()))).unwrap();
            }
        }
    };
    let (reply, ()) = tokio::join!(test.call(r#"{"name":"s_b"}"#, caller), person);
    assert_eq!(describe_reply(&reply), "ok fine");
    assert_eq!(figures(&test, "b").await, "0 calls, 0 failed, 0 overran, p50 0 ms");
}

#[tokio::test(start_paused = true)]
async fn a_server_is_busy_while_a_call_is_under_way() {
    let test = reusing(Era::Modern, numbered).await;
    let server = ServerId::parse("s").unwrap();
    let turn = test.turn();
    let idle = || test.gate.meters.idle_since(&server).is_some();
    let look = async {
        pass(100).await;
        idle()
    };
    assert!(idle());
    let (_, during) = tokio::join!(test.ask(&turn, SLOW), look);
    assert!(!during);
    assert!(idle());
}
