//! R-35 for servers: a small request with a large result. No poll of a worker takes longer than 20
//! ms.

use std::time::Duration;

use serde_json::json;
use tollgate_core::agent::{Agent, Persona};
use tollgate_core::glob::Glob;
use tollgate_core::secret_values;
use tollgate_server::PollWatch;

use crate::hostile_servers::{Hostile, SERVERS, fill_queue, make_plan, result};
use crate::model::Model;
use crate::stage::Setup;

const MAX_POLL: Duration = Duration::from_millis(20);
/// Of one result: nearly as much as a message of a server may have.
const RESULT_BYTES: usize = 7_000_000;

/// Sends it up to three times: a single long poll can be the machine's.
async fn assert_short_polls_of(watch: &PollWatch, what: &str, send: impl AsyncFn()) {
    let mut longest = Duration::MAX;
    for _ in 0..3 {
        watch.reset();
        send().await;
        longest = longest.min(watch.longest());
        if longest < MAX_POLL {
            watch.reset();
            return;
        }
    }
    panic!("{what}: a poll took {longest:?}, each time");
}

fn assert_short_polls(watch: &PollWatch, what: &str) {
    let longest = watch.longest();
    assert!(longest < MAX_POLL, "{what}: a poll took {longest:?}");
    watch.reset();
}

#[tokio::test]
async fn r_35_large_results_leave_the_workers_on_every_front() {
    // Without a secret to look for, answers are not looked through.
    secret_values::configure(["a-secret-that-no-result-contains"]);
    let model = Model::saying(|request| {
        let messages = request["messages"].as_array().unwrap();
        if messages.iter().any(|message| message["role"] == "tool") {
            "that was long".to_owned()
        } else {
            let text = r#"{"content":[{"type":"text","text":"@FILL@"}]}"#;
            format!("!new_say {}", make_plan(&fill_queue(result(text), "x", RESULT_BYTES)))
        }
    })
    .await;
    let persona = Persona { models: vec!["m".to_owned()], ..Persona::default() };
    let auto_execute = vec![Glob::new("new_say")];
    let agent = Agent { persona, auto_execute, ..Agent::implicit() };
    let setup = Setup { models: model.settings(), agents: vec![agent], ..Setup::default() };
    let hostile = Hostile::with(Duration::from_secs(30), setup).await;
    let stage = &hostile.stage;
    let watch = stage.front.watch_polls();
    // Text, data with many values, and a picture are read and shown in different ways.
    let shapes = [
        (r#"{"content":[{"type":"text","text":"@FILL@"}]}"#, "x"),
        (r#"{"content":[],"structuredContent":{"a":[@FILL@0]}}"#, "1,"),
        (r#"{"content":[{"type":"image","mimeType":"image/png","data":"@FILL@"}]}"#, "AAAA"),
    ];
    for server in SERVERS {
        let name = format!("{server}_say");
        for (text, fill) in shapes {
            let plan = fill_queue(result(text), fill, RESULT_BYTES / fill.len());
            let arguments = make_plan(&plan);
            let params = json!({"name": name, "arguments": arguments});
            let what = format!("/mcp, modern, {server}: {text}");
            let modern = async || {
                let reply = stage.modern("tools/call", params.clone()).send().await;
                assert_eq!(reply.status, 200, "{server}: {reply:.300?}");
            };
            assert_short_polls_of(&watch, &what, modern).await;
            let body = json!({"name": name, "arguments": arguments}).to_string();
            let what = format!("/v1/tools/execute, {server}: {text}");
            let rest = async || {
                let reply = stage.post(body.clone()).path("/v1/tools/execute").send().await;
                assert_eq!(reply.status, 200, "{server}: {reply:.300?}");
            };
            assert_short_polls_of(&watch, &what, rest).await;
            let session = stage.open_session("2025-11-25", json!({})).await;
            let what = format!("/mcp, legacy, {server}: {text}");
            let legacy = async || {
                let reply = session.call(1, "tools/call", &params).send().await;
                assert_eq!(reply.status, 200, "{server}: {reply:.300?}");
            };
            assert_short_polls_of(&watch, &what, legacy).await;
        }
    }
    for stream in [false, true] {
        let messages = json!([{"role": "user", "content": "say something long"}]);
        let body = json!({"model": "default", "messages": messages, "stream": stream}).to_string();
        let reply = stage.post(body).path("/v1/chat/completions").send().await;
        assert_eq!(reply.status, 200, "{reply:.300?}");
        assert!(reply.text.contains("long"), "{:.600}", reply.text);
        assert_eq!(model.requests.lock().len(), if stream { 4 } else { 2 });
        assert_short_polls(&watch, &format!("/v1/chat/completions, stream: {stream}"));
    }
}
