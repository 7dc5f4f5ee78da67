//! `/api/calls`, `/api/servers` and `/api/events` as an operator sees them.

use serde_json::{Value, json};
use tollgate_core::budget::Tier;
use tollgate_server::{Right, Rights};

use crate::client::{Call, Stream};
use crate::stage::{Setup, Stage, key};
use crate::upstream::Upstream;

fn execute(stage: &Stage, what: &Value) -> Call {
    stage.post(what.to_string()).path("/v1/tools/execute")
}

async fn get(stage: &Stage, path: &str) -> Value {
    let reply = stage.request("GET", path).by_admin().send().await;
    assert_eq!(reply.status, 200, "{path}: {reply:?}");
    reply.json()
}

fn names(calls: &Value) -> Vec<String> {
    let name = |call: &Value| format!("{} {}", call["name"], call["outcome"]).replace('"', "");
    calls.as_array().unwrap().iter().map(name).collect()
}

#[tokio::test]
async fn finished_calls_are_shown_with_their_steps_newest_first() {
    let stage = Stage::start().await;
    execute(&stage, &json!({"name": "echo", "arguments": {"text": "hi"}})).send().await;
    execute(&stage, &json!({"name": "nothing"})).send().await;
    // Beside them are the probes by which the gateway measures its tools.
    let shown = get(&stage, "/api/calls?principal=local").await;
    assert_eq!(names(&shown["calls"]), ["nothing refused", "echo ok"]);
    assert_eq!((&shown["running"], &shown["next"]), (&json!([]), &Value::Null));
    let echo = &shown["calls"][1];
    for (key, expected) in [
        ("principal", json!("local")),
        ("agent", json!("default")),
        ("method", json!("tools/call")),
        ("server", json!("test")),
        ("tool", json!("echo")),
        ("within", Value::Null),
        ("deadline_ms", Value::Null),
        ("detail", Value::Null),
        ("cached", json!(false)),
    ] {
        assert_eq!(echo[key], expected, "{key} of {echo}");
    }
    let steps: Vec<&str> =
        echo["steps"].as_array().unwrap().iter().map(|it| it["step"].as_str().unwrap()).collect();
    assert_eq!(steps, ["admitted", "queued", "attempt", "shaped"]);
    let took = echo["duration_ms"].as_f64().unwrap();
    for step in echo["steps"].as_array().unwrap() {
        let from = step["from_ms"].as_f64().unwrap();
        let to = step["to_ms"].as_f64().unwrap();
        assert!(0.0 <= from && from <= to && to <= took, "{echo}");
    }
    assert!(echo["at"].as_str() >= echo["turn_began"].as_str(), "{echo}");
    let refused = &shown["calls"][0];
    assert_eq!((&refused["server"], &refused["steps"]), (&Value::Null, &json!([])));
    assert!(refused["detail"].as_str().unwrap().contains("nothing"), "{refused}");
}

#[tokio::test]
async fn filters_and_pages_narrow_what_is_shown() {
    let stage = Stage::start().await;
    for text in ["a", "b", "c"] {
        execute(&stage, &json!({"name": "echo", "arguments": {"text": text}})).send().await;
    }
    execute(&stage, &json!({"name": "nothing"})).send().await;
    for (query, expected) in [
        ("outcome=ok&principal=local", 3),
        ("outcome=refused&principal=local", 1),
        ("name=e*o&principal=local", 3),
        ("name=e*x&principal=local", 0),
        ("server=test&tool=echo&principal=local", 3),
        ("agent=nobody&principal=local", 0),
        ("principal=local&limit=500", 4),
        ("turn=&principal=local", 4),
        ("probes=false", 4),
        ("probes=true&principal=local", 4),
    ] {
        let shown = get(&stage, &format!("/api/calls?{query}")).await;
        assert_eq!(shown["calls"].as_array().unwrap().len(), expected, "{query}");
    }
    let first = get(&stage, "/api/calls?principal=local&limit=3").await;
    assert_eq!(first["calls"].as_array().unwrap().len(), 3);
    let rest =
        get(&stage, &format!("/api/calls?principal=local&limit=3&after={}", first["next"])).await;
    assert_eq!((rest["calls"].as_array().unwrap().len(), &rest["next"]), (1, &Value::Null));
    let turn = first["calls"][1]["turn"].as_str().unwrap();
    let of_turn = get(&stage, &format!("/api/calls?turn={turn}")).await;
    assert_eq!(of_turn["calls"][0]["id"], first["calls"][1]["id"]);
    assert_eq!(of_turn["calls"].as_array().unwrap().len(), 1);
    for query in ["limit=0", "limit=501", "limit=x", "after=x", "outcom=ok", "probes=no"] {
        let reply = stage.request("GET", &format!("/api/calls?{query}")).by_admin().send().await;
        assert_eq!((reply.status, &reply.json()["code"]), (400, &json!("bad_query")), "{query}");
    }
}

/// The gateway's own probes are told, too.
async fn next_of_wait(events: &mut Stream) -> (String, Value) {
    loop {
        let (name, data) = events.next_named().await.unwrap();
        if data["name"] == "wait" {
            return (name, data);
        }
    }
}

#[tokio::test]
async fn calls_that_run_are_shown_and_told_as_they_come_and_go() {
    let setup = Setup { ceiling: Some(Tier::Deep), ..Setup::default() };
    let stage = Stage::with(setup).await;
    let mut events = stage.request("GET", "/api/events?calls=true").by_admin().stream().await;
    let call = execute(&stage, &json!({"name": "wait", "arguments": {"ms": 2000}})).send();
    let watch = async {
        let (name, started) = next_of_wait(&mut events).await;
        assert_eq!(name, "call_started");
        assert_eq!((&started["outcome"], &started["tool"]), (&Value::Null, &json!("wait")));
        assert_eq!(started["deadline_ms"], json!(4000.0));
        let shown = get(&stage, "/api/calls").await;
        let running = shown["running"].as_array().unwrap();
        assert!(running.iter().any(|it| it["id"] == started["id"]), "{shown}");
        let (name, done) = next_of_wait(&mut events).await;
        assert_eq!((&*name, &done["outcome"]), ("call_done", &json!("ok")));
        assert_eq!(done["id"], started["id"]);
        assert!(done["duration_ms"].as_f64().unwrap() >= 2000.0, "{done}");
    };
    assert_eq!(tokio::join!(call, watch).0.json()["status"], "ok");
    let reply = stage.request("GET", "/api/events?calls=maybe").by_admin().send().await;
    assert_eq!((reply.status, &reply.json()["code"]), (400, &json!("bad_query")));
}

#[tokio::test]
async fn without_being_asked_for_calls_are_not_told() {
    let stage = Stage::start().await;
    let mut events = stage.request("GET", "/api/events").by_admin().stream().await;
    execute(&stage, &json!({"name": "echo"})).send().await;
    events.silent().await;
}

#[tokio::test]
async fn a_turn_with_a_budget_has_its_wall_drawn_in() {
    let stage = Stage::start().await;
    execute(&stage, &json!({"name": "echo", "tier": "standard"})).send().await;
    let call = &get(&stage, "/api/calls?principal=local").await["calls"][0];
    assert_eq!((&call["tier"], &call["deadline_ms"]), (&json!("standard"), &json!(1500.0)));
}

#[tokio::test]
async fn the_overview_says_what_is_up_what_ran_and_what_needs_a_person() {
    let up = Upstream::start().await;
    let stage = Stage::with(Setup { upstream: Some(up.address), ..Setup::default() }).await;
    for _ in 0..3 {
        execute(&stage, &json!({"name": "echo"})).send().await;
    }
    execute(&stage, &json!({"name": "boom"})).send().await;
    let shown = get(&stage, "/api/overview").await;
    assert_eq!(shown["environment"], "test");
    assert_eq!(shown["listen"], stage.address.to_string());
    assert!(shown["uptime_s"].is_u64() && shown["version"].is_string(), "{shown}");
    assert_eq!(shown["config"]["good"], true);
    assert!(shown["servers"]["ready"].as_u64().unwrap() >= 2, "{shown}");
    assert_eq!(shown["servers"]["failed"], 0);
    let minutes = shown["calls"]["minutes"].as_array().unwrap();
    assert_eq!(minutes.len(), 60);
    let sum = |key: &str| -> u64 { minutes.iter().map(|it| it[key].as_u64().unwrap()).sum() };
    // The gateway's own probes do not count.
    assert_eq!((sum("calls"), sum("errors")), (4, 1), "{minutes:?}");
    assert_eq!(sum("misses"), 0);
    let tiers = shown["calls"]["tiers"].as_array().unwrap();
    let names: Vec<&str> = tiers.iter().map(|it| it["tier"].as_str().unwrap()).collect();
    assert_eq!(names, ["fast", "standard", "deep"]);
    let calls: u64 = tiers.iter().map(|it| it["calls"].as_u64().unwrap()).sum();
    assert_eq!(calls, sum("calls"));
    assert!(tiers.iter().any(|it| it["p99_ms"].is_f64()), "{tiers:?}");
    assert!(shown["slowest"][0]["p99_ms"].is_f64(), "{shown}");
    assert_eq!((&shown["approvals"], &shown["sessions"]), (&json!(0), &json!(0)));
}

#[tokio::test]
async fn a_server_that_goes_is_told_and_needs_a_person() {
    let up = Upstream::start().await;
    let stage = Stage::with(Setup { upstream: Some(up.address), ..Setup::default() }).await;
    let mut events = stage.request("GET", "/api/events").by_admin().stream().await;
    let upstream = stage.gate.servers().iter().find(|it| it.transport != "in-process").cloned();
    let id = upstream.unwrap().id;
    stage.gate.upstream(id.as_str()).unwrap().stop().await;
    let (name, changed) = loop {
        let (name, data) = events.next_named().await.unwrap();
        if name == "server_changed" && data["state"] != "starting" {
            break (name, data);
        }
    };
    assert_eq!((&*name, &changed["id"]), ("server_changed", &json!(id.as_str())));
    assert!(changed["reason"].is_string() && changed["since"].is_string(), "{changed}");
    let shown = get(&stage, "/api/overview").await;
    let attention = shown["attention"].as_array().unwrap();
    let server = attention.iter().find(|it| it["kind"] == "server").unwrap();
    assert_eq!(server["link"], format!("servers/{id}"));
}

#[tokio::test]
async fn who_may_look_sees_calls_and_nobody_else_does() {
    let eye = Rights::from_iter([Right::Observe]);
    let hand = Rights::from_iter([Right::Execute]);
    let keys = vec![key("eye", "secret-of-eye", eye), key("hand", "secret-of-hand", hand)];
    let stage = Stage::with(Setup { keys, ..Setup::default() }).await;
    for path in ["/api/calls", "/api/overview", "/api/events?calls=true"] {
        let by = |secret: &str| stage.request("GET", path).header("x-api-key", secret);
        assert_eq!(by("secret-of-hand").status().await, 403, "{path}");
        assert_eq!(stage.request("GET", path).status().await, 401, "{path}");
        assert_eq!(by("secret-of-eye").status().await, 200, "{path}");
    }
}
