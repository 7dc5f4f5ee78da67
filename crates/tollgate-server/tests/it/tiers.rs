//! Turns with a latency budget: visible tools, calls, and the wall.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::budget::Ceilings;
use tollgate_core::id::ToolName;
use tollgate_core::tool::ToolOverride;
use tollgate_engine::settings::Server as UpstreamSettings;
use tollgate_mcp::Revision;

use crate::client::{Call, Reply};
use crate::stage::{Setup, Stage, at, server};
use crate::upstream::Upstream;

/// `up_count` and `up_hang` say that they are fast, `up_data` that it is slow; of the others
/// nothing is known.
async fn stage() -> (Upstream, Stage) {
    stage_with(Ceilings::default()).await
}

async fn stage_with(ceilings: Ceilings) -> (Upstream, Stage) {
    let up = Upstream::start().await;
    up.script.grow("say");
    let declared = |name: &str, ms: u64| {
        let estimated = Some(Duration::from_millis(ms));
        (ToolName::new(name), ToolOverride { estimated, ..ToolOverride::default() })
    };
    let tools =
        BTreeMap::from([declared("count", 50), declared("hang", 50), declared("data", 3000)]);
    let server =
        UpstreamSettings { tools, ..server("up", at(up.address), Revision::NEWEST_LEGACY) };
    let setup = Setup { servers: vec![server], ceilings, ..Setup::default() };
    let stage = Stage::with(setup).await;
    (up, stage)
}

fn names(reply: &Reply) -> Vec<String> {
    let answer = reply.json();
    let tools = answer.pointer("/result/tools").or_else(|| answer.get("tools"));
    let tools = tools.and_then(Value::as_array).unwrap_or_else(|| panic!("{reply:?}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn execute(stage: &Stage, call: &Value) -> Call {
    stage.post(call.to_string()).path("/v1/tools/execute")
}

fn in_meta(tier: &str) -> Value {
    json!({"dev.tollgate/tier": tier})
}

#[tokio::test]
async fn a_fast_turn_shows_only_fast_tools_however_it_is_asked_for() {
    let (_up, stage) = stage().await;
    let session = stage.open_session("2025-11-25", json!({})).await;
    let list = || session.call(1, "tools/list", &json!({}));
    let requests = [
        stage.request("GET", "/v1/tools?tier=fast"),
        stage.request("GET", "/v1/tools").header("x-tollgate-tier", "fast"),
        stage.modern("tools/list", json!({"_meta": in_meta("fast")})),
        stage.modern("tools/list", json!({})).header("x-tollgate-tier", "fast"),
        session.call(1, "tools/list", &json!({"_meta": in_meta("fast")})),
        list().header("x-tollgate-tier", "fast"),
    ];
    for call in requests {
        let seen = names(&call.send().await);
        for (name, expected) in [("up_count", true), ("up_data", false), ("up_say", false)] {
            assert_eq!(seen.iter().any(|it| it == name), expected, "{name}: {seen:?}");
        }
    }
    assert!(names(&list().send().await).contains(&"up_data".to_owned()), "for that request only");
}

#[tokio::test]
async fn a_fast_turn_runs_only_fast_tools() {
    // No busy machine takes that long for a quick call.
    let fast = Duration::from_millis(2_500);
    let ceilings = Ceilings { fast, standard: fast, ..Ceilings::default() };
    let (up, stage) = stage_with(ceilings).await;
    let session = stage.open_session("2025-11-25", json!({})).await;
    let call = |name: &str| json!({"name": name, "_meta": in_meta("fast")});
    let quick = [
        execute(&stage, &json!({"name": "up_count", "tier": "fast"})),
        stage.modern("tools/call", call("up_count")),
        session.call(1, "tools/call", &call("up_count")),
    ];
    for call in quick {
        let reply = call.send().await;
        assert!(reply.text.contains("done"), "{reply:?}");
    }
    assert_eq!(up.script.calls.lock().len(), 3);
    let denied = execute(&stage, &json!({"name": "up_data", "tier": "fast"})).send().await;
    assert_eq!(denied.json()["status"], "denied");
    let refused = stage.modern("tools/call", call("up_data"));
    assert_eq!(refused.brief().await, "200 -32602");
    assert_eq!(session.call(2, "tools/call", &call("up_data")).brief().await, "200 -32602");
    assert_eq!(up.script.calls.lock().len(), 3, "what is not seen is not run");
}

#[tokio::test]
async fn a_turn_ends_at_its_wall_and_the_server_is_told() {
    let (up, stage) = stage().await;
    let outcome = execute(&stage, &json!({"name": "up_hang", "tier": "fast"})).send().await.json();
    assert_eq!((&outcome["status"], &outcome["retryable"]), (&json!("timeout"), &json!(false)));
    let took = outcome["duration_ms"].as_u64().unwrap();
    assert!(took < 9_000, "{took} ms: the server's own limit is 10 s");
    up.script.hears_a_cancel().await;
    let call = json!({"name": "up_hang", "_meta": in_meta("fast")});
    assert_eq!(stage.modern("tools/call", call).brief().await, "200 failed");
    assert_eq!(up.script.calls.lock().len(), 2);
}

#[tokio::test]
async fn clients_are_told_of_tools_that_moved_if_they_see_that() {
    let (_up, stage) = stage().await;
    let mut operator = stage.request("GET", "/api/events").by_admin().stream().await;
    let listen = |tier: &str| {
        let requested = json!({"toolsListChanged": true});
        let params = json!({"notifications": requested, "_meta": in_meta(tier)});
        stage.modern("subscriptions/listen", params)
    };
    let mut fast = listen("fast").stream().await;
    let mut deep = listen("deep").stream().await;
    for stream in [&mut fast, &mut deep] {
        let acknowledged = "notifications/subscriptions/acknowledged";
        assert_eq!(stream.next().await.unwrap()["method"], acknowledged);
    }
    for _ in 0..5 {
        let outcome = execute(&stage, &json!({"name": "up_say"})).send().await.json();
        assert_eq!(outcome["status"], "ok");
    }
    let body = fast.next().await.unwrap();
    assert_eq!(body["method"], "notifications/tools/list_changed");
    let seen = stage.request("GET", "/v1/tools?tier=fast").send().await;
    assert!(names(&seen).contains(&"up_say".to_owned()));
    deep.silent().await;
    let (name, moved) = operator.next_named().await.unwrap();
    assert_eq!(name, "moved");
    assert_eq!((&moved["server"], &moved["tool"]), (&json!("up"), &json!("say")));
    assert_eq!((&moved["from"], &moved["to"]), (&json!("standard"), &json!("fast")));
    assert!(moved["reason"].as_str().unwrap().contains("measured p50"), "{moved}");
}

async fn choose(call: Call) -> (String, String) {
    let reply = call.send().await;
    let answer = reply.json();
    let text = |key: &str| answer[key].as_str().unwrap_or_else(|| panic!("{reply:?}")).to_owned();
    (text("tier"), text("reason"))
}

fn ask(stage: &Stage, answer: &Value) -> Call {
    stage.post(answer.to_string()).path("/v1/tier")
}

#[tokio::test]
async fn what_is_said_chooses_the_tier_and_what_fits_into_it() {
    let (_up, stage) = stage().await;
    let answer = json!({"text": "explain in detail", "conversation": "c", "agent": "default"});
    let deep = ask(&stage, &answer).send().await.json();
    assert_eq!((&deep["tier"], &deep["agent"]), (&json!("deep"), &json!("default")));
    let tools = deep["tools"].as_array().unwrap();
    assert!(tools.contains(&json!("up_data")) && tools.contains(&json!("up_count")), "{deep}");
    let again = choose(ask(&stage, &answer)).await;
    assert_eq!(again.0, "standard", "so soon after: {}", again.1);
    let other = json!({"text": "explain in detail", "conversation": "d"});
    assert_eq!(choose(ask(&stage, &other)).await.0, "deep", "another conversation");
    let fast = ask(&stage, &json!({"text": "hello", "conversation": "c"})).send().await.json();
    assert_eq!(fast["tier"], "fast");
    let tools = fast["tools"].as_array().unwrap();
    assert!(tools.contains(&json!("up_count")) && !tools.contains(&json!("up_data")), "{fast}");
}

#[tokio::test]
async fn headers_count_where_the_body_says_nothing() {
    let (_up, stage) = stage().await;
    let first = json!({"text": "hello"});
    let named = |call: Call| call.header("x-tollgate-conversation", "h");
    assert_eq!(choose(named(ask(&stage, &first))).await.0, "standard", "the first turn");
    assert_eq!(choose(named(ask(&stage, &first))).await.0, "fast", "the second");
    let crowd =
        ask(&stage, &json!({"text": "do you remember"})).header("x-tollgate-queue-depth", "4");
    let (tier, reason) = choose(crowd).await;
    assert_eq!((&*tier, &*reason), ("fast", "4 turns are waiting"));
    let body_first = json!({"text": "do you remember", "queue_depth": 0});
    let call = ask(&stage, &body_first).header("x-tollgate-queue-depth", "4");
    assert_eq!(choose(call).await.0, "standard");
    let forced = ask(&stage, &first).header("x-tollgate-tier", "deep");
    assert_eq!(choose(forced).await, ("deep".to_owned(), "requested explicitly".to_owned()));
    let sage = ask(&stage, &first).header("x-tollgate-agent", "sage").send().await.json();
    assert_eq!(sage["agent"], "sage");
}

#[tokio::test]
async fn a_partial_utterance_is_no_turn_yet() {
    let (_up, stage) = stage().await;
    let partial = json!({"text": "hello", "conversation": "p", "partial": true});
    for _ in 0..2 {
        assert_eq!(choose(ask(&stage, &partial)).await.0, "standard", "still the first turn");
    }
}

#[tokio::test]
async fn r_15_what_chooses_no_tier_is_refused_by_its_name() {
    let (_up, stage) = stage().await;
    let long = "a".repeat((64 << 10) + 1);
    for (answer, named) in [
        (json!({}), "text"),
        (json!({"text": null}), "text"),
        (json!({"text": ["hello"]}), "text"),
        (json!({"text": long}), "text"),
        (json!({"text": "x", "agent": 5}), "agent"),
        (json!({"text": "x", "conversation": {}}), "conversation"),
        (json!({"text": "x", "queue_depth": -1}), "queue_depth"),
        (json!({"text": "x", "queue_depth": 1.5}), "queue_depth"),
        (json!({"text": "x", "queue_depth": "3"}), "queue_depth"),
        (json!({"text": "x", "override": "warp"}), "override"),
        (json!({"text": "x", "partial": "yes"}), "partial"),
    ] {
        let reply = ask(&stage, &answer).send().await;
        let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
        assert_eq!(reply.status, 400, "{message}");
        assert!(message.contains(&format!("`{named}`")), "{named}: {message}");
    }
    for (header, value) in [("x-tollgate-queue-depth", "-1"), ("x-tollgate-tier", "warp")] {
        let reply = ask(&stage, &json!({"text": "x"})).header(header, value).send().await;
        assert_eq!(reply.status, 400);
        assert!(reply.text.contains(header), "{reply:?}");
    }
    let nobody = ask(&stage, &json!({"text": "x", "agent": "nobody"})).send().await;
    assert_eq!((nobody.status, &nobody.json()["error"]["code"]), (404, &json!("unknown_agent")));
}

#[tokio::test]
async fn tools_are_shown_with_their_tier_and_the_reason() {
    let (_up, stage) = stage().await;
    let shown = stage.request("GET", "/v1/tools").send().await.json();
    assert_eq!(shown["tier"], Value::Null, "no budget");
    let tool = |name: &str| {
        let mut tools = shown["tools"].as_array().unwrap().iter();
        tools.find(|tool| tool["name"] == name).unwrap().clone()
    };
    for (name, tier, reason, compatibility) in [
        ("up_count", "fast", "declared 50 ms", "fast compatible"),
        ("up_data", "deep", "declared 3000 ms", "deep only"),
        ("up_say", "standard", "not measured yet", "standard compatible"),
    ] {
        let tool = tool(name);
        assert_eq!(tool["compatibility"], compatibility);
        assert_eq!((&tool["tier"], &tool["reason"]), (&json!(tier), &json!(reason)));
        assert_eq!((&tool["health"], &tool["bimodal"]), (&json!("healthy"), &json!(false)));
        assert_eq!((&tool["measured"], &tool["badge"]), (&Value::Null, &Value::Null));
    }
}
