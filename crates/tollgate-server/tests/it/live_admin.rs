//! `/api/sessions`: live sessions as an operator sees and ends them.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::budget::Tier;
use tollgate_server::{Limits, Right, Rights};
use tollgate_testkit::ws::RawWebSocketMessage;

use crate::live_sessions::Theatre;
use crate::stage::{ADMIN, Setup, key};

const SECRET: &str = "a-key-of-sixteen";

/// With one key that may talk.
async fn for_key(limits: Limits) -> Theatre {
    let rights: Rights = [Right::Execute].into_iter().collect();
    let keys = vec![key("phone", SECRET, rights)];
    Theatre::open(Setup { keys, limits, ceiling: Some(Tier::Standard), ..Setup::default() }).await
}

fn with_key() -> Vec<String> {
    vec![format!("authorization: Bearer {SECRET}")]
}

async fn sessions(theatre: &Theatre) -> Vec<Value> {
    let listed = theatre.stage.request("GET", "/api/sessions").by_admin().send().await;
    listed.json()["sessions"].as_array().unwrap().clone()
}

#[tokio::test]
async fn sessions_are_listed_counted_and_told_of() {
    let theatre = for_key(Limits::default()).await;
    let mut events = theatre.stage.request("GET", "/api/events").by_admin().stream().await;
    let _ends = theatre.session(&with_key()).await;
    let opened = events.next_named().await.unwrap();
    assert_eq!(opened.0, "session_opened");
    assert_eq!(opened.1["dialect"], "openai-realtime");
    let [session] = &sessions(&theatre).await[..] else { panic!("one session") };
    for (field, expected) in [
        ("id", opened.1["session"].clone()),
        ("principal", json!("key:phone")),
        ("agent", json!("default")),
        ("dialect", json!("openai-realtime")),
        ("model", json!("voice")),
        ("tier", json!("standard")),
        ("turns", json!(0)),
        ("calls", json!(0)),
    ] {
        assert_eq!(session[field], expected, "{field}");
    }
    assert!(session["tools"].as_u64().unwrap() > 0, "{session}");
    let figures = theatre.stage.request("GET", "/metrics").by_admin().send().await.text;
    for line in [
        "tollgate_live_sessions{dialect=\"openai-realtime\"} 1",
        "tollgate_live_sessions_total{dialect=\"openai-realtime\"} 1",
        "tollgate_live_turns_total{dialect=\"openai-realtime\"} 0",
        "# TYPE tollgate_live_tool_seconds_total counter",
    ] {
        assert!(figures.lines().any(|it| it == line), "{line}\n{figures}");
    }
}

#[tokio::test]
async fn a_session_is_closed_and_given_a_tier_by_admins_alone() {
    let theatre = for_key(Limits::default()).await;
    let (mut client, _provider) = theatre.session(&with_key()).await;
    let id = sessions(&theatre).await[0]["id"].as_str().unwrap().to_owned();
    let one = format!("/api/sessions/{id}");
    let tier = format!("/api/sessions/{id}/tier");
    let stage = &theatre.stage;
    for (method, path) in [("GET", "/api/sessions"), ("DELETE", &*one), ("POST", &*tier)] {
        let asked = stage.request(method, path).header("x-api-key", SECRET);
        assert_eq!(asked.status().await, 403, "{method} {path}");
    }
    let order = |body: Value| stage.post(body.to_string()).path(&tier).by_admin();
    assert_eq!(order(json!({"tier": "soon"})).status().await, 400);
    assert_eq!(order(json!({"tire": "fast"})).status().await, 400);
    let given = order(json!({"tier": "fast"})).send().await;
    assert_eq!(given.json(), json!({"id": id, "tier": "fast"}));
    let is_fast = async {
        while sessions(&theatre).await[0]["tier"] != "fast" {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), is_fast).await.expect("it has the tier");
    assert!(
        sessions(&theatre).await[0]["tier_reason"].as_str().unwrap().contains("forced the tier")
    );
    assert_eq!(order(json!({"tier": null})).status().await, 200);

    let unknown = stage.request("DELETE", "/api/sessions/nobody").by_admin().send().await;
    assert_eq!((unknown.status, unknown.json()["code"].as_str()), (404, Some("unknown_session")));
    assert_eq!(stage.request("DELETE", &one).by_admin().status().await, 204);
    let goodbye = RawWebSocketMessage::Close(1001, "closed by an administrator".to_owned());
    assert_eq!(client.end().await, goodbye);
    let is_over = async {
        while !sessions(&theatre).await.is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), is_over).await.expect("it is gone");
    assert_eq!(stage.request("DELETE", &one).by_admin().status().await, 404);
}

#[tokio::test]
async fn sessions_have_places_in_all_and_for_each_key() {
    let limits = Limits { live_sessions: 2, live_per_key: 1, ..Limits::default() };
    let theatre = for_key(limits).await;
    let admin = vec![format!("authorization: Bearer {}", ADMIN)];
    let first = theatre.session(&with_key()).await;
    let refused = |headers: Vec<String>| {
        let theatre = &theatre;
        async move { theatre.dial(&headers).await.expect_err("no room").status }
    };
    assert_eq!(refused(with_key()).await, 429);
    let _second = theatre.session(&admin).await;
    assert_eq!(refused(admin).await, 503);
    drop(first);
    let is_over = async {
        while sessions(&theatre).await.len() > 1 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), is_over).await.expect("its place is free");
    let _third = theatre.session(&with_key()).await;
}
