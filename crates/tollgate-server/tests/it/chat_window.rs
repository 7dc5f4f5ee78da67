//! Context windows: pruned tools are reported, cannot be called, and can be found by search.

use serde_json::{Value, json};
use tollgate_core::agent::ToolSearch;

use crate::chat::{agent, ask, stage};
use crate::model::Model;
use crate::stage::{Setup, Stage};

fn saying(text: &str) -> Value {
    json!({"model": "sage", "messages": [{"role": "user", "content": text}]})
}

fn make_offer(asked: &Value) -> Vec<String> {
    let tools = asked["tools"].as_array().into_iter().flatten();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn s_29_a_tool_that_there_was_no_room_for_cannot_be_called() {
    let model = Model::calling(&["!wait {\"ms\": 0}"]).await;
    let mut sage = agent(&["echo", "wait"]);
    sage.persona.max_tools = 1;
    let stage = stage(&model, sage).await;
    let reply = ask(&stage, saying("please echo this")).await;
    assert_eq!(reply.header("x-tollgate-tools-visible").as_deref(), Some("1"));
    let pruned: usize = reply.header("x-tollgate-tools-pruned").unwrap().parse().unwrap();
    assert!(pruned > 2, "{pruned}");
    assert_eq!(
        make_offer(&model.requests.lock()[0]),
        ["echo"],
        "what has most to do with the turn"
    );
    assert_eq!(reply.json()["tollgate"]["calls"][0]["status"], "denied");
    assert_eq!(stage.calls(), 0);
}

#[tokio::test]
async fn a_model_can_search_for_tools_and_call_what_it_finds() {
    let model =
        Model::calling(&["!searchTools {\"query\": \"echo\"}", "!echo {\"text\": \"one\"}"]).await;
    let mut sage = agent(&["echo"]);
    sage.persona.tool_search = ToolSearch::Always;
    let stage = stage(&model, sage).await;
    let answer = ask(&stage, saying("hello")).await.json();
    assert_eq!(answer["choices"][0]["message"]["content"], "it said: \"one\"", "{answer}");
    let asked = model.requests.lock();
    assert_eq!(make_offer(&asked[0]), ["searchTools"]);
    assert_eq!(make_offer(&asked[1]), ["echo", "searchTools"]);
    assert_eq!(stage.calls(), 1);
}

#[tokio::test]
async fn what_fits_into_no_model_is_refused_with_the_numbers() {
    let model = Model::calling(&[]).await;
    let mut models = model.settings();
    (models.models[0].context_window, models.models[0].max_output) = (500, 100);
    (models.models[1].context_window, models.models[1].max_output) = (4_000, 100);
    let mut sage = agent(&["echo"]);
    sage.persona.models = vec!["m".to_owned(), "fast".to_owned()];
    let stage = Stage::with(Setup { models, agents: vec![sage], ..Setup::default() }).await;
    let reply = ask(&stage, saying(&"one word after another ".repeat(500))).await;
    assert_eq!(reply.header("x-tollgate-model").as_deref(), Some("fast"), "{}", reply.text);
    let reply = ask(&stage, saying(&"one word after another ".repeat(5_000))).await;
    assert_eq!(reply.status, 400);
    let error = reply.json()["error"].clone();
    assert_eq!(error["code"], "context_length_exceeded");
    let message = error["message"].as_str().unwrap();
    for part in
        ["the context window of `m` has 500", "the context window of `fast` has 4000", "too many"]
    {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(model.requests.lock().len(), 1);
}

#[tokio::test]
async fn the_means_of_code_mode_are_never_left_out() {
    let model = Model::calling(&[]).await;
    let mut sage = agent(&["echo", "wait"]);
    sage.persona.max_tools = 1;
    sage.persona.code_mode = true;
    let stage = stage(&model, sage).await;
    ask(&stage, saying("please echo this")).await;
    let means = ["executeToolCode", "getToolDocs", "listToolFiles", "readToolFile", "searchTools"];
    assert_eq!(make_offer(&model.requests.lock()[0]), means);
}
