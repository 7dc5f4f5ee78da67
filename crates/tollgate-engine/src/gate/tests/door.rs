//! The door itself: who gets through, in what time, and what is said about it.

use tollgate_core::call::Outcome;
use tollgate_core::shaping::{ResultCaps, pages};

use super::*;
use crate::caller::OverflowPolicy;
use crate::results::ResultLookup;

#[tokio::test(start_paused = true)]
async fn results_come_in_the_order_of_the_calls_and_cost_the_slowest() {
    let test = gate(Era::Modern, |seen| {
        Box::pin(async move {
            let wait = if seen.name == "a" { 900 } else { 100 };
            tokio::time::sleep(Duration::from_millis(wait)).await;
            Ok(text(&seen.name))
        })
    })
    .await;
    let clock = SystemClock;
    let began = clock.now();
    let client = nobody();
    let calls = vec![request(r#"{"name":"s_a"}"#), request(r#"{"name":"s_b"}"#)];
    let replies = test.gate.call_all(&test.turn(), calls, Caller::silent(&client)).await;
    let lines: Vec<String> = replies.iter().map(describe_reply).collect();
    assert_eq!(lines, ["ok a", "ok b"]);
    assert_eq!((clock.now() - began).as_millis(), 900);
}

#[tokio::test]
async fn s_29_what_is_not_in_the_view_cannot_be_called() {
    let test =
        gate(Era::Modern, |_| Box::pin(async { panic!("nothing may reach the server") })).await;
    let client = nobody();
    for name in ["s_hidden", "hidden", "s_A", "nope", "", "s_a "] {
        let params = json!({"name": name}).to_string();
        let reply = test.call(&params, Caller::silent(&client)).await;
        assert!(
            matches!(reply, Err(CallError::Refused(PermitError::UnknownTool { .. }))),
            "{name}"
        );
    }
    let turn_request = TurnRequest {
        agent: Some("nobody"),
        ..TurnRequest::by(Actor::endless(Principal::local()))
    };
    assert!(test.gate.turn(turn_request).is_err());
    assert!(AgentId::parse("default").is_ok());
}

#[tokio::test]
async fn b_jr_26_bad_arguments_are_an_answer_and_never_reach_the_server() {
    let test = gate(Era::Modern, |_| Box::pin(async { Ok(text("reached")) })).await;
    let client = nobody();
    let check = async |arguments: &str, expected: &str| {
        let params = format!(r#"{{"name":"s_a","arguments":{arguments}}}"#);
        let reply = describe_reply(&test.call(&params, Caller::silent(&client)).await);
        assert!(reply.starts_with(expected), "{arguments}: {reply}");
    };
    check(r#"{"n":"x"}"#, "invalid_arguments the arguments for `s_a`").await;
    check(r#""text""#, "invalid_arguments").await;
    check("[]", "invalid_arguments").await;
    check("null", "ok reached").await;
    check(r#"{"n":1,"n":2}"#, "error: `arguments` cannot be read: duplicate key `n`").await;
    check(r#"{"extra":{"__proto__":1}}"#, "ok reached").await;
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    check(&deep, "error: `arguments` cannot be read").await;
}

#[tokio::test(start_paused = true)]
async fn r_15_a_hanging_tool_is_given_up_in_time_and_told_so() {
    let test = gate(Era::Modern, |_| Box::pin(std::future::pending())).await;
    let client = nobody();
    let reply = test.call(r#"{"name":"s_a"}"#, Caller::silent(&client)).await;
    assert_eq!(describe_reply(&reply), "timeout `s_a` did not answer within 10000 ms");
    assert_eq!(*test.dropped.lock(), 1, "the server was told by dropping the call");

    let deadline = Deadline::after(SystemClock.now(), Duration::from_millis(500));
    let turn = Turn { deadline: Some(deadline), ..test.turn() };
    let began = SystemClock.now();
    let reply = test.gate.call(&turn, request(r#"{"name":"s_a"}"#), Caller::silent(&client)).await;
    assert_eq!(describe_reply(&reply), "timeout `s_a` did not answer within 500 ms");
    assert_eq!((SystemClock.now() - began).as_millis(), 500);
    let late = test.gate.call(&turn, request(r#"{"name":"s_a"}"#), Caller::silent(&client)).await;
    assert_eq!(describe_reply(&late), "timeout the turn's deadline has passed");
}

#[tokio::test]
async fn a_server_that_is_away_or_breaks_off_becomes_a_helpful_result() {
    let test = gate(Era::Modern, |seen| {
        Box::pin(async move {
            Err(match seen.name.as_str() {
                "a" => {
                    BackendError::Offline { state: "failed", reason: "exit status: 1".to_owned() }
                }
                _ => BackendError::Lost("end of file".to_owned()),
            })
        })
    })
    .await;
    let client = nobody();
    let away = test.call(r#"{"name":"s_a"}"#, Caller::silent(&client)).await;
    assert_eq!(describe_reply(&away), "offline server `s` is failed: exit status: 1");
    let lost = describe_reply(&test.call(r#"{"name":"s_b"}"#, Caller::silent(&client)).await);
    assert!(lost.starts_with("error server `s` disconnected before it answered (end of file)"));
}

#[tokio::test]
async fn r_36_every_call_leaves_exactly_one_record() {
    let test = gate(Era::Modern, |seen| {
        Box::pin(async move {
            if seen.name == "b" {
                std::future::pending::<()>().await;
            }
            Ok(text("fine"))
        })
    })
    .await;
    let client = nobody();
    let _ = test.call(r#"{"name":"s_a"}"#, Caller::silent(&client)).await;
    let _ = test.call(r#"{"name":"s_a","arguments":{"n":"x"}}"#, Caller::silent(&client)).await;
    let _ = test.call(r#"{"name":"nope"}"#, Caller::silent(&client)).await;
    let hanging = test.call(r#"{"name":"s_b"}"#, Caller::silent(&client));
    assert!(tokio::time::timeout(Duration::from_millis(20), hanging).await.is_err());
    assert_eq!(
        *test.records.lock(),
        ["s_a ok", "s_a invalid_arguments", "nope refused", "s_b cancelled"]
    );
}

#[tokio::test]
async fn s_29_what_a_model_was_not_offered_is_recorded_and_reaches_nobody() {
    let test =
        gate(Era::Modern, |_| Box::pin(async { panic!("nothing may reach the server") })).await;
    let call = request(r#"{"name":"s_a"}"#);
    let outcome =
        test.gate.decline(&test.turn(), call, "there is no tool `s_a`", "not offered").await;
    assert_eq!(outcome.status, CallStatus::Denied);
    assert_eq!(*test.records.lock(), ["s_a denied"]);
}

#[tokio::test]
async fn s_14_task_handles_are_sealed_and_belong_to_one_principal() {
    let test = gate(Era::Modern, |seen| {
        Box::pin(async move {
            if seen.params.get("taskId").is_some() {
                assert_eq!(seen.params["taskId"], "inner-7", "the server sees its own id");
                let result =
                    json!({"resultType": "complete", "taskId": "inner-7", "status": "working"});
                return Ok(Answer { kind: AnswerKind::Complete, result: raw_value(&result) });
            }
            let result = json!({"resultType": "task", "taskId": "inner-7", "status": "working"});
            Ok(Answer { kind: AnswerKind::Task, result: raw_value(&result) })
        })
    })
    .await;
    let capable = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#.to_owned();
    let client = ClientFacts { capabilities: Some(raw(capable)), ..nobody() };
    let plain = nobody();
    let refused = describe_reply(&test.call(r#"{"name":"s_a"}"#, Caller::silent(&plain)).await);
    assert_eq!(refused, "error `s_a` answered with a task that was not requested");

    let Ok(Reply::Task(task)) = test.call(r#"{"name":"s_a"}"#, Caller::silent(&client)).await
    else {
        panic!("a task was expected");
    };
    let task: Value = serde_json::from_str(task.get()).unwrap();
    let handle = task["taskId"].as_str().unwrap();
    assert_ne!(handle, "inner-7");
    let params = json!({"taskId": handle}).to_string();
    let get = async |principal: &str| {
        let params = Object::parse(&params).unwrap();
        let turn = test.turn_of(principal);
        let request = TaskRequest { verb: TaskVerb::Get, params };
        test.gate.task(&turn, request, Caller::silent(&client)).await
    };
    let seen: Value = serde_json::from_str(get("ada").await.unwrap().get()).unwrap();
    assert_eq!(seen["taskId"], handle);
    test.records.lock().clear();
    assert!(matches!(get("bob").await, Err(CallError::Refused(PermitError::UnknownTask))));
    let name = &handle[..16];
    assert_eq!(*test.records.lock(), [format!("{name} refused")], "a refusal leaves one record");
}

#[tokio::test(start_paused = true)]
async fn what_was_cut_is_read_by_its_handle_and_only_by_its_principal() {
    let long = "one line of text\n".repeat(1_000);
    let whole = long.clone();
    let test = gate(Era::Modern, move |_| {
        let whole = whole.clone();
        Box::pin(async move { Ok(text(&whole)) })
    })
    .await;
    let client = nobody();
    let caller = Caller { caps: ResultCaps::gemini_live(), ..Caller::silent(&client) };
    let Ok(Reply::Tool(outcome)) = test.call(r#"{"name":"s_a"}"#, caller).await else {
        panic!("an outcome was expected");
    };
    assert!(outcome.result.get().len() <= ResultCaps::gemini_live().total_bytes);
    let handle = outcome.handle.expect("something was cut").to_string();
    assert!(outcome.result.get().contains(&handle), "the model is told");
    let read =
        |principal: &str, handle: &str| test.gate.result(&Principal::from_name(principal), handle);
    let ResultLookup::Ready(stored) = read("ada", &handle) else { panic!("it was kept") };
    assert_eq!((stored.tool.as_str(), stored.outcome.status), ("s_a", CallStatus::Ok));
    let mut together = String::new();
    let mut next = Some(1);
    while let Some(number) = next {
        let page = pages::page(&stored.outcome.result, number, stored.page_bytes).unwrap();
        together.push_str(&serde_json::from_str::<String>(page.data.get()).unwrap());
        next = page.next;
    }
    assert_eq!(together, long);
    let whole = Outcome { handle: None, ..stored.outcome.clone() };
    let consumers = [ResultCaps::gemini_live(), ResultCaps::mcp(), ResultCaps::gemini_live()];
    let each = test.gate.reshape(&test.turn(), "s_a", &whole, &consumers);
    let handles: Vec<_> = each.iter().map(|outcome| outcome.handle).collect();
    assert!(handles[0].is_some(), "the rest is kept");
    assert_eq!(handles, [handles[0], None, handles[0]], "once, for all who could not take it");
    for (principal, handle) in [("bob", handle.as_str()), ("ada", "r_0"), ("ada", "")] {
        assert!(matches!(read(principal, handle), ResultLookup::Unknown), "{principal} {handle}");
    }
    tokio::time::advance(Duration::from_secs(600)).await;
    assert!(matches!(read("ada", &handle), ResultLookup::Unknown), "its time is over");
    let caller = Caller {
        rest: OverflowPolicy::Lost,
        caps: ResultCaps::gemini_live(),
        ..Caller::silent(&client)
    };
    let Ok(Reply::Tool(cut)) = test.call(r#"{"name":"s_a"}"#, caller).await else {
        panic!("an outcome was expected");
    };
    assert!(cut.handle.is_none() && !cut.result.get().contains("r_"), "{}", cut.result.get());
    let small = describe_reply(&test.call(r#"{"name":"s_a"}"#, Caller::silent(&client)).await);
    assert_eq!(small, format!("ok {long}"), "others take it whole");
}
