//! Calls that outlast their turn, and results that are delivered later.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::budget::Ceilings;
use tollgate_core::id::ToolName;
use tollgate_core::tool::ToolOverride;
use tollgate_engine::settings::Server as UpstreamSettings;
use tollgate_mcp::Revision;

use crate::client::{Call, Stream};
use crate::stage::{Setup, Stage, at, server};
use crate::upstream::Upstream;

/// `up_linger` says that it is fast and waits until it is released; it may be repeated.
pub(crate) async fn stage(cacheable: Duration) -> (Upstream, Stage) {
    let up = Upstream::start().await;
    up.script.grow("say");
    up.script.grow("linger");
    let linger = ToolOverride {
        estimated: Some(Duration::from_millis(50)),
        idempotent: Some(true),
        cacheable: Some(cacheable),
        ..ToolOverride::default()
    };
    let tools = BTreeMap::from([(ToolName::new("linger"), linger)]);
    let server =
        UpstreamSettings { tools, ..server("up", at(up.address), Revision::NEWEST_LEGACY) };
    // Time for a call to be under way at the wall, even on a busy machine.
    let fast = Duration::from_millis(1_500);
    let ceilings = Ceilings { fast, ..Ceilings::default() };
    let setup = Setup { servers: vec![server], ceilings, ..Setup::default() };
    let stage = Stage::with(setup).await;
    (up, stage)
}

const RETENTION: Duration = Duration::from_secs(60);

fn execute(stage: &Stage, more: &Value) -> Call {
    let mut call = json!({"name": "up_linger"});
    for (key, value) in more.as_object().unwrap() {
        call[key] = value.clone();
    }
    stage.post(call.to_string()).path("/v1/tools/execute")
}

async fn read(stage: &Stage, handle: &Value) -> Value {
    let path = format!("/v1/results/{}", handle.as_str().unwrap());
    stage.request("GET", &path).send().await.json()
}

/// The handle that operators are told of.
async fn describe(operator: &mut Stream) -> Value {
    loop {
        let (name, data) = operator.next_named().await.unwrap();
        if name == "late" {
            assert_eq!((&data["name"], &data["status"]), (&json!("up_linger"), &json!("ok")));
            return data["handle"].clone();
        }
    }
}

#[tokio::test]
async fn an_answer_that_can_be_kept_comes_late_and_is_there_for_the_next_turn() {
    let (up, stage) = stage(RETENTION).await;
    let mut operator = stage.request("GET", "/api/events").by_admin().stream().await;
    let pending = execute(&stage, &json!({"tier": "fast"})).send().await.json();
    assert_eq!(pending["status"], "pending", "{pending}");
    let waiting = read(&stage, &pending["handle"]).await;
    assert_eq!((&waiting["status"], &waiting["handle"]), (&json!("pending"), &pending["handle"]));
    up.script.release.add_permits(1);
    assert_eq!(describe(&mut operator).await, pending["handle"]);
    let ready = read(&stage, &pending["handle"]).await;
    assert_eq!((&ready["status"], &ready["outcome"]), (&json!("ready"), &json!("ok")));
    assert_eq!((&ready["data"], &ready["next"]), (&json!("done"), &Value::Null));
    assert!(up.script.cancelled.lock().is_empty(), "it ran on");
    let again = execute(&stage, &json!({"tier": "fast"})).send().await.json();
    assert_eq!((&again["status"], &again["cached"]), (&json!("ok"), &json!(true)));
    assert_eq!(up.script.calls.lock().len(), 1);
    up.script.release.add_permits(1);
    let fresh = execute(&stage, &json!({})).header("x-tollgate-no-cache", "1").send().await.json();
    assert_eq!((&fresh["status"], &fresh["cached"]), (&json!("ok"), &json!(false)));
    assert_eq!(up.script.calls.lock().len(), 2);
}

#[tokio::test]
async fn others_come_late_only_if_someone_asked_for_that() {
    let (up, stage) = stage(Duration::ZERO).await;
    let gone = execute(&stage, &json!({"tier": "fast"})).send().await.json();
    assert_eq!((&gone["status"], gone.get("handle")), (&json!("timeout"), None));
    up.script.hears_a_cancel().await;
    let pending = execute(&stage, &json!({"tier": "fast", "late": true})).send().await.json();
    assert_eq!(pending["status"], "pending", "{pending}");
    let mut operator = stage.request("GET", "/api/events").by_admin().stream().await;
    up.script.release.add_permits(2);
    assert_eq!(describe(&mut operator).await, pending["handle"]);
    assert_eq!(read(&stage, &pending["handle"]).await["data"], "done");
}

#[tokio::test]
async fn over_mcp_a_pending_call_is_a_result_that_names_its_handle() {
    let (_up, stage) = stage(RETENTION).await;
    let params = json!({"name": "up_linger", "_meta": {"dev.tollgate/tier": "fast"}});
    let session = stage.open_session("2025-11-25", json!({})).await;
    let modern = stage.modern("tools/call", params.clone()).send().await;
    let legacy = session.call(1, "tools/call", &params).send().await;
    for reply in [modern, legacy] {
        assert_eq!(reply.brief(), "200 ok", "{reply:?}");
        let result = reply.json()["result"].clone();
        assert!(result["content"][0]["text"].as_str().unwrap().contains("still running"));
        let handle = &result["_meta"]["dev.tollgate/result"]["handle"];
        assert_eq!(read(&stage, handle).await["status"], "pending", "{result}");
    }
}
