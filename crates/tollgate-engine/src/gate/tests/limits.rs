//! How often and how many at once, at the door.

use tollgate_core::call::{Decider, Retryability as Again};
use tollgate_core::id::ToolName;
use tollgate_core::rate::RateLimit;
use tollgate_core::tool::ToolOverride;
use tollgate_core::turn::PrincipalGrant;

use super::*;

fn limit(calls: u32) -> RateLimit {
    RateLimit { calls, per: Duration::from_secs(60) }
}

/// Tool `a` may be called twice in a minute.
async fn limited_gate(agent: Agent) -> TestGate {
    let mut rules = ServerRules::new(ServerId::parse("s").unwrap(), ServerOrigin::Upstream);
    let twice = ToolOverride { rate_limit: Some(limit(2)), ..ToolOverride::default() };
    rules.tools.insert(ToolName::new("a"), twice);
    let tools = ["a", "b"].map(tool).to_vec();
    gate_for(agent, RecordingStage::default(), Era::Modern, rules, tools, |seen| {
        Box::pin(async move {
            if seen.name == "b" {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Ok(text("done"))
        })
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_called_too_often_says_when_to_come_back() {
    let test = limited_gate(Agent::implicit()).await;
    let client = nobody();
    let call = async || test.call(r#"{"name":"s_a"}"#, Caller::silent(&client)).await;
    assert_eq!(describe_reply(&call().await), "ok done");
    assert_eq!(describe_reply(&call().await), "ok done");
    let Ok(Reply::Tool(refused)) = call().await else { panic!("an outcome was expected") };
    assert_eq!(refused.status, CallStatus::RateLimited);
    let hint = Some("try again in 30 s".to_owned());
    assert_eq!(refused.retry, Again::Sensible { hint, after: Some(Duration::from_secs(30)) });
    let shown = describe_reply(&Ok(Reply::Tool(refused)));
    let expected = "this tool may be called 2 times in a minute; try again in 30 s";
    assert_eq!(shown, format!("rate_limited {expected}"));

    let turn = test.turn_of("bob");
    let by_bob = test.gate.call(&turn, request(r#"{"name":"s_a"}"#), Caller::silent(&client)).await;
    assert!(describe_reply(&by_bob).starts_with("rate_limited"), "it is the tool that is limited");
    tokio::time::advance(Duration::from_secs(30)).await;
    assert_eq!(describe_reply(&call().await), "ok done");
    assert_eq!(test.records.lock().len(), 5, "the refused ones are recorded too");
}

#[tokio::test(start_paused = true)]
async fn s_33_a_principal_cannot_call_more_often_than_granted() {
    let test = limited_gate(Agent::implicit()).await;
    let client = nobody();
    let grant = PrincipalGrant { rate_limit: Some(limit(3)), ..PrincipalGrant::default() };
    let turn = Turn { grant: Some(Arc::new(grant)), ..test.turn() };
    let mut passed = 0;
    for _ in 0..50 {
        let request = request(r#"{"name":"s_b"}"#);
        let reply = test.gate.call(&turn, request, Caller::silent(&client)).await;
        passed += usize::from(describe_reply(&reply) == "ok done");
    }
    assert_eq!(passed, 3, "at exactly the limit");
    let other = test.turn_of("bob");
    let reply = test.gate.call(&other, request(r#"{"name":"s_b"}"#), Caller::silent(&client)).await;
    assert_eq!(describe_reply(&reply), "ok done", "others are not concerned");
}

#[tokio::test(start_paused = true)]
async fn measurements_are_not_counted_but_an_agent_is_by_what_runs_at_once() {
    let test = limited_gate(Agent { concurrent: Some(2), ..Agent::implicit() }).await;
    let client = nobody();
    for _ in 0..5 {
        let caller = Caller { decided_by: Decider::Gateway, ..Caller::silent(&client) };
        assert_eq!(describe_reply(&test.call(r#"{"name":"s_a"}"#, caller).await), "ok done");
    }
    let calls = (0..3).map(|_| request(r#"{"name":"s_b"}"#)).collect();
    let replies = test.gate.call_all(&test.turn(), calls, Caller::silent(&client)).await;
    let shown: Vec<String> = replies.iter().map(describe_reply).collect();
    let refused =
        "rate_limited agent `default` has 2 calls running, which is its limit; try again in 1 s";
    assert_eq!(shown, ["ok done", "ok done", refused]);
    let gone = test.call(r#"{"name":"s_b"}"#, Caller::silent(&client));
    assert!(tokio::time::timeout(Duration::from_millis(10), gone).await.is_err());
    let calls = (0..2).map(|_| request(r#"{"name":"s_b"}"#)).collect();
    let replies = test.gate.call_all(&test.turn(), calls, Caller::silent(&client)).await;
    assert!(
        replies.iter().all(|it| describe_reply(it) == "ok done"),
        "who went away is not counted"
    );
}
