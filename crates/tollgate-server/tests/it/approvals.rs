//! Calls that wait for approval, over HTTP.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::id::ToolName;
use tollgate_core::tool::{ApprovalMode, ToolOverride};
use tollgate_engine::settings::Server as UpstreamSettings;
use tollgate_mcp::Revision;
use tollgate_server::{Right, Rights};

use crate::client::{Call, Reply};
use crate::stage::{Setup, Stage, at, key, server};
use crate::upstream::Upstream;

const PHONE: &str = "phone-0123456789abcdef";
const BOSS: &str = "boss-0123456789abcdef";

/// Every call of `up_say` needs approval; `phone` calls, `boss` decides.
async fn stage() -> (Upstream, Stage) {
    let up = Upstream::start().await;
    up.script.grow("say");
    let always = ToolOverride { approval: Some(ApprovalMode::Always), ..ToolOverride::default() };
    let tools = BTreeMap::from([(ToolName::new("say"), always)]);
    let server =
        UpstreamSettings { tools, ..server("up", at(up.address), Revision::NEWEST_LEGACY) };
    let rights = |rights: &[Right]| -> Rights { rights.iter().copied().collect() };
    let keys = vec![
        key("phone", PHONE, rights(&[Right::Execute])),
        key("boss", BOSS, rights(&[Right::Approve, Right::Observe])),
    ];
    (up, Stage::with(Setup { servers: vec![server], keys, ..Setup::default() }).await)
}

fn by(key: &str, call: Call) -> Call {
    call.header("x-api-key", key)
}

fn execute(stage: &Stage) -> Call {
    let body = json!({"name": "up_say", "arguments": {"n": 1}}).to_string();
    by(PHONE, stage.post(body).path("/v1/tools/execute"))
}

fn decide(stage: &Stage, id: &str, body: &Value) -> Call {
    by(BOSS, stage.post(body.to_string()).path(&format!("/api/approvals/{id}")))
}

/// The call that waits, once one does.
async fn waits(stage: &Stage) -> Value {
    for _ in 0..500 {
        let list = by(BOSS, stage.request("GET", "/api/approvals")).send().await.json();
        if let Some(one) = list["approvals"].as_array().and_then(|all| all.first()) {
            return one.clone();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("no call waits");
}

fn id(waiting: &Value) -> &str {
    waiting["id"].as_str().unwrap()
}

#[tokio::test]
async fn a_call_over_http_waits_until_it_is_decided() {
    let (up, stage) = stage().await;
    let mut events = by(BOSS, stage.request("GET", "/api/events")).stream().await;
    for (decision, status) in [("approve", "ok"), ("deny", "denied")] {
        let decided = async {
            let waiting = waits(&stage).await;
            assert_eq!(waiting["principal"], "key:phone");
            assert_eq!(waiting["arguments"], json!({"n": 1}));
            assert_eq!((&waiting["name"], &waiting["why"]), (&json!("up_say"), &json!("always")));
            let path = format!("/api/approvals/{}", id(&waiting));
            assert_eq!(by(BOSS, stage.request("GET", &path)).send().await.json(), waiting);
            let body = json!({"decision": decision, "note": "so be it"});
            assert_eq!(decide(&stage, id(&waiting), &body).status().await, 200);
            let again = decide(&stage, id(&waiting), &body).send().await;
            assert_eq!(again.code(), "409 decided_already");
        };
        let (reply, ()) = tokio::join!(execute(&stage).send(), decided);
        let outcome = reply.json();
        assert_eq!((reply.status, outcome["status"].as_str()), (200, Some(status)), "{outcome}");
        let (name, data) = events.next_named().await.unwrap();
        assert_eq!((name.as_str(), &data["name"]), ("approval_requested", &json!("up_say")));
        let (name, data) = events.next_named().await.unwrap();
        assert_eq!((name.as_str(), &data["by"]), ("approval_decided", &json!("key:boss")));
    }
    assert_eq!(*up.script.calls.lock(), ["say"]);
}

#[tokio::test]
async fn only_who_may_decide_sees_and_decides_and_nothing_is_decided_by_mistake() {
    let (up, stage) = stage().await;
    let mut call = Box::pin(execute(&stage).send());
    let waiting = tokio::select! {
        reply = &mut call => panic!("it did not wait: {reply:?}"),
        waiting = waits(&stage) => waiting,
    };
    let path = format!("/api/approvals/{}", id(&waiting));
    for call in [
        stage.request("GET", "/api/approvals"),
        stage.request("GET", &path),
        stage.post(r#"{"decision":"approve"}"#).path(&path),
    ] {
        assert_eq!(by(PHONE, call).status().await, 403);
    }
    for (id, body, expected) in [
        (id(&waiting), json!({}), 400),
        (id(&waiting), json!({"decision": "maybe"}), 400),
        (id(&waiting), json!({"decision": "approve", "nota": "x"}), 400),
        (id(&waiting), json!({"decision": "approve", "note": "x".repeat(1_001)}), 400),
        ("a_00000000000000000000000000000000", json!({"decision": "approve"}), 404),
        ("nonsense", json!({"decision": "approve"}), 404),
    ] {
        assert_eq!(decide(&stage, id, &body).status().await, expected, "{id} {body}");
    }
    drop(call);
    for _ in 0..500 {
        let list = by(BOSS, stage.request("GET", "/api/approvals")).send().await.json();
        if list["approvals"] == json!([]) {
            let late = decide(&stage, id(&waiting), &json!({"decision": "approve"}));
            assert_eq!(late.status().await, 404, "its caller went away");
            assert!(up.script.calls.lock().is_empty());
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it still waits");
}

#[tokio::test]
async fn a_modern_client_that_can_be_asked_is_given_a_form() {
    let (up, stage) = stage().await;
    let ask = async |more: Value| -> Reply {
        let mut params = json!({"name": "up_say", "arguments": {"n": 1}});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let capable = json!({"elicitation": {"form": {}}});
        params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": capable});
        by(PHONE, stage.modern("tools/call", params)).send().await
    };
    let first = ask(json!({})).await.json();
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    let form = &first["result"]["inputRequests"]["approval"];
    assert_eq!(form["params"]["requestedSchema"]["required"], json!(["approve"]));
    let state = &first["result"]["requestState"];
    let yes = json!({"approval": {"action": "accept", "content": {"approve": true}}});
    let back = json!({"requestState": state, "inputResponses": yes});
    assert_eq!(ask(back.clone()).await.brief(), "200 ok");
    assert_eq!(ask(back).await.brief(), "200 -32602", "it is good once");
    assert_eq!(*up.script.calls.lock(), ["say"]);
}
