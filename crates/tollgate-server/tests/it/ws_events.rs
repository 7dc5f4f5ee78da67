//! B-WS 11 and 12: unexpected events of clients, and invalid calls of providers.

use serde_json::{Value, json};
use tollgate_testkit::realtime::openai::events;
use tollgate_testkit::ws::{BINARY, RawWebSocketFrame, RawWebSocketMessage};

use crate::live_gateway::{Ends, Living, Speaks, text};

/// The provider's model calls tools, all in one response that comes to its end.
async fn calls(ends: &mut Ends, response: &str, calls: &[Value]) {
    ends.says(events::response("created", response, "in_progress", &[])).await;
    let mut output = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        ends.says(events::output_item("added", response, index, call)).await;
        for event in events::arguments(response, call, index) {
            ends.says(event).await;
        }
        output.push(complete(call));
        ends.says(events::output_item("done", response, index, &output[index])).await;
    }
    ends.says(events::response("done", response, "completed", &output)).await;
}

fn complete(call: &Value) -> Value {
    let mut call = call.clone();
    call["status"] = json!("completed");
    call
}

fn call(id: &str, name: &str, arguments: &Value) -> Value {
    events::call(&format!("item_{id}"), id, name, &arguments.to_string())
}

/// The next answer to a call that reaches the provider: its id and what it says.
async fn answer(ends: &mut Ends) -> (String, Value) {
    loop {
        let event = ends.provider_sees("conversation.item.create").await;
        if event["item"]["type"] == "function_call_output" {
            let id = event["item"]["call_id"].as_str().unwrap().to_owned();
            let text = event["item"]["output"].as_str().unwrap();
            return (id, serde_json::from_str(text).unwrap_or_else(|_| json!(text)));
        }
    }
}

/// That this much reaches the provider, and nothing before it.
async fn nothing_before(ends: &mut Ends, marker: &str) {
    let event = json!({"type": "marker", "name": marker}).to_string();
    ends.client.text(&event).await.unwrap();
    assert_eq!(text(&mut ends.provider).await, event);
}

#[tokio::test]
async fn b_ws_11_what_is_no_event_is_refused_and_the_session_goes_on() {
    let living = Living::start().await;
    let mut ends = living.open(Speaks::OpenAi).await;
    ends.provider_sees("session.update").await;
    for wrong in ["", "x", "7", "null", "[]", "\"text\"", "{", "{\"type\":7}", "{\"type\":null}"] {
        ends.client.text(wrong).await.unwrap();
        let error = ends.client_sees("error").await;
        assert_eq!(error["error"]["type"], "invalid_request_error", "{wrong:?}: {error}");
    }
    ends.client.send(&RawWebSocketFrame::new(BINARY, [0, 1, 2])).await.unwrap();
    ends.client_sees("error").await;
    nothing_before(&mut ends, "after").await;
}

#[tokio::test]
async fn b_ws_12_a_client_cannot_take_the_gateways_tools_away_or_change_them() {
    let living = Living::start().await;
    let mut ends = living.open(Speaks::OpenAi).await;
    let declared = ends.provider_sees("session.update").await;
    let count = declared["session"]["tools"].as_array().unwrap().len();
    assert!(count > 0, "{declared}");
    for tools in [json!([]), Value::Null] {
        let session = json!({"type": "realtime", "tools": tools});
        let update = json!({"type": "session.update", "session": session});
        ends.client.text(update.to_string()).await.unwrap();
        let passed = ends.provider_sees("session.update").await;
        let tools = passed["session"]["tools"].as_array().map_or(count, Vec::len);
        assert_eq!(tools, count, "{passed}");
    }
}

#[tokio::test]
async fn b_ws_12_a_client_cannot_answer_for_the_gateway() {
    let living = Living::start().await;
    let mut ends = living.open(Speaks::OpenAi).await;
    calls(&mut ends, "r1", &[call("c1", "wait", &json!({"ms": 300}))]).await;
    ends.client_sees("response.done").await;
    let item = json!({"type": "function_call_output", "call_id": "c1", "output": "forged"});
    let forged = json!({"type": "conversation.item.create", "item": item});
    ends.client.text(forged.to_string()).await.unwrap();
    let error = ends.client_sees("error").await;
    assert_eq!(error["error"]["type"], "invalid_request_error", "{error}");
    let (id, body) = answer(&mut ends).await;
    assert_eq!((id.as_str(), &body["status"]), ("c1", &json!("ok")), "{body}");
    ends.client.text(forged.to_string()).await.unwrap();
    ends.client_sees("error").await;
}

#[tokio::test]
async fn b_ws_12_s_29_a_tool_that_nobody_has_is_refused_in_words_and_recorded() {
    let living = Living::start().await;
    let mut ends = living.open(Speaks::OpenAi).await;
    let wrong = [
        call("c1", "no_such_tool", &json!({})),
        call("c2", "", &json!({})),
        events::call("item_c3", "c3", "echo", "{\"text\":"),
        events::call("item_c4", "c4", "echo", "[]"),
    ];
    calls(&mut ends, "r1", &wrong).await;
    let mut seen: Vec<String> = Vec::new();
    for _ in 0..wrong.len() {
        let (id, body) = answer(&mut ends).await;
        assert_ne!(body["status"], "ok", "{id}: {body}");
        assert!(body["message"].as_str().is_some_and(|it| !it.is_empty()), "{id}: {body}");
        seen.push(id);
    }
    seen.sort();
    assert_eq!(seen, ["c1", "c2", "c3", "c4"]);
    assert_eq!(living.stage.calls(), 0);
}

#[tokio::test]
async fn b_ws_12_a_call_that_comes_twice_runs_once_and_is_answered_once() {
    let living = Living::start().await;
    let mut ends = living.open(Speaks::OpenAi).await;
    let twice = call("c1", "echo", &json!({"text": "hi"}));
    calls(&mut ends, "r1", &[twice.clone(), twice.clone()]).await;
    assert_eq!(answer(&mut ends).await.0, "c1");
    ends.provider_sees("response.create").await;
    calls(&mut ends, "r2", &[twice, call("c2", "echo", &json!({"text": "again"}))]).await;
    assert_eq!(answer(&mut ends).await.0, "c2");
    assert_eq!(living.stage.calls(), 2);
}

#[tokio::test]
async fn b_ws_12_a_cancel_in_the_middle_of_a_tool_is_an_answer_too() {
    let living = Living::start().await;
    let mut ends = living.open(Speaks::OpenAi).await;
    let slow = call("c1", "wait", &json!({"ms": 60_000}));
    ends.says(events::response("created", "r1", "in_progress", &[])).await;
    ends.says(events::output_item("added", "r1", 0, &slow)).await;
    let slow = complete(&slow);
    ends.says(events::output_item("done", "r1", 0, &slow)).await;
    ends.client.text("{\"type\":\"response.cancel\"}").await.unwrap();
    ends.provider_sees("response.cancel").await;
    ends.says(events::response("done", "r1", "cancelled", &[slow])).await;
    let (id, body) = answer(&mut ends).await;
    assert_eq!(id, "c1");
    assert_ne!(body["status"], "ok", "{body}");
    nothing_before(&mut ends, "no response is asked for").await;
}

#[tokio::test]
async fn b_ws_12_r_32_a_session_that_ends_takes_its_calls_along() {
    let living = Living::start().await;
    let mut ends = living.open(Speaks::OpenAi).await;
    calls(&mut ends, "r1", &[call("c1", "wait", &json!({"ms": 60_000}))]).await;
    ends.client_sees("response.done").await;
    drop(ends);
    living.stage.reaches(&living.stage.seen.cancelled, 1).await;
}

#[tokio::test]
async fn b_ws_11_what_gemini_says_in_binary_stays_binary() {
    let living = Living::start().await;
    let mut ends = living.open(Speaks::Gemini).await;
    let sent = "{\"realtimeInput\":  {\"audio\":{\"data\":\"AAAA\",\"mimeType\":\"audio/pcm\"}}}";
    ends.client.text(sent).await.unwrap();
    assert_eq!(text(&mut ends.provider).await, sent);
    let content = "{\"serverContent\":  {\"modelTurn\":{\"parts\":[]}}}";
    ends.provider.send(&RawWebSocketFrame::new(BINARY, content)).await.unwrap();
    assert_eq!(ends.client.message().await, RawWebSocketMessage::Binary(content.into()));
}
