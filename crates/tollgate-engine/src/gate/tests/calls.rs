//! What people see of calls that run, and of those that ran.

use tollgate_core::approval::{ApprovalVerdict, Decision};
use tollgate_core::id::ToolName;
use tollgate_core::tool::{ApprovalMode, ToolOverride};

use super::*;
use crate::calls::{CallProgress, Event as CallEvent, MAX_FINISHED_CALLS, StepTiming};

/// `a` takes 100 ms, `b` needs approval.
async fn observed() -> TestGate {
    let change = |rules: &mut ServerRules, tools: &mut Vec<Value>| {
        let always =
            ToolOverride { approval: Some(ApprovalMode::Always), ..ToolOverride::default() };
        rules.tools.insert(ToolName::new("b"), always);
        tools[0]["inputSchema"]["properties"]["queue"] = json!({ "type": "integer" });
    };
    gate_of(Era::Modern, change, |seen| {
        Box::pin(async move {
            if seen.name == "a" {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Ok(text("done"))
        })
    })
    .await
}

/// `s_a ok: admitted 0-0, queued 0-30, attempt 30-130`, in milliseconds; what lasts has no end.
fn drawn(call_progress: &CallProgress) -> String {
    let step = |StepTiming { step, from, to }: StepTiming| {
        let to = to.map_or_else(String::new, |to| to.as_millis().to_string());
        format!("{} {}-{to}", step.as_str(), from.as_millis())
    };
    let steps: Vec<String> = call_progress.steps().into_iter().map(step).collect();
    let outcome = call_progress.summary().map_or("runs", |ended| ended.end.as_str());
    format!("{} {outcome}: {}", call_progress.name, steps.join(", "))
}

fn finished(test: &TestGate) -> Vec<String> {
    test.gate
        .calls()
        .list_finished(None, MAX_FINISHED_CALLS, |_| true)
        .calls
        .iter()
        .map(|it| drawn(it))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_call_is_seen_step_by_step() {
    let test = observed().await;
    let client = nobody();
    let params = r#"{"name":"s_a","arguments":{"queue":30}}"#;
    let mut call = Box::pin(test.call(params, Caller::silent(&client)));
    let mut after = async |millis| {
        assert!(futures_util::poll!(&mut call).is_pending());
        tokio::time::advance(Duration::from_millis(millis)).await;
        assert!(futures_util::poll!(&mut call).is_pending() || millis > 90);
        test.gate.calls().running().iter().map(|it| drawn(it)).collect::<Vec<_>>()
    };
    assert_eq!(after(10).await, ["s_a runs: admitted 0-0, queued 0-"]);
    assert_eq!(after(30).await, ["s_a runs: admitted 0-0, queued 0-40, attempt 40-"]);
    assert_eq!(describe_reply(&call.await), "ok done");
    assert!(test.gate.calls().running().is_empty());
    let expected = "s_a ok: admitted 0-0, queued 0-40, attempt 40-140, shaped 140-140";
    assert_eq!(finished(&test), [expected]);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_person_is_a_step_of_its_own() {
    let test = observed().await;
    let client = nobody();
    let call = test.call(r#"{"name":"s_b"}"#, Caller::silent(&client));
    let decide = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let id = test.gate.approvals().waiting()[0].id;
        let decision = Decision::Approve;
        let by = Principal::from_name("boss");
        test.gate.judge(ApprovalVerdict { id, decision, by, note: None }).await.unwrap();
    };
    assert_eq!(describe_reply(&tokio::join!(call, decide).0), "ok done");
    let expected =
        "s_b ok: admitted 0-0, leave 0-500, queued 500-500, attempt 500-500, shaped 500-500";
    assert_eq!(finished(&test), [expected]);
}

#[tokio::test(start_paused = true)]
async fn what_never_got_far_and_what_was_dropped_is_seen_too() {
    let test = observed().await;
    let client = nobody();
    let _ = test.call(r#"{"name":"nothing"}"#, Caller::silent(&client)).await;
    let _ = test.call(r#"{"name":"s_a","arguments":{"n":"x"}}"#, Caller::silent(&client)).await;
    let mut call = Box::pin(test.call(r#"{"name":"s_a"}"#, Caller::silent(&client)));
    assert!(futures_util::poll!(&mut call).is_pending());
    tokio::time::advance(Duration::from_millis(20)).await;
    drop(call);
    assert!(test.gate.calls().running().is_empty());
    let expected = [
        "s_a cancelled: admitted 0-0, queued 0-0, attempt 0-20",
        "s_a invalid_arguments: ",
        "nothing refused: ",
    ];
    assert_eq!(finished(&test), expected);
}

#[tokio::test(start_paused = true)]
async fn the_calls_of_a_turn_have_its_name_its_beginning_and_its_wall() {
    let test = observed().await;
    let client = nobody();
    let deadline = Some(Deadline::after(test.gate.clock.now(), Duration::from_millis(150)));
    let turn = Turn { deadline, ..test.turn() };
    for _ in 0..2 {
        let call = request(r#"{"name":"s_a"}"#);
        let _ = test.gate.call(&turn, call, Caller::silent(&client)).await;
    }
    let _ = test.call(r#"{"name":"s_a"}"#, Caller::silent(&client)).await;
    let page =
        test.gate.calls().list_finished(None, 10, |call_progress| call_progress.turn == turn.id);
    let ends: Vec<_> = page.calls.iter().map(|it| it.summary().unwrap().end.as_str()).collect();
    assert_eq!(ends, ["timeout", "ok"]);
    let [second, first] = &page.calls[..] else { panic!("two calls of that turn") };
    assert_eq!(first.span, Some(Duration::from_millis(150)));
    assert_eq!(second.span, first.span);
    let near = first.turn_began.duration_since(second.turn_began);
    let near = near.unwrap_or_else(|later| later.duration());
    assert!(near < Duration::from_secs(5), "the wall clock is not paused");
    let hour = test.gate.calls().hour();
    let sums = |it: &crate::calls::MinuteStats| (it.calls, it.errors, it.misses);
    assert_eq!(hour.minutes.len(), 60);
    assert_eq!(hour.minutes.last().map(sums), Some((3, 1, 1)));
    let deep = hour.tiers.last().unwrap();
    assert_eq!((deep.calls, deep.misses), (3, 1));
    assert!(deep.spans.percentile(50).is_some_and(|p50| p50 >= Duration::from_millis(100)));
}

#[tokio::test(start_paused = true)]
async fn only_the_last_are_kept_and_they_come_page_by_page() {
    let test = observed().await;
    let client = nobody();
    for _ in 0..MAX_FINISHED_CALLS + 50 {
        let _ = test.call(r#"{"name":"nothing"}"#, Caller::silent(&client)).await;
    }
    let mut seen = Vec::new();
    let mut before = None;
    loop {
        let page = test.gate.calls().list_finished(before, 300, |_| true);
        seen.extend(page.calls.iter().map(|call_progress| call_progress.id));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(seen.len(), MAX_FINISHED_CALLS);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), MAX_FINISHED_CALLS, "none comes twice");
}

#[tokio::test(start_paused = true)]
async fn whoever_listens_hears_calls_begin_and_end() {
    let test = observed().await;
    let client = nobody();
    let mut listening = test.gate.calls().listen();
    let _ = test.call(r#"{"name":"nothing"}"#, Caller::silent(&client)).await;
    let _ = test.call(r#"{"name":"s_a"}"#, Caller::silent(&client)).await;
    let mut received = Vec::new();
    for _ in 0..3 {
        received.push(match listening.next().await.unwrap() {
            CallEvent::Started(call_progress) => format!("started {}", call_progress.name),
            CallEvent::Done(call_progress) => format!("done {}", call_progress.name),
        });
    }
    assert_eq!(received, ["done nothing", "started s_a", "done s_a"]);
}

#[tokio::test(start_paused = true)]
async fn minutes_pass_and_are_forgotten_after_an_hour() {
    let test = observed().await;
    let client = nobody();
    let counts = || -> Vec<(usize, u64)> {
        let minutes = test.gate.calls().hour().minutes;
        let counts = minutes.iter().rev().map(|minute| minute.calls).enumerate();
        counts.filter(|(_, calls)| *calls > 0).collect()
    };
    let call = async || {
        let _ = test.call(r#"{"name":"nothing"}"#, Caller::silent(&client)).await;
    };
    call().await;
    assert_eq!(counts(), [(0, 1)]);
    tokio::time::advance(Duration::from_secs(60)).await;
    call().await;
    call().await;
    assert_eq!(counts(), [(0, 2), (1, 1)]);
    tokio::time::advance(Duration::from_secs(58 * 60)).await;
    assert_eq!(counts(), [(58, 2), (59, 1)]);
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(counts(), [(59, 2)]);
    tokio::time::advance(Duration::from_secs(7_200)).await;
    assert!(counts().is_empty());
    call().await;
    assert_eq!(counts(), [(0, 1)]);
}

#[tokio::test(start_paused = true)]
async fn each_attempt_counts_by_how_it_went_itself() {
    let tries = Arc::new(Mutex::new(0));
    let change = |rules: &mut ServerRules, _: &mut Vec<Value>| {
        let again = ToolOverride { idempotent: Some(true), ..ToolOverride::default() };
        rules.tools.insert(ToolName::new("a"), again);
    };
    let test = gate_of(Era::Modern, change, move |_| {
        *tries.lock() += 1;
        let is_first = *tries.lock() == 1;
        Box::pin(async move {
            if is_first { Err(BackendError::Lost("it broke".to_owned())) } else { Ok(text("done")) }
        })
    })
    .await;
    let client = nobody();
    let reply = test.call(r#"{"name":"s_a"}"#, Caller::silent(&client)).await;
    assert_eq!(describe_reply(&reply), "ok done");
    let counts = test.gate.calls().counts();
    let (_, of_method) = counts.methods().find(|(method, _)| *method == "tools/call").unwrap();
    let spans = (of_method.answered.read().count, of_method.failed.read().count);
    assert_eq!(spans, (1, 1), "one attempt broke, one was answered");
    let [(Some(id), of_tool)] = &counts.tools()[..] else { panic!("one tool was called") };
    assert_eq!((id.tool.as_str(), of_tool.spans.read().count), ("a", 1));
    let ends: Vec<_> = of_tool.ends().map(|(end, count)| (end.as_str(), count)).collect();
    assert_eq!(ends, [("ok", 1)], "the call is one, and ended well");
}
