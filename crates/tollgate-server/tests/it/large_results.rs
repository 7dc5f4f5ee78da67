//! R-35 for what comes from servers: a small request whose result is large. No poll of a worker may
//! take longer than 20 ms.

use std::time::Duration;

use serde_json::json;
use tollgate_server::PollWatch;

use crate::hostile::{Hostile, SERVERS, filled, planned, result};
use crate::model::Model;
use crate::stage::Setup;

const LONGEST_POLL: Duration = Duration::from_millis(20);
/// Of one result, twice over.
const RESULT_BYTES: usize = 4_000_000;

fn assert_short_polls(watch: &PollWatch, what: &str) {
    let longest = watch.longest();
    assert!(longest < LONGEST_POLL, "{what}: a poll took {longest:?}");
    watch.reset();
}

#[tokio::test]
async fn r_35_large_results_leave_the_workers_on_every_front() {
    let model = Model::saying(|asked| {
        let messages = asked["messages"].as_array().unwrap();
        match messages.iter().any(|message| message["role"] == "tool") {
            true => "that was long".to_owned(),
            false => {
                let text = r#"{"content":[{"type":"text","text":"@FILL@"}]}"#;
                format!("!new_say {}", planned(&filled(result(text), "x", RESULT_BYTES)))
            }
        }
    })
    .await;
    let setup = Setup { models: model.settings(), ..Setup::default() };
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
            let plan = filled(result(text), fill, RESULT_BYTES / fill.len() / 2);
            let arguments = planned(&plan);
            let params = json!({"name": name, "arguments": arguments});
            let reply = stage.modern("tools/call", params.clone()).send().await;
            assert_eq!(reply.status, 200, "{server}: {reply:.300?}");
            assert_short_polls(&watch, &format!("/mcp, modern, {server}: {text}"));
            let body = json!({"name": name, "arguments": arguments}).to_string();
            let reply = stage.post(body).path("/v1/tools/execute").send().await;
            assert_eq!(reply.status, 200, "{server}: {reply:.300?}");
            assert_short_polls(&watch, &format!("/v1/tools/execute, {server}: {text}"));
            let session = stage.open_session("2025-11-25", json!({})).await;
            let reply = session.call(1, "tools/call", &params).send().await;
            assert_eq!(reply.status, 200, "{server}: {reply:.300?}");
            assert_short_polls(&watch, &format!("/mcp, legacy, {server}: {text}"));
        }
    }
    for stream in [false, true] {
        let messages = json!([{"role": "user", "content": "say something long"}]);
        let body = json!({"model": "default", "messages": messages, "stream": stream}).to_string();
        let reply = stage.post(body).path("/v1/chat/completions").send().await;
        assert_eq!(reply.status, 200, "{reply:.300?}");
        assert_short_polls(&watch, &format!("/v1/chat/completions, stream: {stream}"));
    }
}
