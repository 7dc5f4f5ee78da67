//! The chat APIs: agents and models, calls that the loop runs or returns, headers and errors.

use serde_json::{Value, json};
use tollgate_core::agent::{Agent, MixedResponse, Persona};
use tollgate_core::glob::Glob;
use tollgate_core::id::AgentId;

use crate::client::Reply;
use crate::model::Model;
use crate::stage::{Setup, Stage};

pub(crate) fn agent(auto: &[&str]) -> Agent {
    Agent {
        id: AgentId::parse("sage").unwrap(),
        auto_execute: auto.iter().map(|pattern| Glob::new(*pattern)).collect(),
        persona: Persona {
            prompt: Some("You know {caller_name}.".to_owned()),
            models: vec!["m".to_owned()],
            ..Persona::default()
        },
        ..Agent::implicit()
    }
}

pub(crate) async fn stage(model: &Model, agent: Agent) -> Stage {
    let models = model.settings();
    Stage::with(Setup { models, agents: vec![agent], ..Setup::default() }).await
}

pub(crate) async fn ask(stage: &Stage, body: Value) -> Reply {
    stage.post(body.to_string()).path("/v1/chat/completions").send().await
}

fn hello() -> Value {
    json!({"model": "sage", "messages": [{"role": "user", "content": "hello"}]})
}

fn with_tool(name: &str) -> Value {
    let mut body = hello();
    let function = json!({"name": name, "parameters": {"type": "object", "properties": {}}});
    body["tools"] = json!([{"type": "function", "function": function}]);
    body
}

#[tokio::test]
async fn an_agent_runs_its_tools_and_answers() {
    let model = Model::calling(&["!echo {\"text\": \"one\"}\n!echo {\"text\": \"two\"}"]).await;
    let stage = stage(&model, agent(&["echo", "wait"])).await;
    let reply = ask(&stage, hello()).await;
    let answer = reply.json();
    let choice = &answer["choices"][0];
    assert_eq!(choice["finish_reason"], "stop", "{answer}");
    assert_eq!(choice["message"]["content"], "it said: \"two\"");
    assert_eq!(choice["message"].get("tool_calls"), None);
    assert_eq!(answer["usage"]["total_tokens"], 24, "both rounds");
    let told = &answer["tollgate"];
    assert_eq!((&told["ended"], &told["rounds"]), (&json!("answered"), &json!(2)));
    let ran: Vec<&str> =
        told["calls"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(ran, ["c0_0", "c0_1"]);
    assert_eq!(stage.calls(), 2);
    for (name, value) in
        [("x-tollgate-agent", "sage"), ("x-tollgate-model", "m"), ("x-tollgate-tools-pruned", "0")]
    {
        assert_eq!(reply.header(name).as_deref(), Some(value), "{name}");
    }
    for name in ["x-tollgate-tool-ms", "x-tollgate-overhead-us", "x-tollgate-call-id"] {
        assert!(reply.header(name).is_some(), "{name}");
    }
    let asked = model.requests.lock();
    assert_eq!(asked[0]["model"], "model-at-home");
    assert_eq!(asked[0]["messages"][0]["content"], "You know there.");
    let roles: Vec<&str> = asked[1]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool"]);
}

#[tokio::test]
async fn the_history_of_an_answer_can_be_sent_back() {
    let model = Model::calling(&["!echo {\"text\": \"one\"}"]).await;
    let stage = stage(&model, agent(&["echo", "wait"])).await;
    let answer = ask(&stage, hello()).await.json();
    let mut body = hello();
    let messages = body["messages"].as_array_mut().unwrap();
    messages.extend(answer["tollgate"]["history"].as_array().unwrap().iter().cloned());
    messages.push(json!({"role": "user", "content": "and now?"}));
    assert_eq!(ask(&stage, body).await.status, 200);
    let asked = model.requests.lock();
    let roles: Vec<&str> = asked[2]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant", "user"]);
}

#[tokio::test]
async fn a_clients_own_tool_goes_back_to_it_untouched() {
    let model = Model::calling(&["!theirs {\"a\":  1}"]).await;
    let stage = stage(&model, agent(&["echo", "wait"])).await;
    let answer = ask(&stage, with_tool("theirs")).await.json();
    let choice = &answer["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    let call = &choice["message"]["tool_calls"][0];
    assert_eq!((&call["id"], &call["function"]["name"]), (&json!("c0_0"), &json!("theirs")));
    assert_eq!(call["function"]["arguments"], "{\"a\":  1}");
    assert_eq!(answer["tollgate"]["ended"], "calls_pending");
    assert_eq!((stage.calls(), model.requests.lock().len()), (0, 1));
}

#[tokio::test]
async fn b_ch_04_a_client_tool_with_one_of_our_names_is_the_clients() {
    let model = Model::calling(&["!echo {}"]).await;
    let stage = stage(&model, agent(&["echo", "wait"])).await;
    let answer = ask(&stage, with_tool("echo")).await.json();
    assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "echo");
    assert_eq!(stage.calls(), 0);
    let offered = model.requests.lock()[0]["tools"].clone();
    let echoes = offered.as_array().unwrap().iter().filter(|it| it["function"]["name"] == "echo");
    assert_eq!(echoes.count(), 1);
}

#[tokio::test]
async fn a_mixed_answer_has_what_was_run_and_what_waits() {
    let model = Model::calling(&["!echo {\"text\": \"one\"}\n!theirs {}\n!wait {\"ms\": 0}"]).await;
    let stage = stage(&model, agent(&["echo"])).await;
    let answer = ask(&stage, with_tool("theirs")).await.json();
    let waiting: Vec<&Value> = answer["choices"][0]["message"]["tool_calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| &call["function"]["name"])
        .collect();
    assert_eq!(waiting, ["theirs", "wait"], "the client's, and one that is manual");
    assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls");
    let history = answer["tollgate"]["history"].as_array().unwrap();
    assert_eq!(history.len(), 2);
    assert_eq!(history[0]["tool_calls"].as_array().unwrap().len(), 3);
    let result = (&history[1]["tool_call_id"], &history[1]["content"]);
    assert_eq!(result, (&json!("c0_0"), &json!("one")));
    assert_eq!(stage.calls(), 1);
}

#[tokio::test]
async fn a_mixed_answer_can_have_the_results_in_its_text() {
    let model = Model::calling(&["!echo {\"text\": \"one\"}\n!theirs {}"]).await;
    let mut agent = agent(&["echo"]);
    agent.persona.mixed_response = MixedResponse::Inline;
    let stage = stage(&model, agent).await;
    let answer = ask(&stage, with_tool("theirs")).await.json();
    let choice = &answer["choices"][0];
    assert_eq!(choice["finish_reason"], "stop");
    assert_eq!(choice["message"]["content"], "{\"echo\":\"one\"}");
    assert_eq!(choice["message"]["tool_calls"][0]["function"]["name"], "theirs");
}

#[tokio::test]
async fn s_29_what_a_model_was_not_offered_reaches_nobody_and_is_told() {
    let model = Model::calling(&["!ECHO {}\n!exec {}"]).await;
    let stage = stage(&model, agent(&["echo", "wait"])).await;
    let answer = ask(&stage, hello()).await.json();
    assert_eq!(answer["tollgate"]["calls"][0]["status"], "denied");
    assert_eq!(stage.calls(), 0);
    let told = model.requests.lock()[1]["messages"].clone();
    let near = told[3]["content"].as_str().unwrap().to_owned();
    assert!(near.contains("ECHO") && near.contains("echo"), "{near}");
}

#[tokio::test]
async fn s_33_a_model_that_never_stops_is_stopped_at_exactly_its_limits() {
    let model = Model::saying(|asked| {
        if asked["tool_choice"] == "none" { "enough".to_owned() } else { "!echo {}".to_owned() }
    })
    .await;
    let mut sage = agent(&["echo", "wait"]);
    sage.persona.max_depth = 4;
    let stage = stage(&model, sage).await;
    let answer = ask(&stage, hello()).await.json();
    assert_eq!(answer["tollgate"]["ended"], "max_depth");
    assert_eq!(answer["choices"][0]["message"]["content"], "enough");
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    assert_eq!((stage.calls(), model.requests.lock().len()), (4, 6));
}

#[tokio::test]
async fn b_ch_08_of_five_hundred_calls_in_one_answer_few_are_run() {
    let many = "!echo {}\n".repeat(500);
    let model = Model::saying(move |asked| {
        if asked["tool_choice"] == "none" { "enough".to_owned() } else { many.clone() }
    })
    .await;
    let stage = stage(&model, agent(&["echo", "wait"])).await;
    let answer = ask(&stage, hello()).await.json();
    assert_eq!(answer["tollgate"]["ended"], "max_calls", "{answer}");
    assert_eq!(stage.calls(), 32);
    let told = model.requests.lock()[1].to_string();
    assert_eq!(told.matches("limit_reached").count(), 500 - 32, "each of the others is told why");
}

#[tokio::test]
async fn b_ch_06_arguments_that_cannot_be_read_are_the_models_to_mend() {
    for arguments in ["not json", "{\"text\": ", "[1]", "{\"a\": 1, \"a\": 2}"] {
        let said = format!("!echo {arguments}");
        let model = Model::saying(move |asked| match asked["messages"].as_array().unwrap().len() {
            2 => said.clone(),
            _ => "sorry".to_owned(),
        })
        .await;
        let stage = stage(&model, agent(&["echo", "wait"])).await;
        let answer = ask(&stage, hello()).await.json();
        assert_eq!(answer["tollgate"]["calls"][0]["status"], "invalid_arguments", "{arguments}");
        assert_eq!((stage.calls(), &answer["tollgate"]["ended"]), (0, &json!("answered")));
    }
}

#[tokio::test]
async fn b_ch_05_a_choice_of_a_tool_that_is_not_there_is_refused() {
    let model = Model::calling(&[]).await;
    let stage = stage(&model, agent(&["echo", "wait"])).await;
    let mut body = hello();
    body["tool_choice"] = json!({"type": "function", "function": {"name": "hidden"}});
    let reply = ask(&stage, body).await;
    assert_eq!((reply.status, &reply.json()["error"]["param"]), (400, &json!("tool_choice")));
    assert_eq!(model.requests.lock().len(), 0);
}

#[tokio::test]
async fn what_a_client_insists_on_is_done_once() {
    let model = Model::saying(|asked| match asked["tool_choice"].as_str() {
        Some("required") => "!echo {\"text\": \"x\"}".to_owned(),
        _ => "done".to_owned(),
    })
    .await;
    let stage = stage(&model, agent(&["echo", "wait"])).await;
    let mut body = hello();
    body["tool_choice"] = json!("required");
    let answer = ask(&stage, body).await.json();
    assert_eq!(answer["choices"][0]["message"]["content"], "done", "{answer}");
}
