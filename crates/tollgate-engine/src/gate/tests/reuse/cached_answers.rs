//! Answers that are kept: for how long, for whom, and which are not.

use super::*;
use crate::upstream::{Change, Update};

const A: &str = r#"{"name":"s_a"}"#;

#[tokio::test(start_paused = true)]
async fn an_answer_is_kept_while_it_is_good_and_says_that_it_is_from_before() {
    let test = reusing(Era::Modern, numbered).await;
    let client = nobody();
    let call = async || test.show(A, Caller::silent(&client)).await;
    assert_eq!(call().await, "ok 1, good for 60000 ms");
    pass(250).await;
    assert_eq!(call().await, "ok 1, hit at 250 of 60000 ms");
    pass(59_749).await;
    assert_eq!(call().await, "ok 1, hit at 59999 of 60000 ms");
    pass(1).await;
    assert_eq!(call().await, "ok 2, good for 60000 ms");
    assert_eq!(test.calls(), 2);
    assert_eq!(*test.records.lock(), ["s_a ok"; 4], "each call leaves its record");
}

#[tokio::test(start_paused = true)]
async fn a_hit_takes_no_time_even_if_the_call_did() {
    let test = reusing(Era::Modern, numbered).await;
    let client = nobody();
    let params = r#"{"name":"s_a","arguments":{"n":900}}"#;
    let took = async || match test.call(params, Caller::silent(&client)).await {
        Ok(Reply::Tool(outcome)) => outcome.duration.as_millis(),
        other => panic!("{other:?}"),
    };
    assert_eq!((took().await, took().await), (900, 0));
}

#[tokio::test(start_paused = true)]
async fn equal_arguments_are_equal_however_they_are_written() {
    let test = reusing(Era::Modern, numbered).await;
    let client = nobody();
    let check = async |params: &str, expected: &str| {
        assert_eq!(
            describe_reply(&test.call(params, Caller::silent(&client)).await),
            expected,
            "{params}"
        );
    };
    check(r#"{"name":"s_a","arguments":{"n":1,"x":{"p":1,"q":[1,2]}}}"#, "ok 1").await;
    check(r#"{"arguments":{ "x":{"q":[1, 2],"p":1}, "n":1 },"name":"s_a"}"#, "ok 1").await;
    check(r#"{"name":"s_a","arguments":{"n":1,"x":{"p":1,"q":[2,1]}}}"#, "ok 2").await;
    check(r#"{"name":"s_a","arguments":{}}"#, "ok 3").await;
    check(r#"{"name":"s_a","arguments":null}"#, "ok 3").await;
    check(r#"{"name":"s_a","_meta":{"traceparent":"00-1"}}"#, "ok 3").await;
    // What else a request says may change its answer.
    check(r#"{"name":"s_a","task":{"ttl":1}}"#, "ok 4").await;
    check(r#"{"name":"s_a","task":{"ttl":1}}"#, "ok 5").await;
}

#[tokio::test(start_paused = true)]
async fn who_wants_a_fresh_answer_gets_one_and_the_others_get_it_too() {
    let test = reusing(Era::Modern, numbered).await;
    let client = nobody();
    assert_eq!(test.show(A, Caller::silent(&client)).await, "ok 1, good for 60000 ms");
    pass(1_000).await;
    assert_eq!(test.show(A, fresh(&client)).await, "ok 2, good for 60000 ms");
    pass(10).await;
    assert_eq!(test.show(A, Caller::silent(&client)).await, "ok 2, hit at 10 of 60000 ms");
}

#[tokio::test(start_paused = true)]
async fn an_older_answer_that_comes_later_does_not_replace_a_newer_one() {
    fn react(number: usize, _: Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
        Box::pin(async move {
            pass(if number == 1 { 500 } else { 100 }).await;
            Ok(text(&number.to_string()))
        })
    }
    let test = reusing(Era::Modern, react).await;
    let client = nobody();
    let newer = async {
        pass(50).await;
        test.show(A, fresh(&client)).await
    };
    let (older, newer) = tokio::join!(test.show(A, Caller::silent(&client)), newer);
    assert_eq!((&*older, &*newer), ("ok 1", "ok 2, good for 60000 ms"));
    assert_eq!(test.show(A, Caller::silent(&client)).await, "ok 2, hit at 350 of 60000 ms");
}

#[tokio::test(start_paused = true)]
async fn failures_in_any_dress_are_not_kept() {
    fn react(number: usize, mut seen: Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
        let complete =
            |result: Value| Ok(Answer { kind: AnswerKind::Complete, result: raw_value(&result) });
        let arguments = seen.params["arguments"].take();
        let answer = match (number % 2, arguments["n"].as_u64().unwrap()) {
            (0, _) => Ok(text("fine")),
            (_, 1) => complete(json!({"content": [], "isError": true})),
            (_, 2) => complete(json!({"content": [], "structuredContent": {"error": "no"}})),
            (_, 3) => complete(json!([1])),
            (_, 4) => Err(BackendError::Refused(tollgate_mcp::error_code::JsonRpcError::new(
                -32603, "no",
            ))),
            (_, 5) => Err(BackendError::TooLarge { limit: 1 }),
            (_, 6) => Ok(asking(&json!({"inputRequests": {}}))),
            (_, 7) => Ok(Answer { kind: AnswerKind::Task, result: raw_value(&json!({})) }),
            (_, 8) => Ok(text(&"x".repeat(1 << 20))),
            (_, n) => panic!("{n}"),
        };
        Box::pin(async move { answer })
    }
    let test = reusing(Era::Modern, react).await;
    let client = nobody();
    for n in 1..=8 {
        let params = json!({"name": "s_a", "arguments": {"n": n}}).to_string();
        let first = test.show(&params, Caller::silent(&client)).await;
        assert!(!first.contains("good for") && !first.contains("fine"), "{n}: {first}");
        let second = test.show(&params, Caller::silent(&client)).await;
        assert_eq!(second, "ok fine, good for 60000 ms", "{n}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_kept_of_calls_that_say_more_or_say_it_in_numbers_too_long_to_tell_apart() {
    let test = reusing(Era::Modern, numbered).await;
    let client = nobody();
    let show = async |params: &str| test.show(params, Caller::silent(&client)).await;
    for params in [
        r#"{"name":"s_a","arguments":{"x":123456789012345678901}}"#,
        r#"{"name":"s_a","arguments":{"x":123456789012345678902}}"#,
        r#"{"name":"s_a","arguments":{"x":[0.12345678901234567891]}}"#,
        r#"{"name":"s_a","_meta":{"example.com/tenant":"a"}}"#,
        r#"{"name":"s_a","_meta":{"traceparent":"00-1","progressTokens":1}}"#,
    ] {
        let first = show(params).await;
        let second = show(params).await;
        assert!(!first.contains("good for") && !second.contains("hit"), "{params}: {second}");
    }
    assert_eq!(show(r#"{"name":"s_a"}"#).await, "ok 11, good for 60000 ms");
    let idle = r#"{"name":"s_a","_meta":{"traceparent":"00-1","tracestate":"a=b","baggage":"c=d",
        "progressToken":7,"dev.tollgate/agent":"x"}}"#;
    assert_eq!(show(idle).await, "ok 11, hit at 0 of 60000 ms");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_kept_of_tools_that_do_not_say_so_and_probes_do_not_look() {
    let test = reusing(Era::Modern, numbered).await;
    let client = nobody();
    let b = r#"{"name":"s_b"}"#;
    assert_eq!(test.show(b, Caller::silent(&client)).await, "ok 1");
    assert_eq!(test.show(b, Caller::silent(&client)).await, "ok 2");
    let probe = |purpose| Caller { purpose, ..Caller::silent(&client) };
    assert_eq!(test.show(A, probe(CallPurpose::Probe)).await, "ok 3");
    assert_eq!(test.show(A, Caller::silent(&client)).await, "ok 4, good for 60000 ms");
    assert_eq!(test.show(A, probe(CallPurpose::BlindProbe)).await, "ok 5");
}

#[tokio::test(start_paused = true)]
async fn what_may_not_be_repeated_is_not_kept_either() {
    let unsafe_to_repeat = |rules: &mut ServerRules, _: &mut Vec<Value>| {
        rules.tools.values_mut().for_each(|it| it.idempotent = Some(false));
    };
    let test = reusing_of(Era::Modern, unsafe_to_repeat, numbered).await;
    let client = nobody();
    assert_eq!(test.show(A, Caller::silent(&client)).await, "ok 1");
    assert_eq!(test.show(A, Caller::silent(&client)).await, "ok 2");
}

/// Two principals call a tool of a server that is or is not trusted; what each gets.
async fn check_scope(server: &str, scope: &str, expected: [&str; 2]) {
    let rules = |rules: &mut ServerRules, tools: &mut Vec<Value>| {
        rules.trusted = server == "trusted";
        tools[0]["_meta"] = json!({"dev.tollgate/cache": {"scope": scope}});
    };
    let test = reusing_of(Era::Modern, rules, numbered).await;
    for (name, expected) in ["ada", "bob"].into_iter().zip(expected) {
        let said = test.ask(&test.turn_of(name), A).await;
        assert_eq!(said, expected, "{name}, {scope}, {server}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_its_principals_unless_a_trusted_server_says_that_it_is_anybodys() {
    check_scope("trusted", "public", ["ok 1", "ok 1"]).await;
    check_scope("trusted", "private", ["ok 1", "ok 2"]).await;
    check_scope("trusted", "everybody", ["ok 1", "ok 2"]).await;
    check_scope("a stranger", "public", ["ok 1", "ok 2"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_its_server_changed_has_no_answers_yet() {
    let test = reusing(Era::Modern, numbered).await;
    let before = test.turn();
    assert_eq!(test.ask(&before, A).await, "ok 1");
    let mut changed = tool("a");
    changed["description"] = json!("Another tool now.");
    let mut changes = test.gate.changes();
    changes.mark_unchanged();
    let change = Change::Listed(Arc::new(listing(&[changed])));
    let server = ServerId::parse("s").unwrap();
    test.updates.send(Update { server, change }).await.unwrap();
    changes.changed().await.unwrap();
    let known = test.gate.known_tools().into_iter().find(|it| it.tool.id.tool.as_str() == "a");
    let offered = known.unwrap().tool;
    let ops = Principal::from_name("ops");
    let accept = crate::gate::Answer::Accept;
    test.gate.decide(&offered.id, offered.hash, accept, &ops).await.unwrap();
    assert_eq!(test.ask(&test.turn(), A).await, "ok 2");
    assert_eq!(test.ask(&test.turn(), A).await, "ok 2");
    assert_eq!(test.ask(&before, A).await, "ok 1", "a turn keeps what it began with");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_brings_answers_is_one_persons_alone() {
    fn react(number: usize, seen: Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
        Box::pin(async move {
            if seen.params.get("inputResponses").is_some() {
                Ok(text(&number.to_string()))
            } else {
                Ok(asking(&json!({
                    "resultType": "input_required",
                    "inputRequests": {"q": {"method": "elicitation/create", "params": {}}},
                })))
            }
        })
    }
    let test = reusing(Era::Modern, react).await;
    let client = someone();
    let rounds = |retry| Caller { dialogue: Dialogue::Rounds(retry), ..Caller::silent(&client) };
    assert_eq!(
        describe_reply(&test.call(A, rounds(RoundAnswers::default())).await),
        "input required"
    );
    let calls = test.calls();
    let responses = || Some(raw(r#"{"q":{"action":"accept"}}"#.to_owned()));
    let brought = || rounds(RoundAnswers { state: None, responses: responses() });
    assert_eq!(test.show(A, brought()).await, format!("ok {}", calls + 1));
    assert_eq!(test.show(A, brought()).await, format!("ok {}", calls + 2));
}
