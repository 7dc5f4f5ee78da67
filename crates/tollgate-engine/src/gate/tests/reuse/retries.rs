//! Second attempts: after which failures, how often, and of which tools.

use super::*;
use crate::clock::Clock;

const B: &str = r#"{"name":"s_b"}"#;

fn lost() -> BackendError {
    BackendError::Lost("end of file".to_owned())
}

/// Fails the first time.
fn broken_once(number: usize, _: Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
    Box::pin(async move {
        match number {
            1 => Err(lost()),
            _ => Ok(text(&number.to_string())),
        }
    })
}

#[tokio::test(start_paused = true)]
async fn r_14_a_call_that_may_be_repeated_is_sent_once_more_after_a_moment() {
    for params in [B, r#"{"name":"s_a"}"#] {
        let test = reusing(Era::Modern, broken_once).await;
        let began = SystemClock.now();
        assert_eq!(test.ask(&test.turn(), params).await, "ok 2");
        let took = (SystemClock.now() - began).as_millis();
        assert!((10..=51).contains(&took), "{took} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn r_14_no_other_call_is_ever_sent_twice() {
    let as_declared = |rules: &mut ServerRules, tools: &mut Vec<Value>| {
        rules.tools.clear();
        // An untrusted server's word for it does not count.
        tools[0]["annotations"] = json!({"readOnlyHint": true, "idempotentHint": true});
    };
    let test = reusing_of(Era::Modern, as_declared, broken_once).await;
    let said = test.ask(&test.turn(), r#"{"name":"s_a"}"#).await;
    assert!(said.starts_with("error server `s` disconnected before it answered"), "{said}");
    assert_eq!(test.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn r_14_two_attempts_are_all_there_are() {
    let test = reusing(Era::Modern, |_, _| Box::pin(async { Err(lost()) })).await;
    let said = test.ask(&test.turn(), B).await;
    assert!(said.starts_with("error server `s` disconnected before it answered"), "{said}");
    assert_eq!(test.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn that_the_server_is_gone_the_second_time_does_not_hide_the_first() {
    fn react(number: usize, _: Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
        Box::pin(async move {
            match number {
                1 => Err(lost()),
                _ => Err(BackendError::Offline { state: "offline", reason: "it left".to_owned() }),
            }
        })
    }
    let test = reusing(Era::Modern, react).await;
    let said = test.ask(&test.turn(), B).await;
    assert!(said.contains("the call may or may not have taken effect"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn only_what_a_second_attempt_may_mend_is_repeated() {
    fn react(_: usize, seen: Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
        Box::pin(async move {
            Err(match seen.params["arguments"]["n"].as_u64().unwrap() {
                0 => BackendError::Offline { state: "unreachable", reason: "refused".to_owned() },
                1 => {
                    BackendError::Refused(tollgate_mcp::error_code::JsonRpcError::new(-32603, "no"))
                }
                2 => BackendError::Unauthorized("no".to_owned()),
                3 => BackendError::TooLarge { limit: 8 },
                4 => BackendError::Resting {
                    reason: "too many calls".to_owned(),
                    retry_after: Duration::from_secs(1),
                },
                5 => BackendError::Unusable("the server answered HTTP 500".to_owned()),
                _ => std::future::pending().await,
            })
        })
    }
    for (n, calls) in [(0, 2), (1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1)] {
        for name in ["s_a", "s_b"] {
            let test = reusing(Era::Modern, react).await;
            let params = json!({"name": name, "arguments": {"n": n}}).to_string();
            test.ask(&test.turn(), &params).await;
            assert_eq!(test.calls(), calls, "{name} {n}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_nearly_over_has_no_second_attempt() {
    fn react(_: usize, _: Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
        Box::pin(async {
            pass(495).await;
            Err(lost())
        })
    }
    let test = reusing(Era::Modern, react).await;
    let began = SystemClock.now();
    let said = test.ask(&test.short(500), B).await;
    assert!(said.starts_with("error server `s` disconnected"), "{said}");
    assert_eq!((test.calls(), (SystemClock.now() - began).as_millis()), (1, 495));
}

#[tokio::test(start_paused = true)]
async fn r_17_a_server_in_trouble_sees_a_fifth_more_calls_and_not_twice_as_many() {
    let test = reusing(Era::Modern, |_, _| Box::pin(async { Err(lost()) })).await;
    for _ in 0..100 {
        test.ask(&test.turn(), B).await;
    }
    assert_eq!(test.calls(), 120);
    let test = reusing(Era::Modern, |_, _| Box::pin(async { Err(lost()) })).await;
    let turn = test.turn();
    futures_util::future::join_all((0..100).map(|_| test.ask(&turn, B))).await;
    assert!(test.calls() <= 120, "{}", test.calls());
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_twice() {
    fn react(number: usize, seen: Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
        Box::pin(async move {
            if number == 1 {
                let params = Some(raw(r#"{"message":"sure?"}"#.to_owned()));
                let _ = ask(&seen.events.unwrap(), "elicitation/create".to_owned(), params).await;
            }
            Err(lost())
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
                question.reply.send(Ok(raw("{}".to_owned()))).unwrap();
            }
        }
    };
    let (reply, ()) = tokio::join!(test.call(B, caller), person);
    assert!(describe_reply(&reply).starts_with("error server `s` disconnected"));
    assert_eq!(test.calls(), 1);
}
