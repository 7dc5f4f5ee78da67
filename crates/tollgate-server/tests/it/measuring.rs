//! Measuring on demand, and what an operator learns from it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tollgate_core::id::ToolName;
use tollgate_core::tool::Override;
use tollgate_engine::settings::Server as UpstreamSettings;
use tollgate_mcp::Revision;

use crate::client::Call;
use crate::stage::{Setup, Stage, at, server};
use crate::upstream::Upstream;

/// `up_count` may be probed; whether the others have an effect nobody knows.
async fn stage() -> (Upstream, Stage) {
    let up = Upstream::start().await;
    up.script.grow("say");
    let count = Override { probe: Some(json!({})), ..Override::default() };
    let tools = BTreeMap::from([(ToolName::new("count"), count)]);
    let server =
        UpstreamSettings { tools, ..server("up", at(up.address), Revision::NEWEST_LEGACY) };
    let stage = Stage::with(Setup { servers: vec![server], ..Setup::default() }).await;
    (up, stage)
}

fn calibrate(stage: &Stage, what: &Value) -> Call {
    stage.post(what.to_string()).path("/api/calibrate")
}

async fn heard(call: Call) -> Vec<(String, Value)> {
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
    let mut events = heard(calibrate(&stage, &json!({"server": "up"}))).await;
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
    let events = heard(calibrate(&stage, &json!({"tool": "up_count", "times": 2}))).await;
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
    ] {
        let reply = calibrate(&stage, &what).send().await;
        assert_eq!(reply.status, status, "{what}");
        assert_eq!(reply.header("content-type").as_deref(), Some("application/problem+json"));
        assert!(reply.json()["detail"].as_str().unwrap().contains(named), "{reply:?}");
    }
    assert!(up.script.calls.lock().is_empty());
}
