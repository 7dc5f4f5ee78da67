//! The agent loop with large results, pictures, JSON answers and too many calls.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::agent::{Agent, MixedResponse, Persona};
use tollgate_core::glob::Glob;

use crate::chat::{agent, ask, stage};
use crate::client::Reply;
use crate::hostile_servers::{Hostile, fill_queue, make_plan, result};
use crate::model::{Model, TOO_LONG};
use crate::stage::Setup;

/// A stage whose agent runs `new_say` by itself: a tool whose result is in its arguments.
async fn saying_stage(model: &Model, window: u32) -> Hostile {
    let mut models = model.settings();
    for model in &mut models.models {
        (model.context_window, model.max_output) = (window, 256);
    }
    let persona = Persona { models: vec!["m".to_owned()], ..Persona::default() };
    let auto_execute = vec![Glob::new("new_say"), Glob::new("echo")];
    let sage = Agent { persona, auto_execute, ..agent(&[]) };
    Hostile::with(Duration::from_secs(30), Setup { models, agents: vec![sage], ..Setup::default() })
        .await
}

fn hello() -> Value {
    json!({"model": "sage", "messages": [{"role": "user", "content": "hello"}]})
}

fn picture_call() -> String {
    let picture = r#"{"content":[{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="}]}"#;
    format!("!new_say {}", make_plan(&result(picture)))
}

fn roles(messages: &Value) -> Vec<&str> {
    let messages = messages.as_array().unwrap().iter();
    messages.map(|message| message["role"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_history_with_a_picture_and_a_pending_call_can_be_gone_on_with() {
    let model = Model::saying(|asked| {
        if asked["messages"].to_string().contains("the client's result") {
            "a picture".to_owned()
        } else {
            format!("{}\n!theirs {{}}", picture_call())
        }
    })
    .await;
    let hostile = saying_stage(&model, 128_000).await;
    let mut body = hello();
    let function = json!({"name": "theirs", "parameters": {"type": "object", "properties": {}}});
    body["tools"] = json!([{"type": "function", "function": function}]);
    let answer = ask(&hostile.stage, body.clone()).await.json();
    let history = answer["tollgate"]["history"].clone();
    assert_eq!(roles(&history), ["user", "assistant", "tool"], "{history}");
    let messages = body["messages"].as_array_mut().unwrap();
    messages.extend(history.as_array().unwrap().iter().cloned());
    let pending = &history[1]["tool_calls"][1]["id"];
    messages.push(json!({"role": "tool", "tool_call_id": pending,
                         "content": "the client's result"}));
    let answer = ask(&hostile.stage, body).await.json();
    assert_eq!(answer["choices"][0]["message"]["content"], "a picture", "{answer}");
    let sent = model.requests.lock()[1]["messages"].clone();
    assert!(sent.to_string().contains("iVBORw0KGgo="), "the picture is not lost: {sent}");
    let sent = roles(&sent).join(" ");
    assert!(sent.ends_with("assistant tool tool"), "{sent}");
}

#[tokio::test]
async fn a_call_whose_result_is_a_picture_is_answered_with_one_message() {
    let hostile = Hostile::start().await;
    let picture = r#"{"content":[{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="}]}"#;
    let arguments = make_plan(&result(picture)).to_string();
    let function = json!({"name": "new_say", "arguments": arguments});
    let call = json!({"id": "c1", "type": "function", "function": function});
    for (calls, expected) in [(call.clone(), 1), (json!([call]), 2)] {
        let path = "/v1/mcp/tool/execute?format=chat";
        let reply = hostile.stage.post(calls.to_string()).path(path).send().await;
        let messages = match reply.json() {
            Value::Array(messages) => messages,
            one => vec![one],
        };
        assert_eq!(messages.len(), expected, "{messages:?}");
        assert_eq!(
            (&messages[0]["role"], &messages[0]["tool_call_id"]),
            (&json!("tool"), &json!("c1"))
        );
        assert!(reply.text.contains("iVBORw0KGgo="), "{messages:?}");
    }
}

#[tokio::test]
async fn results_that_outgrow_the_window_are_shortened_and_not_the_clients_business() {
    let model = Model::saying(|asked| {
        let messages = asked["messages"].as_array().unwrap();
        let round = messages.iter().filter(|it| it["role"] == "tool").count();
        if round < 6 {
            let text =
                format!(r#"{{"content":[{{"type":"text","text":"begin-{round} @FILL@"}}]}}"#);
            format!("!new_say {}", make_plan(&fill_queue(result(&text), "word ", 2_000)))
        } else {
            "that was all".to_owned()
        }
    })
    .await;
    let hostile = saying_stage(&model, 6_000).await;
    let reply = ask(&hostile.stage, hello()).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let answer = reply.json();
    assert_eq!(answer["choices"][0]["message"]["content"], "that was all");
    assert_eq!(answer["tollgate"]["ended"], "answered");
    let asked = model.requests.lock();
    let messages = asked.last().unwrap()["messages"].as_array().unwrap().clone();
    let results: Vec<String> = messages
        .iter()
        .filter(|it| it["role"] == "tool")
        .map(|it| it["content"].to_string())
        .collect();
    assert_eq!(results.len(), 6);
    assert!(results[0].len() < 600 && results[0].contains("begin-0"), "{}", results[0]);
    assert!(results[0].contains("read the rest with handle"), "{}", results[0]);
    assert!(results[5].len() > 2 * results[0].len(), "the latest is the longest");
    let history = answer["tollgate"]["history"].to_string();
    assert!(history.len() < 60_000, "the client's history fits as well: {}", history.len());
}

#[tokio::test]
async fn a_first_request_that_is_too_long_is_still_the_clients() {
    let model = Model::calling(&[]).await;
    let hostile = saying_stage(&model, 2_000).await;
    let text = "one word after another ".repeat(5_000);
    let body = json!({"model": "sage", "messages": [{"role": "user", "content": text}]});
    assert_eq!(ask(&hostile.stage, body).await.status, 400);
}

#[tokio::test]
async fn an_answer_in_json_has_only_the_text_of_the_last_round() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}},
                        "required": ["a"], "additionalProperties": false});
    let fronts = [
        (
            "/v1/chat/completions",
            json!({"model": "sage", "messages": [{"role": "user", "content": "add"}],
            "response_format": {"type": "json_schema", "json_schema": {"name": "sum", "schema": schema}}}),
        ),
        (
            "/v1/responses",
            json!({"model": "sage", "input": "add",
            "text": {"format": {"type": "json_schema", "name": "sum", "schema": schema}}}),
        ),
        (
            "/v1/messages",
            json!({"model": "sage", "max_tokens": 100,
            "messages": [{"role": "user", "content": "add"}],
            "output_config": {"format": {"type": "json_schema", "schema": schema}}}),
        ),
        (
            "/v1beta/models/sage:generateContent",
            json!({"contents": [{"role": "user", "parts": [{"text": "add"}]}],
            "generationConfig": {"responseMimeType": "application/json", "responseSchema": schema}}),
        ),
    ];
    for (path, body) in fronts {
        for is_streamed in [false, true] {
            let model = Model::saying(|asked| {
                let messages = asked["messages"].as_array().unwrap();
                if messages.iter().any(|it| it["role"] == "tool") {
                    "{\"a\": 3}".to_owned()
                } else {
                    "Let me add.\n!echo {\"text\": \"three\"}".to_owned()
                }
            })
            .await;
            let stage = stage(&model, agent(&["echo"])).await;
            let mut body = body.clone();
            let mut path = path.to_owned();
            if is_streamed && path.starts_with("/v1beta") {
                path = path.replace("generateContent", "streamGenerateContent?alt=sse");
            } else if is_streamed {
                body["stream"] = json!(true);
            }
            let reply = stage.post(body.to_string()).path(&path).send().await;
            assert_eq!(reply.status, 200, "{path}: {}", reply.text);
            let shown = reply.text.split("\"history\"").next().unwrap();
            assert!(!shown.contains("Let me"), "{path}, stream {is_streamed}: {}", reply.text);
            assert!(
                shown.contains("a\\\": 3") || shown.contains("\\\"a"),
                "{path}: {}",
                reply.text
            );
        }
    }
}

#[tokio::test]
async fn text_beside_a_pending_call_is_not_lost_from_an_answer_in_json() {
    let model = Model::calling(&["Let me ask you.\n!theirs {}"]).await;
    let stage = stage(&model, agent(&["echo"])).await;
    let mut body = hello();
    body["response_format"] = json!({"type": "json_object"});
    let function = json!({"name": "theirs", "parameters": {"type": "object", "properties": {}}});
    body["tools"] = json!([{"type": "function", "function": function}]);
    let answer = ask(&stage, body).await.json();
    let message = &answer["choices"][0]["message"];
    assert_eq!(message["content"], "Let me ask you.", "{answer}");
    assert_eq!(message["tool_calls"][0]["function"]["name"], "theirs");
}

#[tokio::test]
async fn a_turn_whose_calls_were_not_all_run_does_not_end_as_answered() {
    let many = "!echo {}\n".repeat(40);
    let model = Model::saying(move |asked| {
        let messages = asked["messages"].as_array().unwrap();
        if messages.iter().any(|it| it["role"] == "tool") {
            "enough".to_owned()
        } else {
            many.clone()
        }
    })
    .await;
    let stage = stage(&model, agent(&["echo", "wait"])).await;
    let answer = ask(&stage, hello()).await.json();
    assert_eq!(stage.calls(), 32);
    assert_eq!(answer["choices"][0]["message"]["content"], "enough");
    assert_eq!(answer["tollgate"]["ended"], "max_calls", "{answer}");
}

#[tokio::test]
async fn inline_results_are_apart_from_the_text_before_them() {
    let model = Model::calling(&["hm\n!echo {\"text\": \"one\"}\n!theirs {}"]).await;
    let mut sage = agent(&["echo"]);
    sage.persona.mixed_response = MixedResponse::Inline;
    let stage = stage(&model, sage).await;
    let mut body = hello();
    let function = json!({"name": "theirs", "parameters": {"type": "object", "properties": {}}});
    body["tools"] = json!([{"type": "function", "function": function}]);
    let answer = ask(&stage, body).await.json();
    assert_eq!(answer["choices"][0]["message"]["content"], "hm\n\n{\"echo\":\"one\"}");
}

const WINDOW_OF_PROVIDER: usize = 30_000;

/// Its provider counts for itself: the window in the config is much larger.
async fn narrow_provider(rounds: usize) -> Model {
    Model::saying(move |asked| {
        let messages = asked["messages"].as_array().unwrap();
        let results = messages.iter().filter(|it| it["role"] == "tool");
        if results.clone().map(|it| it["content"].to_string().len()).sum::<usize>()
            > WINDOW_OF_PROVIDER
        {
            return TOO_LONG.to_owned();
        }
        let round = results.count();
        if round < rounds {
            let text =
                format!(r#"{{"content":[{{"type":"text","text":"begin-{round} @FILL@"}}]}}"#);
            format!("!new_say {}", make_plan(&fill_queue(result(&text), "word ", 3_000)))
        } else {
            "that was all".to_owned()
        }
    })
    .await
}

/// The text, the reason to stop, and how the loop ended.
fn read_end(reply: &Reply, is_streamed: bool) -> (String, Value, Value) {
    if !is_streamed {
        let answer = reply.json();
        let choice = &answer["choices"][0];
        let text = choice["message"]["content"].as_str().unwrap_or_default().to_owned();
        return (text, choice["finish_reason"].clone(), answer["tollgate"]["ended"].clone());
    }
    assert!(reply.text.trim_end().ends_with("data: [DONE]"), "{}", reply.text);
    let events = reply.events();
    let choices = events.iter().map(|it| &it["choices"][0]);
    let text = choices.clone().filter_map(|it| it["delta"]["content"].as_str()).collect();
    let stop = choices.map(|it| &it["finish_reason"]).find(|it| it.is_string());
    let ended = events.iter().map(|it| &it["tollgate"]["ended"]).find(|it| it.is_string());
    (text, stop.cloned().unwrap_or_default(), ended.cloned().unwrap_or_default())
}

#[tokio::test]
async fn results_that_are_too_long_for_the_provider_are_shortened_and_it_is_asked_again() {
    for is_streamed in [false, true] {
        let model = narrow_provider(3).await;
        let hostile = saying_stage(&model, 128_000).await;
        let mut body = hello();
        body["stream"] = json!(is_streamed);
        let reply = ask(&hostile.stage, body).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        let (text, stop, ended) = read_end(&reply, is_streamed);
        let end = (text.as_str(), stop.as_str(), ended.as_str());
        assert_eq!(end, ("that was all", Some("stop"), Some("answered")), "{}", reply.text);
        let asked = model.requests.lock();
        let results = |at: usize| {
            let messages = asked[at]["messages"].as_array().unwrap().iter();
            let results = messages.filter(|it| it["role"] == "tool");
            results.map(|it| it["content"].to_string()).collect::<Vec<_>>()
        };
        // One whole result fits: each request with two is refused, and sent again with one.
        let counts: Vec<usize> = (0..asked.len()).map(|at| results(at).len()).collect();
        assert_eq!(counts, [0, 1, 2, 2, 3, 3], "no tool runs twice");
        let shorter = results(3);
        assert!(shorter[0].len() < 600 && shorter[0].contains("begin-0"), "{}", shorter[0]);
        assert!(shorter[0].contains("read the rest with handle"), "{}", shorter[0]);
        assert!(shorter[1].len() > 10_000, "the latest is whole");
    }
}

#[tokio::test]
async fn an_answer_that_there_is_no_room_for_ends_with_what_there_is() {
    for is_streamed in [false, true] {
        let model = Model::saying(|asked| {
            let messages = asked["messages"].as_array().unwrap();
            if messages.iter().any(|it| it["role"] == "tool") {
                TOO_LONG.to_owned()
            } else {
                "Let me see.\n!echo {\"text\": \"one\"}".to_owned()
            }
        })
        .await;
        let stage = stage(&model, agent(&["echo"])).await;
        let mut body = hello();
        body["stream"] = json!(is_streamed);
        let reply = ask(&stage, body).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        let (text, stop, ended) = read_end(&reply, is_streamed);
        assert!(text.starts_with("Let me see."), "{text}");
        assert!(text.contains("leave the model no room for an answer"), "{text}");
        assert_eq!((stop, ended), (json!("length"), json!("context_window")), "{}", reply.text);
        assert_eq!(stage.calls(), 1, "nothing runs twice");
        if !is_streamed {
            let history = reply.json()["tollgate"]["history"].clone();
            assert_eq!(roles(&history), ["assistant", "tool", "assistant"]);
        }
    }
}
