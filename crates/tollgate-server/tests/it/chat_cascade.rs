//! Sentence cascade: a fast model opens, the strong one goes on, and the client hears one answer.

use serde_json::{Value, json};
use tollgate_core::agent::{Agent, Engine};

use crate::chat::{agent, stage};
use crate::model::Model;

fn cascading() -> Agent {
    let mut agent = agent(&["echo"]);
    agent.persona.engine = Engine::SentenceCascade { opener: "fast".to_owned() };
    agent
}

/// What the fast model says, and the strong one: first, and when it knows of the opener.
async fn model(fast: &'static str, strong: &'static str, informed: &'static str) -> Model {
    Model::saying(move |asked| {
        let messages = asked["messages"].as_array().unwrap();
        let knows = messages.iter().any(|it| it["content"].to_string().contains("<said>"));
        match asked["model"].as_str() {
            Some("fast-at-home") => fast.to_owned(),
            _ if knows => informed.to_owned(),
            _ => strong.to_owned(),
        }
    })
    .await
}

/// All that was said, and the requests to the strong model.
async fn texts_of(model: &Model) -> (String, Vec<Value>) {
    let stage = stage(model, cascading()).await;
    let body = json!({"model": "sage", "stream": true,
                      "messages": [{"role": "user", "content": "what did one say?"}]});
    let reply = stage.post(body.to_string()).path("/v1/chat/completions").send().await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let chunks = reply.events();
    let choices = chunks.iter().map(|chunk| &chunk["choices"][0]);
    let ends: Vec<&str> = choices.clone().filter_map(|it| it["finish_reason"].as_str()).collect();
    assert_eq!(ends, ["stop"], "{}", reply.text);
    let said = choices.filter_map(|it| it["delta"]["content"].as_str()).collect();
    let asked = model.requests.lock().clone();
    (said, asked.into_iter().filter(|asked| asked["model"] != "fast-at-home").collect())
}

#[tokio::test]
async fn the_opener_is_heard_while_the_strong_model_uses_tools() {
    let model = model(
        "Let me look that up. And then",
        "~200\n!echo {\"text\": \"one\"}",
        "Let me look that up. It was one.",
    )
    .await;
    let (said, asked) = texts_of(&model).await;
    assert_eq!(said, "Let me look that up. It was one.");
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[1]["messages"][2]["content"], "Let me look that up.");
    assert!(asked[0]["tools"].as_array().is_some_and(|tools| !tools.is_empty()));
}

#[tokio::test]
async fn the_opener_is_dropped_if_the_strong_model_is_faster() {
    let model = model("~500\nLet me see.", "It was one.", "unheard").await;
    let (said, asked) = texts_of(&model).await;
    assert_eq!((said.as_str(), asked.len()), ("It was one.", 1));
}

#[tokio::test]
async fn what_was_said_without_knowing_the_opener_is_asked_for_again() {
    let model = model("Good question!", "~200\nBad question.", "It was one.").await;
    let (said, asked) = texts_of(&model).await;
    assert_eq!((said.as_str(), asked.len()), ("Good question! It was one.", 2));
}

#[tokio::test]
async fn an_opener_that_fails_costs_nothing_but_itself() {
    let model = model("", "~100\nIt was one.", "unheard").await;
    let (said, asked) = texts_of(&model).await;
    assert_eq!((said.as_str(), asked.len()), ("It was one.", 1));
}
