//! `POST /v1/mcp/tool/execute`: a model's calls in, messages to append out.

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tollgate_core::names::NamePattern;
use tollgate_engine::builtin::{
    self, BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError,
};
use tollgate_server::Right;

use crate::chat::{agent, ask};
use crate::client;
use crate::model::Model;
use crate::stage::{Setup, Stage, key};
use crate::upstream::Upstream;

async fn run(stage: &Stage, format: &str, calls: &Value) -> client::Reply {
    let path = format!("/v1/mcp/tool/execute?format={format}");
    stage.post(calls.to_string()).path(&path).send().await
}

fn chat(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

#[tokio::test]
async fn a_call_in_each_dialect_gives_a_message_to_append() {
    let stage = Stage::start().await;
    let text = r#"{"text": "hi"}"#;
    for (format, call, expected) in [
        (
            "chat",
            chat("c1", "echo", text),
            json!({"role": "tool", "tool_call_id": "c1", "content": "hi"}),
        ),
        (
            "responses",
            json!({"type": "function_call", "call_id": "c1", "name": "echo", "arguments": text}),
            json!({"type": "function_call_output", "call_id": "c1", "output": "hi"}),
        ),
        (
            "anthropic",
            json!({"type": "tool_use", "id": "t1", "name": "echo", "input": {"text": "hi"}}),
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "hi"}]}),
        ),
        (
            "gemini",
            json!({"functionCall": {"name": "echo", "args": {"text": "hi"}}}),
            json!({"role": "user", "parts": [
                {"functionResponse": {"name": "echo", "response": {"output": "hi"}}}]}),
        ),
    ] {
        let reply = run(&stage, format, &call).await;
        assert_eq!((reply.status, reply.json()), (200, expected), "{format}");
        assert_eq!(reply.header("x-tollgate-agent").as_deref(), Some("default"), "{format}");
        for header in ["x-tollgate-tier", "x-tollgate-tool-ms", "x-tollgate-call-id"] {
            assert!(reply.header(header).is_some(), "{format}: {header}");
        }
    }
    let plain = stage.post(json!({"name": "echo", "arguments": {"text": "bare"}}).to_string());
    let reply = plain.path("/v1/mcp/tool/execute").send().await.json();
    assert_eq!(reply, json!({"role": "tool", "tool_call_id": "call_1", "content": "bare"}));
}

#[tokio::test]
async fn several_calls_run_side_by_side_and_answer_in_order() {
    let stage = Stage::start().await;
    let calls: Vec<Value> = (0..8)
        .map(|at| chat(&format!("c{at}"), "echo", &format!("{{\"text\": \"{at}\"}}")))
        .chain([chat("w", "wait", "{\"ms\": 50}")])
        .collect();
    let messages = run(&stage, "chat", &json!({"role": "assistant", "tool_calls": calls})).await;
    let messages = messages.json();
    let messages = messages.as_array().unwrap();
    assert_eq!(messages.len(), 9);
    for (at, message) in messages.iter().take(8).enumerate() {
        assert_eq!(message["tool_call_id"], format!("c{at}"));
        assert_eq!(message["content"], at.to_string());
    }
    assert_eq!(messages[8]["content"], "waited");
    let uses = json!([
        {"type": "tool_use", "id": "a", "name": "echo", "input": {"text": "1"}},
        {"type": "tool_use", "id": "b", "name": "echo", "input": {"text": "2"}},
    ]);
    let answered = run(&stage, "anthropic", &uses).await.json();
    let ids: Vec<&Value> = answered[0]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| &block["tool_use_id"])
        .collect();
    assert_eq!(ids, ["a", "b"], "one message holds all results: {answered}");
}

#[tokio::test]
async fn b_ch_06_07_calls_that_fail_are_messages_that_the_model_can_read() {
    let stage = Stage::start().await;
    for (call, expected) in [
        (chat("c", "ehco", "{}"), "did you mean"),
        (chat("c", "echo", "{'text': 1}"), "not valid JSON: key must be a string"),
        (chat("c", "echo", "[]"), "the arguments are a list"),
        (chat("c", "echo", "{\"text\": 5}"), "text"),
        (chat("c", "boom", "{}"), "the tool crashed"),
    ] {
        let reply = run(&stage, "chat", &call).await;
        let message = reply.json();
        assert_eq!((reply.status, &message["tool_call_id"]), (200, &json!("c")), "{call}");
        let content = message["content"].as_str().unwrap();
        assert!(content.contains(expected), "{call}: {content}");
    }
    let failed = json!({"type": "tool_use", "id": "t", "name": "ehco", "input": {}});
    let message = run(&stage, "anthropic", &failed).await.json();
    assert_eq!(message["content"][0]["is_error"], true);
    let failed = json!({"functionCall": {"id": "f", "name": "ehco", "args": {}}});
    let message = run(&stage, "gemini", &failed).await.json();
    assert!(message["parts"][0]["functionResponse"]["response"]["error"].is_string(), "{message}");
}

#[tokio::test]
async fn what_is_no_call_is_refused_in_the_words_of_the_dialect() {
    let stage = Stage::start().await;
    let many: Vec<Value> = (0..33).map(|at| chat(&format!("c{at}"), "echo", "{}")).collect();
    for (format, body, message) in [
        ("chat", json!([]), "/error/message"),
        ("chat", json!({"type": "function", "function": {"name": "echo"}}), "/error/message"),
        ("chat", json!(many), "/error/message"),
        ("anthropic", json!({"type": "tool_use", "name": "echo"}), "/error/message"),
        ("gemini", json!({"functionCall": 7}), "/error/message"),
    ] {
        let reply = run(&stage, format, &body).await;
        assert_eq!(reply.status, 400, "{format}: {reply:?}");
        assert!(reply.json().pointer(message).is_some(), "{format}: {reply:?}");
    }
    let reply = run(&stage, "anthropic", &json!(7)).await.json();
    assert_eq!(
        (&reply["type"], &reply["error"]["type"]),
        (&json!("error"), &json!("invalid_request_error"))
    );
    let reply = run(&stage, "gemini", &json!(7)).await.json();
    assert_eq!(reply["error"]["status"], "INVALID_ARGUMENT");
    let reply = run(&stage, "chats", &json!({})).await;
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!("unknown_format")));
    assert!(reply.text.contains("did you mean `chat`?"), "{reply:?}");
    for body in ["", "{", "{\"id\":1,\"id\":2}"] {
        let reply = stage.post(body).path("/v1/mcp/tool/execute").send().await;
        assert_eq!(reply.status, 400, "{body}");
    }
    assert_eq!(stage.calls(), 0);
}

#[tokio::test]
async fn rights_and_views_hold_here_as_everywhere() {
    let stage = Stage::start().await;
    let call = chat("c", "wait", "{}");
    let asked = stage.post(call.to_string()).path("/v1/mcp/tool/execute");
    let reply = asked.header("x-tollgate-agent", "sage").send().await;
    assert_eq!(reply.status, 200);
    assert!(reply.text.contains("there is no tool `wait`"), "{reply:?}");
    let asked = stage.post(call.to_string()).path("/v1/mcp/tool/execute");
    assert_eq!(asked.header("x-tollgate-agent", "nobody").status().await, 404);
    assert_eq!(stage.calls(), 0);
    let key = key("eyes", "a-key-of-sixteen", [Right::Observe].into_iter().collect());
    let stage = Stage::with(Setup { keys: vec![key], ..Setup::default() }).await;
    let asked = stage.post(call.to_string()).path("/v1/mcp/tool/execute");
    let reply = asked.header("x-api-key", "a-key-of-sixteen").send().await;
    assert_eq!((reply.status, stage.calls()), (403, 0), "{reply:?}");
    let asked = stage.post(call.to_string()).path("/v1/mcp/tool/execute");
    assert_eq!(asked.status().await, 401);
}

/// A tool whose argument no model of Anthropic or Google may be told by its name.
struct Odd;

#[async_trait]
impl BuiltinTool for Odd {
    fn definition(&self) -> Value {
        json!({"name": "odd", "description": "Odd.", "inputSchema": {
            "type": "object", "properties": {"$top": {"type": "integer"}}, "required": ["$top"]}})
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        _: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        Ok(BuiltinReply { text: Value::Object(arguments.clone()).to_string(), structured: None })
    }
}

#[tokio::test]
async fn arguments_get_their_own_names_back() {
    let tools = vec![builtin::Server { name: "odd", tools: vec![Box::new(Odd)] }];
    let stage = Stage::with(Setup { tools, ..Setup::default() }).await;
    let shown = stage.request("GET", "/v1/tools?format=anthropic").send().await.json();
    let odd = shown["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "odd").unwrap();
    let key = odd["input_schema"]["required"][0].as_str().unwrap();
    assert!(key.starts_with("_top_"), "{odd}");
    let call = json!({"type": "tool_use", "id": "t", "name": "odd", "input": {key: 3}});
    let message = run(&stage, "anthropic", &call).await.json();
    assert_eq!(message["content"][0]["content"], r#"{"$top":3}"#, "{message}");
    let call = chat("c", "odd", r#"{"$top": 3}"#);
    let message = run(&stage, "chat", &call).await.json();
    assert_eq!(message["content"], r#"{"$top":3}"#, "{message}");
}

#[tokio::test]
async fn a_tool_whose_name_no_dialect_takes_is_offered_and_run_all_the_same() {
    let up = Upstream::start().await;
    up.script.grow("files.read");
    // Calls whatever it is offered under a name like that, then says what came of it.
    let model = Model::saying(|request| {
        let messages = request["messages"].as_array().unwrap();
        let tools = request["tools"].as_array().unwrap();
        let names = tools.iter().filter_map(|tool| tool["function"]["name"].as_str());
        let name = names.into_iter().find(|name| name.starts_with("files_read_"));
        match (name, messages.last().unwrap()["role"] == "tool") {
            (Some(name), false) => format!("!{name} {{}}"),
            (Some(_), true) => format!("it said: {}", messages.last().unwrap()["content"]),
            (None, _) => "there is no such tool".to_owned(),
        }
    })
    .await;
    let stage = Stage::with(Setup {
        upstream: Some(up.address),
        names: NamePattern::PassThrough,
        models: model.settings(),
        agents: vec![agent(&["files.read"])],
        ..Setup::default()
    })
    .await;
    let body = json!({"model": "sage", "messages": [{"role": "user", "content": "read"}]});
    let answer = ask(&stage, body).await.json();
    assert_eq!(answer["choices"][0]["message"]["content"], "it said: \"done\"", "{answer}");
    assert_eq!(*up.script.calls.lock(), ["files.read"]);
    let offered = model.requests.lock()[0]["tools"].clone();
    let name = offered.as_array().unwrap().iter().find_map(|tool| {
        tool["function"]["name"].as_str().filter(|name| name.starts_with("files_read_"))
    });
    let message = run(&stage, "chat", &chat("c", name.unwrap(), "{}")).await.json();
    assert_eq!(message["content"], "done", "{message}");
}
