//! Messages of servers beside the result: progress, logs, questions, list changes.

use serde_json::{Value, json};

use crate::stage::{Setup, Stage};
use crate::upstream::Upstream;

async fn stage() -> (Upstream, Stage) {
    let up = Upstream::start().await;
    let stage = Stage::with(Setup { upstream: Some(up.address), ..Setup::default() }).await;
    (up, stage)
}

fn methods(events: &[Value]) -> Vec<String> {
    let name = |event: &Value| event["method"].as_str().unwrap_or("answer").to_owned();
    events.iter().map(name).collect()
}

#[tokio::test]
async fn progress_comes_before_the_answer_to_those_who_asked_for_it() {
    let (_up, stage) = stage().await;
    let session = stage.open_session("2025-11-25", json!({})).await;
    let params = json!({"name": "up_count", "_meta": {"progressToken": "mine"}});
    let modern = stage.modern("tools/call", params.clone()).send().await;
    let legacy = session.call(1, "tools/call", &params).send().await;
    for reply in [modern, legacy] {
        assert_eq!(reply.header("content-type").as_deref(), Some("text/event-stream"));
        assert_eq!(reply.header("x-accel-buffering").as_deref(), Some("no"));
        let events = reply.events();
        let progress = "notifications/progress";
        assert_eq!(methods(&events), [progress, progress, progress, "answer"]);
        for (at, event) in events[..3].iter().enumerate() {
            let expected = json!({"progress": at + 1, "total": 3, "progressToken": "mine"});
            assert_eq!(event["params"], expected);
        }
        assert_eq!(events[3]["result"]["content"][0]["text"], "done");
    }
    let silent = stage.modern("tools/call", json!({"name": "up_count"})).send().await;
    assert_eq!(silent.header("content-type").as_deref(), Some("application/json"));
    let json_only = stage.modern("tools/call", params).set("accept", "application/json");
    assert_eq!(json_only.brief().await, "200 ok");
}

#[tokio::test]
async fn logs_are_heard_from_the_level_that_the_client_set() {
    let (_up, stage) = stage().await;
    let with_level = |level: Option<&str>| {
        let mut params = json!({"name": "up_log", "_meta": {}});
        if let Some(level) = level {
            params["_meta"]["io.modelcontextprotocol/logLevel"] = json!(level);
        }
        stage.modern("tools/call", params)
    };
    let message = "notifications/message";
    let events = with_level(Some("debug")).send().await.events();
    assert_eq!(methods(&events), [message, message, "answer"]);
    assert_eq!(methods(&with_level(Some("info")).send().await.events()), [message, "answer"]);
    let silent = with_level(None).send().await;
    assert!(!silent.text.contains(message), "nobody asked");
    let session = stage.open_session("2025-11-25", json!({})).await;
    let log = || session.call(1, "tools/call", &json!({"name": "up_log"}));
    assert_eq!(methods(&log().send().await.events()), [message, "answer"], "info is the first");
    session.call(2, "logging/setLevel", &json!({"level": "debug"})).send().await;
    assert_eq!(methods(&log().send().await.events()), [message, message, "answer"]);
    session.call(3, "logging/setLevel", &json!({"level": "critical"})).send().await;
    assert!(!log().send().await.text.contains(message));
}

#[tokio::test]
async fn a_legacy_client_is_asked_on_the_stream_of_its_call() {
    let (_up, stage) = stage().await;
    let session = stage.open_session("2025-11-25", json!({"elicitation": {}})).await;
    let mut stream = session.call(1, "tools/call", &json!({"name": "up_ask"})).stream().await;
    let question = stream.next().await.unwrap();
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "who?");
    let stranger = stage.open_session("2025-11-25", json!({})).await;
    let answer = |name: &str| {
        let result = json!({"action": "accept", "content": {"name": name}});
        json!({"jsonrpc": "2.0", "id": question["id"], "result": result}).to_string()
    };
    assert_eq!(stranger.post(answer("mallory")).brief().await, "202", "heard by nobody");
    assert_eq!(session.post(answer("ada")).brief().await, "202");
    let last = stream.next().await.unwrap();
    assert_eq!(last["id"], 1);
    assert_eq!(last["result"]["content"][0]["text"], "ada");
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn a_modern_client_comes_back_with_the_answer() {
    let (_up, stage) = stage().await;
    let meta = json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
    let first = json!({"name": "up_ask", "_meta": meta});
    let reply = stage.modern("tools/call", first.clone()).send().await;
    let request = reply.json()["result"].clone();
    assert_eq!(request["resultType"], "input_required", "{reply:?}");
    assert_eq!(request["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "tollgate");
    let (key, question) = request["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(question["method"], "elicitation/create");
    let mut second = first.clone();
    second["requestState"] = request["requestState"].clone();
    second["inputResponses"] = json!({key: {"action": "accept", "content": {"name": "ada"}}});
    let mut forged = second.clone();
    let state = request["requestState"].as_str().unwrap();
    forged["requestState"] = json!(format!("{}A", &state[..state.len() - 1]));
    let mut tampered = state.to_owned().into_bytes();
    tampered[20] ^= 1;
    forged["requestState"] = json!(String::from_utf8_lossy(&tampered));
    assert_eq!(stage.modern("tools/call", forged).brief().await, "200 -32602", "b_jr_29");
    let reply = stage.modern("tools/call", second).send().await;
    assert_eq!(reply.json()["result"]["content"][0]["text"], "ada", "{reply:?}");
}

#[tokio::test]
async fn r_32_a_cancel_reaches_the_server() {
    let (up, stage) = stage().await;
    let hang = json!({"name": "up_hang"});
    let call = stage.modern("tools/call", hang).send();
    tokio::select! {
        reply = call => panic!("it did not hang: {reply:?}"),
        () = up.script.is_called() => {}
    }
    up.script.hears_a_cancel().await;
}

#[tokio::test]
async fn changes_of_lists_are_told_to_those_who_would_see_them() {
    let (up, stage) = stage().await;
    let listen = |requested: Value| {
        let params = json!({"notifications": requested});
        stage.modern("subscriptions/listen", params)
    };
    let mut tools = listen(json!({"toolsListChanged": true})).stream().await;
    let mut prompts = listen(json!({"promptsListChanged": true})).stream().await;
    let mut sage = listen(json!({"toolsListChanged": true})).path("/mcp/sage").stream().await;
    let session = stage.open_session("2025-11-25", json!({})).await;
    let get =
        session.add_headers(stage.request("GET", "/mcp")).header("accept", "text/event-stream");
    let mut legacy = get.stream().await;
    let acknowledged = tools.next().await.unwrap();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["notifications"], json!({"toolsListChanged": true}));
    prompts.next().await;
    sage.next().await;
    up.script.wait_for_reader().await;
    up.script.grow("more");
    let body = tools.next().await.unwrap();
    assert_eq!(body["method"], "notifications/tools/list_changed");
    assert_eq!(body["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    let body = legacy.next().await.unwrap();
    assert_eq!(
        body,
        json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {}})
    );
    prompts.silent().await;
    sage.silent().await;
    let list = stage.modern("tools/list", json!({})).send().await;
    assert!(list.text.contains("up_more"));
}

#[tokio::test]
async fn a_session_hears_of_changes_that_it_slept_through() {
    let (up, stage) = stage().await;
    let session = stage.open_session("2025-11-25", json!({})).await;
    up.script.wait_for_reader().await;
    let mut changes = stage.gate.changes();
    up.script.grow("while_away");
    changes.changed().await.unwrap();
    let get =
        || session.add_headers(stage.request("GET", "/mcp")).header("accept", "text/event-stream");
    let mut stream = get().stream().await;
    let body = stream.next().await.unwrap();
    assert_eq!(body["method"], "notifications/tools/list_changed");
    let mut second = get().stream().await;
    assert_eq!(stream.next().await, None, "the newer stream takes over");
    second.silent().await;
}

#[tokio::test]
async fn updates_of_resources_reach_those_who_watch_them() {
    let (up, stage) = stage().await;
    let params = json!({"notifications": {"resourceSubscriptions": ["test://a"]}});
    let listen = || stage.modern("subscriptions/listen", params.clone());
    let mut modern = listen().stream().await;
    let accepted = modern.next().await.unwrap()["params"]["notifications"].clone();
    assert_eq!(accepted, json!({"resourceSubscriptions": ["test://a"]}));
    let mut sage = listen().path("/mcp/sage").stream().await;
    let accepted = sage.next().await.unwrap()["params"]["notifications"].clone();
    assert_eq!(accepted, json!({}), "sees no resources");
    let session = stage.open_session("2025-11-25", json!({})).await;
    let get =
        session.add_headers(stage.request("GET", "/mcp")).header("accept", "text/event-stream");
    let mut legacy = get.stream().await;
    let updated =
        |uri: &str| up.script.tell("notifications/resources/updated", &json!({"uri": uri}));
    up.script.wait_for_reader().await;
    updated("test://a");
    assert_eq!(modern.next().await.unwrap()["params"]["uri"], "test://a");
    legacy.silent().await;
    session.call(1, "resources/subscribe", &json!({"uri": "test://a"})).send().await;
    updated("test://b");
    updated("test://a");
    let body = legacy.next().await.unwrap();
    assert_eq!(body["method"], "notifications/resources/updated");
    assert_eq!(body["params"], json!({"uri": "test://a"}));
    session.call(2, "resources/unsubscribe", &json!({"uri": "test://a"})).send().await;
    updated("test://a");
    legacy.silent().await;
}
