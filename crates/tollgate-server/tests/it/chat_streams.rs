//! Streamed answers: one lifecycle for all rounds, and no leak when the client disconnects.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use crate::chat::{agent, stage};
use crate::model::Model;

fn hello() -> Value {
    json!({"model": "sage", "stream": true, "stream_options": {"include_usage": true},
           "messages": [{"role": "user", "content": "hello"}]})
}

#[tokio::test]
async fn an_answer_of_two_rounds_is_one_stream() {
    let model = Model::calling(&["Let me see.\n!echo {\"text\": \"one\"}"]).await;
    let stage = stage(&model, agent(&["echo", "wait"])).await;
    let call = stage.post(hello().to_string()).path("/v1/chat/completions");
    let reply = call.send().await;
    assert_eq!(reply.header("content-type").as_deref(), Some("text/event-stream"));
    let chunks = reply.events();
    assert!(reply.text.ends_with("data: [DONE]\n\n"), "{}", reply.text);
    let choices: Vec<&Value> = chunks.iter().map(|chunk| &chunk["choices"][0]).collect();
    let said: String = choices.iter().filter_map(|it| it["delta"]["content"].as_str()).collect();
    assert_eq!(said, "Let me see.\n\nit said: \"one\"");
    let ends: Vec<&str> = choices.iter().filter_map(|it| it["finish_reason"].as_str()).collect();
    assert_eq!(ends, ["stop"], "one end");
    let roles = choices.iter().filter(|it| it["delta"]["role"] == "assistant").count();
    assert_eq!(roles, 1, "one beginning");
    assert!(choices.iter().all(|it| it["delta"].get("tool_calls").is_none()));
    let ids: Vec<&Value> = chunks.iter().map(|chunk| &chunk["id"]).collect();
    assert!(ids.windows(2).all(|pair| pair[0] == pair[1]), "{ids:?}");
    let usage: Vec<&Value> =
        chunks.iter().map(|chunk| &chunk["usage"]).filter(|usage| usage.is_object()).collect();
    assert_eq!(usage.len(), 1);
    assert_eq!(usage[0]["total_tokens"], 24);
    let told: Vec<&Value> = chunks.iter().filter_map(|chunk| chunk.get("tollgate")).collect();
    assert_eq!((told.len(), &told[0]["rounds"]), (1, &json!(2)));
    for note in ["\"type\":\"call\"", "\"type\":\"result\""] {
        assert!(reply.text.contains(note), "{}", reply.text);
    }
}

#[tokio::test]
async fn notes_are_events_for_whoever_wants_them() {
    let model = Model::calling(&["!echo {\"text\": \"one\"}"]).await;
    let stage = stage(&model, agent(&["echo", "wait"])).await;
    let call = stage.post(hello().to_string()).path("/v1/chat/completions");
    let reply = call.header("x-tollgate-events", "true").send().await;
    assert_eq!(reply.text.matches("event: tollgate\n").count(), 2, "{}", reply.text);
    assert!(!reply.text.contains(": tollgate {"));
}

#[tokio::test]
async fn b_ch_10_whoever_goes_away_ends_the_tools_too() {
    let model = Model::calling(&["One moment.\n!wait {\"ms\": 60000}"]).await;
    let stage = stage(&model, agent(&["echo", "wait"])).await;
    let call = stage.post(hello().to_string()).path("/v1/chat/completions");
    let stream = call.stream().await;
    for _ in 0..500 {
        if stage.calls() == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(stage.calls(), 1, "the tool runs");
    drop(stream);
    stage.reaches(&stage.seen.cancelled, 1).await;
    assert_eq!(stage.seen.finished.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn what_fails_at_once_is_told_by_a_status() {
    let model = Model::calling(&[]).await;
    let mut settings = model.settings();
    settings.providers[0].base_url = Some("http://127.0.0.1:9".to_owned());
    let setup = crate::stage::Setup {
        models: settings,
        agents: vec![agent(&["echo", "wait"])],
        ..crate::stage::Setup::default()
    };
    let stage = crate::stage::Stage::with(setup).await;
    let call = stage.post(hello().to_string()).path("/v1/chat/completions");
    let reply = call.send().await;
    assert_eq!(reply.status, 502, "{}", reply.text);
    assert_eq!(reply.json()["error"]["code"], "provider_error");
}
