//! Sentence cascade: a fast model opens, the strong one goes on, and the client hears one answer.

use serde_json::{Value, json};
use tollgate_core::agent::{Agent, Engine};

use crate::chat::{agent, stage};
use crate::model::Model;

fn cascading() -> Agent {
    let mut agent = agent(&["echo", "wait"]);
    agent.persona.engine = Engine::SentenceCascade { opener: "fast".to_owned() };
    agent
}

/// What the fast model says, and the strong one in each of its rounds.
async fn model(fast: &'static str, strong: &'static [&'static str]) -> Model {
    Model::saying(move |asked| {
        if asked["model"] == "fast-at-home" {
            return fast.to_owned();
        }
        let messages = asked["messages"].as_array().unwrap();
        let round = messages.iter().filter(|it| it["role"] == "tool").count();
        strong[round].to_owned()
    })
    .await
}

/// One streamed answer.
struct Streamed {
    text: String,
    /// Its words and the types of the gateway's notes, in the order in which they came.
    steps: Vec<String>,
    /// The report at the end.
    told: Value,
    /// Requests to the strong model.
    asked: Vec<Value>,
}

impl Streamed {
    fn is_told(&self, round: usize, opener: &str) -> bool {
        self.asked[round]["messages"].to_string().contains(&format!("<said>{opener}</said>"))
    }
}

async fn stream(model: &Model) -> Streamed {
    let stage = stage(model, cascading()).await;
    let body = json!({"model": "sage", "stream": true,
                      "messages": [{"role": "user", "content": "what did one say?"}]});
    let call = stage.post(body.to_string()).path("/v1/chat/completions");
    let reply = call.header("x-tollgate-events", "true").send().await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let chunks = reply.events();
    let choices = chunks.iter().map(|chunk| &chunk["choices"][0]);
    let ends: Vec<&str> = choices.clone().filter_map(|it| it["finish_reason"].as_str()).collect();
    assert_eq!(ends, ["stop"], "{}", reply.text);
    let text = choices.filter_map(|it| it["delta"]["content"].as_str()).collect();
    let steps = chunks.iter().filter_map(|chunk| {
        let words = chunk["choices"][0]["delta"]["content"].as_str();
        words.filter(|words| !words.is_empty()).or(chunk["type"].as_str())
    });
    let steps = steps.map(str::to_owned).collect();
    let told = chunks.iter().map(|chunk| &chunk["tollgate"]).find(|it| it["ended"].is_string());
    let asked = model.requests.lock().clone();
    let asked = asked.into_iter().filter(|asked| asked["model"] != "fast-at-home").collect();
    Streamed { text, steps, told: told.cloned().unwrap_or_default(), asked }
}

#[tokio::test]
async fn the_strong_model_is_asked_once_and_told_what_was_said() {
    let model = model("Good question! And", &["~200\nIt was one."]).await;
    let heard = stream(&model).await;
    assert_eq!((heard.text.as_str(), heard.asked.len()), ("Good question! It was one.", 1));
    assert!(heard.is_told(0, "Good question!"), "{:?}", heard.asked);
    assert!(heard.asked[0]["tools"].as_array().is_some_and(|tools| !tools.is_empty()));
}

#[tokio::test]
async fn the_strong_model_does_not_wait_for_a_slow_opener() {
    let model = model("~400\nGood question! And", &["~1000\nGood question! It was one."]).await;
    let heard = stream(&model).await;
    assert_eq!((heard.text.as_str(), heard.asked.len()), ("Good question! It was one.", 1));
    assert!(!heard.is_told(0, "Good question!"), "it was asked before the opener was known");
    let asked = heard.asked[0]["messages"].to_string();
    assert!(asked.contains("first sentence of your answer"), "it knows of an opener: {asked}");
}

#[tokio::test]
async fn the_opener_is_heard_while_the_tools_run_that_the_strong_model_asks_for_at_once() {
    let strong = &["!wait {\"ms\": 1000}", "It was one."];
    let model = model("~300\nLet me look that up. And then", strong).await;
    let heard = stream(&model).await;
    assert_eq!(heard.text, "Let me look that up. It was one.");
    assert_eq!(heard.asked.len(), 2);
    assert!(heard.is_told(1, "Let me look that up."), "{:?}", heard.asked[1]);
    let step = |of: &str| heard.steps.iter().position(|step| step == of);
    assert!(step("call") < step("Let ") && step("Let ") < step("result"), "{:?}", heard.steps);
    let history = &heard.told["history"];
    assert_eq!(history[0]["content"], "Let me look that up.", "{history}");
    assert_eq!(history[2]["content"], " It was one.", "{history}");
}

#[tokio::test]
async fn an_opener_that_comes_after_the_tools_is_still_heard_before_the_answer() {
    let strong = &["!echo {\"text\": \"one\"}", "~1000\nIt was one."];
    let model = model("~400\nLet me look that up. And then", strong).await;
    let heard = stream(&model).await;
    assert_eq!(heard.text, "Let me look that up. It was one.");
    let history = &heard.told["history"];
    let parts = history[2]["content"].as_array().unwrap();
    let text: String = parts.iter().map(|part| part["text"].as_str().unwrap()).collect();
    assert_eq!(text, "Let me look that up. It was one.", "{history}");
}

#[tokio::test]
async fn the_opener_is_heard_while_the_strong_model_uses_tools() {
    let strong = &["~200\n!echo {\"text\": \"one\"}", "Let me look that up. It was one."];
    let model = model("Let me look that up. And then", strong).await;
    let heard = stream(&model).await;
    assert_eq!(heard.text, "Let me look that up. It was one.");
    assert_eq!(heard.asked.len(), 2);
    assert_eq!(heard.asked[1]["messages"][2]["content"], "Let me look that up.");
}

#[tokio::test]
async fn the_opener_is_dropped_if_the_strong_model_is_faster() {
    let model = model("~1000\nLet me see.", &["It was one."]).await;
    let heard = stream(&model).await;
    assert_eq!((heard.text.as_str(), heard.asked.len()), ("It was one.", 1));
}

#[tokio::test]
async fn an_opener_that_fails_costs_nothing_but_itself() {
    let model = model("", &["~100\nIt was one."]).await;
    let heard = stream(&model).await;
    assert_eq!((heard.text.as_str(), heard.asked.len()), ("It was one.", 1));
    assert!(!heard.is_told(0, ""), "{:?}", heard.asked);
}

#[tokio::test]
async fn an_answer_in_json_has_no_opener() {
    let model = model("Good question!", &["~200\n{\"a\": 1}"]).await;
    let stage = stage(&model, cascading()).await;
    let body = json!({"model": "sage", "stream": true, "response_format": {"type": "json_object"},
                      "messages": [{"role": "user", "content": "what did one say? in JSON"}]});
    let reply = stage.post(body.to_string()).path("/v1/chat/completions").send().await;
    let chunks = reply.events();
    let text = chunks.iter().filter_map(|it| it["choices"][0]["delta"]["content"].as_str());
    assert_eq!(text.collect::<String>(), "{\"a\": 1}");
}
