//! One call over REST as an event stream.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::tool::SlowResponse;
use tollgate_engine::settings::Server as UpstreamSettings;
use tollgate_mcp::Revision;

use crate::client::Call;
use crate::stage::{Setup, Stage, at, server};
use crate::upstream::Upstream;

const SOON: Duration = Duration::from_millis(20);
const NEVER: Duration = Duration::from_secs(60);

/// The scripted server under the name `up`, which says something when a call takes longer.
async fn stage(threshold: Duration) -> (Upstream, Stage) {
    let up = Upstream::start().await;
    up.script.grow("say");
    let slow_response = Some(SlowResponse { threshold, message: "One moment.".into() });
    let server =
        UpstreamSettings { slow_response, ..server("up", at(up.address), Revision::NEWEST_LEGACY) };
    let stage = Stage::with(Setup { servers: vec![server], ..Setup::default() }).await;
    (up, stage)
}

fn execute(stage: &Stage, call: &Value) -> Call {
    stage.post(call.to_string()).path("/v1/tools/execute").set("accept", "text/event-stream")
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
async fn progress_and_logs_come_before_the_outcome() {
    let (_up, stage) = stage(NEVER).await;
    let events = read_stream(execute(&stage, &json!({"name": "up_count"}))).await;
    let names: Vec<&str> = events.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["progress", "progress", "progress", "outcome"]);
    assert_eq!(events[1].1, json!({"progress": 2, "total": 3}));
    assert_eq!(events[3].1["status"], "ok");
    assert_eq!(events[3].1["message"], "done");
    let events = read_stream(execute(&stage, &json!({"name": "up_log"}))).await;
    let loud = ("log".to_owned(), json!({"level": "warning", "data": "loud"}));
    assert!(events.contains(&loud), "{events:?}");
    let json = execute(&stage, &json!({"name": "up_count"})).set("accept", "*/*").send().await;
    assert_eq!(json.json()["status"], "ok", "others get the outcome alone");
}

#[tokio::test]
async fn a_slow_call_is_announced_and_ends_with_its_client() {
    let (up, stage) = stage(SOON).await;
    let mut stream = execute(&stage, &json!({"name": "up_hang"})).stream().await;
    let announced = ("announcement".to_owned(), json!({"message": "One moment."}));
    assert_eq!(stream.next_named().await, Some(announced));
    assert!(up.script.cancelled.lock().is_empty());
    drop(stream);
    up.script.hears_a_cancel().await;
}

#[tokio::test]
async fn what_is_wrong_is_said_as_for_everybody() {
    let (_up, stage) = stage(NEVER).await;
    let outcome = |events: Vec<(String, Value)>| events.into_iter().next().unwrap();
    let (name, answer) = outcome(read_stream(execute(&stage, &json!({"name": "nobody"}))).await);
    assert_eq!((&*name, &answer["status"]), ("outcome", &json!("denied")));
    let twice = r#"{"name": "echo", "arguments": {"text": "a", "text": "b"}}"#;
    let call = execute(&stage, &json!({})).body(twice);
    let (name, answer) = outcome(read_stream(call).await);
    assert_eq!((&*name, &answer["error"]["code"]), ("error", &json!("bad_params")));
    for (body, named) in [
        (json!({"name": "echo", "late": "yes"}), "late"),
        (json!({"name": 5}), "name"),
        (json!({"name": "echo", "tier": "soon"}), "tier"),
    ] {
        let reply = execute(&stage, &body).send().await;
        let message = reply.json()["error"]["message"].clone();
        assert_eq!(reply.status, 400, "{body}");
        assert!(message.as_str().unwrap().contains(named), "{body}: {message}");
    }
}

#[tokio::test]
async fn operators_hear_of_slow_calls_until_the_server_stops() {
    let (_up, stage) = stage(SOON).await;
    let mut heard = stage.request("GET", "/api/events").by_admin().stream().await;
    let _call = execute(&stage, &json!({"name": "up_hang", "agent": "default"})).stream().await;
    let call = json!({"principal": "local", "agent": "default", "name": "up_hang",
                      "server": "up", "tool": "hang", "message": "One moment."});
    assert_eq!(heard.next_named().await, Some(("slow".to_owned(), call)));
    stage.stop.cancel();
    assert_eq!(heard.next_named().await, Some(("stopping".to_owned(), json!({}))));
    assert_eq!(heard.next_named().await, None);
}
