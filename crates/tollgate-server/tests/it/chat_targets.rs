//! Resolution of the model name to an agent or model, rights, and errors in the client's dialect.

use serde_json::{Value, json};
use tollgate_core::id::AgentId;
use tollgate_server::{Right, Rights};

use crate::chat::{agent, ask, stage};
use crate::client::Reply;
use crate::model::Model;
use crate::stage::{Setup, Stage, key};

fn to(model: &str) -> Value {
    json!({"model": model, "messages": [{"role": "user", "content": "hello"}]})
}

fn dialects(model: &str) -> [(&'static str, String, Value); 4] {
    let messages = json!([{"role": "user", "content": "hello"}]);
    let contents = json!([{"role": "user", "parts": [{"text": "hello"}]}]);
    [
        (
            "openai",
            "/v1/chat/completions".to_owned(),
            json!({"model": model, "messages": messages}),
        ),
        ("openai", "/v1/responses".to_owned(), json!({"model": model, "input": "hello"})),
        (
            "anthropic",
            "/v1/messages".to_owned(),
            json!({"model": model, "max_tokens": 100, "messages": messages}),
        ),
        (
            "gemini",
            format!("/v1beta/models/{model}:generateContent"),
            json!({"contents": contents}),
        ),
    ]
}

/// The error as its dialect says it: what kind it is.
fn kind(dialect: &str, reply: &Reply) -> String {
    let error = &reply.json()["error"];
    let field = match dialect {
        "openai" => &error["code"],
        "anthropic" => &error["type"],
        _ => &error["status"],
    };
    field.as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_model_alone_gets_the_request_as_it_is() {
    let model = Model::calling(&[]).await;
    let stage = stage(&model, agent(&["echo"])).await;
    let mut body = to("m");
    body["made_up_field"] = json!({"a": [1, 2.50, null]});
    let reply = ask(&stage, body.clone()).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.json().get("tollgate"), None);
    assert_eq!(reply.header("x-tollgate-model").as_deref(), Some("m"));
    body["model"] = json!("model-at-home");
    assert_eq!(model.requests.lock()[0], body);
}

#[tokio::test]
async fn an_agent_can_be_asked_by_header_with_another_model() {
    let model = Model::calling(&["!echo {\"text\": \"one\"}"]).await;
    let stage = stage(&model, agent(&["echo"])).await;
    let call = stage.post(to("fast").to_string()).path("/v1/chat/completions");
    let reply = call.header("x-tollgate-agent", "sage").send().await;
    assert_eq!(reply.json()["tollgate"]["ended"], "answered", "{}", reply.text);
    assert_eq!(model.requests.lock()[0]["model"], "fast-at-home");
    let reply = ask(&stage, to("p/anything")).await;
    assert_eq!((reply.status, &model.requests.lock()[2]["model"]), (200, &json!("anything")));
}

#[tokio::test]
async fn every_api_reaches_the_same_agent_over_the_same_model() {
    for (dialect, path, body) in dialects("sage") {
        let model = Model::calling(&["!echo {\"text\": \"one\"}"]).await;
        let stage = stage(&model, agent(&["echo"])).await;
        let reply = stage.post(body.to_string()).path(&path).send().await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text);
        assert!(reply.text.contains("it said: \\\"one\\\""), "{dialect}: {}", reply.text);
        assert_eq!(reply.json()["tollgate"]["rounds"], 2, "{path}");
    }
}

#[tokio::test]
async fn b_ch_07_a_name_that_nobody_has_is_told_in_each_dialect() {
    let model = Model::calling(&[]).await;
    let stage = stage(&model, agent(&["echo"])).await;
    for name in ["Sage", "sag", "..%2F..%2Fx", "q/m", "p/"] {
        for (dialect, path, body) in dialects(name) {
            let reply = stage.post(body.to_string()).path(&path).send().await;
            let expected = match dialect {
                "openai" => "model_not_found",
                "anthropic" => "not_found_error",
                _ => "NOT_FOUND",
            };
            let found = (reply.status, kind(dialect, &reply));
            assert_eq!(found, (404, expected.to_owned()), "{path}: {}", reply.text);
        }
    }
    assert_eq!(model.requests.lock().len(), 0);
    let reply = ask(&stage, to("Sage")).await;
    let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("did you mean `sage`?"), "{message}");
}

#[tokio::test]
async fn a_key_for_an_agent_reaches_models_by_that_agent_only() {
    let model = Model::calling(&[]).await;
    let rights: Rights = [Right::Execute].into_iter().collect();
    let mut phone = key("phone", "phone-key-0123456789", rights);
    phone.agents = Some(vec![AgentId::parse("sage").unwrap()]);
    let other = tollgate_core::agent::Agent { id: AgentId::parse("other").unwrap(), ..agent(&[]) };
    let setup = Setup {
        models: model.settings(),
        agents: vec![agent(&["echo"]), other],
        keys: vec![phone],
        ..Setup::default()
    };
    let stage = Stage::with(setup).await;
    let asks = |name: &str| {
        let call = stage.post(to(name).to_string()).path("/v1/chat/completions");
        call.header("authorization", "Bearer phone-key-0123456789").send()
    };
    assert_eq!(asks("sage").await.status, 200);
    assert_eq!(asks("m").await.json()["tollgate"]["ended"], "answered", "by its agent");
    assert_eq!(asks("fast").await.status, 403);
    assert_eq!(asks("p/anything").await.status, 403);
    assert_eq!(asks("other").await.status, 403);
    let list = |header: &'static str, value: &'static str| {
        stage.request("GET", "/v1/models").header(header, value).send()
    };
    let listed = list("authorization", "Bearer phone-key-0123456789").await.json();
    let names: Vec<&Value> =
        listed["data"].as_array().unwrap().iter().map(|model| &model["id"]).collect();
    assert_eq!(names, ["sage"]);
    // Google's client asks here as well, with its own header, for a list of its own form.
    let listed = list("x-goog-api-key", "phone-key-0123456789").await.json();
    let names: Vec<&Value> =
        listed["models"].as_array().unwrap().iter().map(|model| &model["name"]).collect();
    assert_eq!(names, ["models/sage"]);
    let (_, path, body) = dialects("sage")[2].clone();
    let reply = stage.post(body.to_string()).path(&path).send().await;
    assert_eq!((reply.status, kind("anthropic", &reply)), (401, "authentication_error".to_owned()));
}

#[tokio::test]
async fn a_response_can_be_gone_on_from_by_its_id() {
    let model = Model::calling(&["!echo {\"text\": \"one\"}"]).await;
    let stage = stage(&model, agent(&["echo"])).await;
    let ask = |body: Value| stage.post(body.to_string()).path("/v1/responses").send();
    let instructions = "Be brief.";
    let first = ask(json!({"model": "sage", "input": "hello", "instructions": instructions})).await;
    let id = first.json()["id"].as_str().unwrap().to_owned();
    let next = json!({"model": "sage", "input": "and?", "previous_response_id": id});
    let second = ask(next.clone()).await;
    assert_eq!(second.json()["previous_response_id"], id, "{}", second.text);
    let asked = model.requests.lock()[2]["messages"].clone();
    let roles: Vec<&str> =
        asked.as_array().unwrap().iter().map(|it| it["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant", "user"]);
    assert!(!asked.to_string().contains(instructions), "they were for one answer");
    let unkept = json!({"model": "sage", "input": "x", "store": false});
    let id = ask(unkept).await.json()["id"].as_str().unwrap().to_owned();
    for unknown in [id.as_str(), "resp_nobody"] {
        let reply =
            ask(json!({"model": "sage", "input": "x", "previous_response_id": unknown})).await;
        assert_eq!(reply.json()["error"]["param"], "previous_response_id", "{}", reply.text);
    }
}

#[tokio::test]
async fn a_model_alone_is_converted_and_its_calls_are_the_clients_whatever_they_name() {
    for (dialect, path, body) in dialects("m").into_iter().skip(1) {
        let model = Model::calling(&["Well.\n!nobodys {\"a\": 1}"]).await;
        let stage = stage(&model, agent(&["echo"])).await;
        let reply = stage.post(body.to_string()).path(&path).send().await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text);
        for said in ["Well.", "nobodys"] {
            assert!(reply.text.contains(said), "{dialect} {said}: {}", reply.text);
        }
        assert_eq!(reply.json().get("tollgate"), None);
        assert_eq!((model.requests.lock().len(), stage.calls()), (1, 0));
    }
}

/// What was run stands in the history, and the client adds what it ran itself.
#[tokio::test]
async fn a_mixed_turn_can_be_gone_on_from_in_each_dialect() {
    const MIXED: &[&str] = &["!echo {\"text\": \"one\"}\n!theirs {}"];
    let schema = json!({"type": "object", "properties": {}});
    let tools = [
        json!([{"type": "function", "function": {"name": "theirs", "parameters": schema}}]),
        json!([{"type": "function", "name": "theirs", "parameters": schema}]),
        json!([{"name": "theirs", "input_schema": schema}]),
        json!([{"functionDeclarations": [{"name": "theirs", "parametersJsonSchema": schema}]}]),
    ];
    let results = [
        json!({"role": "tool", "tool_call_id": "c0_1", "content": "two"}),
        json!({"type": "function_call_output", "call_id": "c0_1", "output": "two"}),
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c0_1", "content": "two"}]}),
        json!({"role": "user", "parts": [{"functionResponse": {
            "id": "c0_1", "name": "theirs", "response": {"output": "two"}}}]}),
    ];
    for (at, (_, path, mut body)) in dialects("sage").into_iter().enumerate() {
        let model = Model::calling(MIXED).await;
        let stage = stage(&model, agent(&["echo"])).await;
        body["tools"] = tools[at].clone();
        let first = stage.post(body.to_string()).path(&path).send().await;
        let history = first.json()["tollgate"]["history"].clone();
        let key = ["messages", "input", "messages", "contents"][at];
        if body[key].is_string() {
            body[key] = json!([{"role": "user", "content": body[key]}]);
        }
        let messages = body[key].as_array_mut().unwrap();
        messages.extend(history.as_array().unwrap().iter().cloned());
        messages.push(results[at].clone());
        let second = stage.post(body.to_string()).path(&path).send().await;
        assert_eq!(second.status, 200, "{path}: {}", second.text);
        assert!(second.text.contains("it said: \\\"two\\\""), "{path}: {}", second.text);
        let asked = model.requests.lock()[1]["messages"].clone();
        let said: Vec<&Value> = asked
            .as_array()
            .unwrap()
            .iter()
            .filter(|message| message["role"] == "tool")
            .map(|message| &message["content"])
            .collect();
        assert_eq!(said, ["one", "two"], "{path}");
    }
}

#[tokio::test]
async fn b_ch_12_a_key_for_an_agent_brings_nothing_that_the_provider_runs_or_keeps() {
    let model = Model::calling(&[]).await;
    let mut phone = key("phone", "phone-key-0123456789", [Right::Execute].into_iter().collect());
    phone.agents = Some(vec![AgentId::parse("sage").unwrap()]);
    let models = model.settings();
    let agents = vec![agent(&["echo"])];
    let stage = Stage::with(Setup { models, agents, keys: vec![phone], ..Setup::default() }).await;
    for (field, value) in [
        ("tools", json!([{"type": "mcp", "server_url": "http://x", "server_label": "x"}])),
        ("conversation", json!("conv_others")),
        ("prompt", json!({"id": "pmpt_others"})),
        ("input", json!([{"type": "item_reference", "id": "msg_others"}])),
    ] {
        let mut body = json!({"model": "sage", "input": "hello"});
        body[field] = value;
        let call = stage.post(body.to_string()).path("/v1/responses");
        let reply = call.header("x-api-key", "phone-key-0123456789").send().await;
        assert_eq!(reply.status, 403, "{field}: {}", reply.text);
    }
    assert_eq!(model.requests.lock().len(), 0);
}

#[tokio::test]
async fn b_ch_03_a_body_of_too_many_values_is_refused_and_an_unknown_agent_is_named() {
    let model = Model::calling(&[]).await;
    let stage = stage(&model, agent(&["echo"])).await;
    let mut body = to("sage");
    body["metadata"] = json!({"a": vec![0; 500_000]});
    assert_eq!(ask(&stage, body).await.status, 413);
    let call = stage.post(to("m").to_string()).path("/v1/chat/completions");
    let reply = call.header("x-tollgate-agent", "nope").send().await;
    let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(reply.status == 404 && message.contains("no agent `nope`"), "{}", reply.text);
}
