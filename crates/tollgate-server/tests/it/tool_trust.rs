//! `/api/tools`: review of pinned and quarantined definitions.

use serde_json::{Value, json};
use tollgate_server::{Right, Rights};

use crate::stage::{Setup, Stage, key};
use crate::upstream::Upstream;

const HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

async fn stage() -> (Upstream, Stage) {
    let up = Upstream::start().await;
    let stage = Stage::with(Setup { upstream: Some(up.address), ..Setup::default() }).await;
    (up, stage)
}

async fn known_tools(stage: &Stage, name: &str) -> Value {
    let listed = stage.request("GET", "/api/tools").by_admin().send().await.json();
    let tools = listed["tools"].as_array().unwrap();
    tools.iter().find(|tool| tool["name"] == name).cloned().unwrap_or_default()
}

/// The status and the code of a decision.
async fn decide(stage: &Stage, path: &str, body: &Value) -> String {
    let reply = stage.post(body.to_string()).path(path).by_admin().send().await;
    let answer = reply.json();
    let word =
        answer["code"].as_str().or(answer["verdict"].as_str()).unwrap_or_default().to_owned();
    format!("{} {word}", reply.status)
}

#[tokio::test]
async fn every_tool_is_shown_with_its_verdict_and_pin() {
    let (_up, stage) = stage().await;
    let count = known_tools(&stage, "up_count").await;
    assert_eq!((&count["verdict"], &count["pin"]["by"]), (&json!("served"), &json!("first_use")));
    assert_eq!(count["pin"]["hash"], count["hash"]);
    let own = known_tools(&stage, "echo").await;
    assert_eq!((&own["verdict"], &own["pin"]), (&json!("served"), &Value::Null));
    let one = stage.request("GET", "/api/tools/up/count").by_admin().send().await.json();
    assert_eq!((&one["changes"], &one["trusted"]), (&json!([]), &one["offered"]));
    assert_eq!(one["offered"]["name"], "count");
    assert_eq!(one["history"][0]["state"], "accepted");
}

#[tokio::test]
async fn a_decision_counts_at_once_and_names_what_was_seen() {
    let (_up, stage) = stage().await;
    let hash = known_tools(&stage, "up_count").await["hash"].clone();
    let path = |verb: &str| format!("/api/tools/up/count/{verb}");
    let wrong = json!({ "hash": HASH });
    assert_eq!(decide(&stage, &path("accept"), &wrong).await, "409 other_definition");
    assert_eq!(decide(&stage, &path("reject"), &wrong).await, "409 other_definition");
    assert_eq!(decide(&stage, &path("reject"), &json!({ "hash": hash })).await, "200 withheld");
    let listed = stage.modern("tools/list", json!({})).send().await.text;
    assert!(!listed.contains("up_count"), "{listed}");
    let called = json!({"name": "up_count", "arguments": {}});
    let reply = stage.post(called.to_string()).path("/v1/tools/execute").send().await.json();
    assert_eq!(reply["status"], "denied", "{reply}");
    assert_eq!(decide(&stage, &path("accept"), &json!({ "hash": hash })).await, "200 served");
    let one = stage.request("GET", "/api/tools/up/count").by_admin().send().await.json();
    assert_eq!(one["pin"]["by"], "person");
    assert_eq!(one["history"][0]["decided_by"], "admin");
}

#[tokio::test]
async fn what_cannot_be_decided_is_told() {
    let (_up, stage) = stage().await;
    let hash = json!({ "hash": HASH });
    for (path, body, expected) in [
        ("/api/tools/test/echo/reject", &hash, "409 own_tool"),
        ("/api/tools/up/nothing/accept", &hash, "404 unknown_tool"),
        ("/api/tools/no%20server/x/accept", &hash, "404 unknown_server"),
        ("/api/tools/up/count/accept", &json!({}), "400 bad_request"),
        ("/api/tools/up/count/accept", &json!({"hash": "abc"}), "400 bad_request"),
        ("/api/tools/up/count/accept", &json!({"hash": HASH, "all": true}), "400 bad_request"),
    ] {
        assert_eq!(decide(&stage, path, body).await, expected, "{path} {body}");
    }
    let one = stage.request("GET", "/api/tools/up/nothing").by_admin().send().await;
    assert_eq!(one.status, 404);
}

#[tokio::test]
async fn only_an_admin_sees_and_decides() {
    let most: Rights = [Right::Execute, Right::OverrideTier, Right::Approve].into_iter().collect();
    let keys = vec![key("phone", "a-key-of-sixteen", most)];
    let stage = Stage::with(Setup { keys, ..Setup::default() }).await;
    for call in [
        stage.request("GET", "/api/tools"),
        stage.request("GET", "/api/tools/test/echo"),
        stage.post(json!({ "hash": HASH }).to_string()).path("/api/tools/test/echo/accept"),
        stage.post(json!({ "hash": HASH }).to_string()).path("/api/tools/test/echo/reject"),
    ] {
        assert_eq!(call.header("x-api-key", "a-key-of-sixteen").status().await, 403);
    }
}

#[tokio::test]
async fn a_tool_is_shown_with_what_it_is_how_quick_it_is_and_who_sees_it() {
    let (_up, stage) = stage().await;
    let called = json!({"name": "echo", "arguments": {"text": "x"}}).to_string();
    for _ in 0..30 {
        let reply = stage.post(called.clone()).path("/v1/tools/execute").send().await;
        assert_eq!(reply.status, 200, "{reply:?}");
    }
    let echo = known_tools(&stage, "echo").await;
    assert_eq!(echo["description"], "A tool for tests");
    assert_eq!((&echo["online"], &echo["category"]), (&json!(true), &Value::Null), "{echo}");
    assert_eq!((&echo["read_only"], &echo["destructive"]), (&json!(false), &json!(true)), "{echo}");
    assert_eq!(echo["recent"].as_array().unwrap().len(), 24, "{echo}");
    let reply = stage.request("GET", "/api/tools/test/echo").by_admin().send().await;
    assert_eq!(reply.header("x-content-type-options").as_deref(), Some("nosniff"));
    let one = reply.json();
    assert_eq!(one["samples"].as_array().unwrap().len(), 30, "{one}");
    assert_eq!(one["samples"][0]["ok"], true);
    assert_eq!(one["ceilings"], json!({"fast_ms": 500, "standard_ms": 1500, "deep_ms": 4000}));
    assert_eq!(one["declared"]["idempotent"], false, "{one}");
    let all = json!({"fast": true, "standard": true, "deep": true});
    // What was measured counts as soon as somebody has looked at it, a moment later.
    let sights = json!([{"agent": "default", "tiers": all}, {"agent": "sage", "tiers": all}]);
    let mut seen = one["agents"].clone();
    for _ in 0..200 {
        if seen == sights {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
        let echo = stage.request("GET", "/api/tools/test/echo").by_admin().send().await;
        seen = echo.json()["agents"].clone();
    }
    assert_eq!(seen, sights);
    let count = stage.request("GET", "/api/tools/up/count").by_admin().send().await.json();
    let kept_out = &count["agents"][1]["tiers"]["deep"];
    assert_eq!(kept_out, "agent: not in the allowlist", "{count}");
    assert_eq!(
        count["agents"][0]["tiers"]["fast"],
        "tier: requires tier `standard`; the turn has tier `fast`"
    );
}

#[tokio::test]
async fn tools_of_a_server_that_is_away_are_still_known_by_name() {
    let (up, stage) = stage().await;
    drop(up);
    assert!(stage.gate.upstream("up").unwrap().restart().await);
    let mut away = Value::Null;
    for _ in 0..200 {
        away = known_tools(&stage, "up_count").await;
        if away["verdict"] == "away" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    assert_eq!(
        (&away["verdict"], &away["online"], &away["hash"]),
        (&json!("away"), &json!(false), &Value::Null)
    );
    let one = stage.request("GET", "/api/tools/up/count").by_admin().send().await;
    assert_eq!((one.status, &one.json()["offered"]), (200, &Value::Null));
    let none = stage.request("GET", "/api/tools/up/none").by_admin().send().await;
    assert_eq!(none.status, 404);
}
