//! Calibration on demand, and its report.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tollgate_core::id::ToolName;
use tollgate_core::tool::ToolOverride;
use tollgate_engine::settings::Server as UpstreamSettings;
use tollgate_mcp::Revision;

use crate::client::Call;
use crate::stage::{Setup, Stage, at, server};
use crate::upstream::Upstream;

/// `up_count` may be probed; whether the others have an effect nobody knows.
async fn stage() -> (Upstream, Stage) {
    let up = Upstream::start().await;
    up.script.grow("say");
    let count = ToolOverride { probe: Some(json!({})), ..ToolOverride::default() };
    let tools = BTreeMap::from([(ToolName::new("count"), count)]);
    let server = UpstreamSettings {
        tools,
        category: Some("counting".to_owned()),
        ..server("up", at(up.address), Revision::NEWEST_LEGACY)
    };
    let stage = Stage::with(Setup { servers: vec![server], ..Setup::default() }).await;
    (up, stage)
}

fn calibrate(stage: &Stage, what: &Value) -> Call {
    stage.post(what.to_string()).path("/api/calibrate").by_admin()
}

async fn read_stream(call: Call) -> Vec<(String, Value)> {
    let mut stream = call.stream().await;
    let mut events = Vec::new();
    while let Some(event) = stream.next_named().await {
        events.push(event);
    }
    events
}

#[tokio::test]
async fn what_may_be_probed_is_measured_step_by_step() {
    let (up, stage) = stage().await;
    let mut events = read_stream(calibrate(&stage, &json!({"server": "up"}))).await;
    let (name, done) = events.pop().unwrap();
    assert_eq!(name, "done");
    let (probed, others): (Vec<_>, Vec<_>) =
        events.iter().partition(|(_, step)| step["outcome"] == "probed");
    assert_eq!(probed.len(), 5, "as many as count");
    for (name, step) in &probed {
        assert_eq!(
            (&**name, &step["tool"], &step["server"]),
            ("step", &json!("up_count"), &json!("up"))
        );
        assert!(step["took_ms"].as_f64().is_some_and(|took| took > 0.0), "{step}");
    }
    assert_eq!(others.len(), 5, "the other tools of the server");
    for (_, step) in &others {
        assert_eq!(step["outcome"], "skipped", "{step}");
        assert!(step["why"].is_string() && step.get("took_ms").is_none(), "{step}");
    }
    let (_, last) = events.last().unwrap();
    assert_eq!((&last["done"], &last["total"]), (&json!(10), &json!(10)));
    assert_eq!(*up.script.calls.lock(), ["count"; 5]);
    let tools = done["tools"].as_array().unwrap();
    let count = tools.iter().find(|tool| tool["name"] == "up_count").unwrap();
    assert_eq!((&count["server"], tools.len()), (&json!("up"), 6));
    assert_eq!((&count["tier"], &count["measured"]["calls"]), (&json!("fast"), &json!(5)));
    assert!(count["reason"].as_str().unwrap().contains("over 5 calls"), "{count}");
}

#[tokio::test]
async fn one_tool_is_probed_as_often_as_was_asked() {
    let (up, stage) = stage().await;
    let events = read_stream(calibrate(&stage, &json!({"tool": "up_count", "times": 2}))).await;
    let names: Vec<&str> = events.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["step", "step", "done"]);
    assert_eq!(up.script.calls.lock().len(), 2);
}

#[tokio::test]
async fn what_cannot_be_measured_is_a_problem_by_its_name() {
    let (up, stage) = stage().await;
    for (what, status, named) in [
        (json!({"times": 0}), 400, "times"),
        (json!({"times": 101}), 400, "times"),
        (json!({"times": "5"}), 400, "times"),
        (json!({"server": 5}), 400, "server"),
        (json!({"server": "up", "tool": "up_count"}), 400, "not both"),
        (json!({"server": "nobody"}), 404, "nobody"),
        (json!({"tool": "nothing"}), 404, "nothing"),
        (json!({"tols": "up_count"}), 400, "`tols`; did you mean `tool`?"),
        (json!(["up_count"]), 400, "the body must be an object"),
    ] {
        let reply = calibrate(&stage, &what).send().await;
        assert_eq!(reply.status, status, "{what}");
        assert_eq!(reply.header("content-type").as_deref(), Some("application/problem+json"));
        assert!(reply.json()["detail"].as_str().unwrap().contains(named), "{reply:?}");
    }
    assert!(up.script.calls.lock().is_empty());
}

#[tokio::test]
async fn measured_tools_are_compared_within_their_category() {
    let (_up, stage) = stage().await;
    read_stream(calibrate(&stage, &json!({"tool": "up_count"}))).await;
    let shown = stage.request("GET", "/v1/tools?leaderboard=true").send().await.json();
    assert_eq!(shown["agent"], "default");
    let mut boards = shown["categories"].as_array().unwrap().iter();
    let board = boards.find(|board| board["category"] == "counting").unwrap();
    assert_eq!(board["tools"].as_array().unwrap().len(), 1, "of the others nothing is known");
    let first = &board["tools"][0];
    assert_eq!((&first["rank"], &first["name"]), (&json!(1), &json!("up_count")));
    assert!(first["p50_ms"].as_f64().unwrap() > 0.0 && first["badge"].is_string(), "{first}");
    let tools = stage.request("GET", "/v1/tools").send().await.json();
    let tools = tools["tools"].as_array().unwrap().clone();
    let count = tools.iter().find(|tool| tool["name"] == "up_count").unwrap();
    assert_eq!((&count["category"], &count["badge"]), (&json!("counting"), &first["badge"]));
    for query in ["leaderboard=yes", "leaderboard=true&format=mcp"] {
        let reply = stage.request("GET", &format!("/v1/tools?{query}")).send().await;
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!("bad_query")));
    }
}

#[tokio::test]
async fn figures_to_share_name_no_server() {
    let (_up, stage) = stage().await;
    read_stream(calibrate(&stage, &json!({"tool": "up_count"}))).await;
    let shared = stage.request("GET", "/api/telemetry").by_admin().send().await;
    let figures = shared.json();
    assert_eq!(figures["format"], "tollgate-telemetry/1");
    assert_eq!(figures["environment"], "test");
    let mut tools = figures["tools"].as_array().unwrap().iter();
    let count = tools.find(|tool| tool["tool"] == "count").unwrap();
    assert_eq!(count["category"], "counting");
    assert_eq!((&count["calls"], &count["errors"]), (&json!(5), &json!(0)));
    let steps = count["histogram"].as_array().unwrap().iter();
    assert_eq!(steps.map(|step| step[1].as_u64().unwrap()).sum::<u64>(), 5);
    assert!(!shared.text.contains("\"up"), "{}", shared.text);
}
