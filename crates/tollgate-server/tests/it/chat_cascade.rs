//! Sentence cascade: the opener and the strong model form one answer.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::agent::{Agent, Engine};
use tollgate_core::id::AgentId;
use tollgate_engine::clock::{Clock as _, SystemClock};

use crate::chat::{agent, stage};
use crate::model::Model;
use crate::stage::{Setup, Stage};

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
    stream_on(&stage, model).await
}

async fn stream_on(stage: &Stage, model: &Model) -> Streamed {
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
    let model = model("Good question! And", &["~2400\nIt was one."]).await;
    let stage = stage(&model, cascading()).await;
    // It is known to take long: it waits long enough for the opener on a busy machine, too.
    stream_on(&stage, &model).await;
    model.requests.lock().clear();
    let heard = stream_on(&stage, &model).await;
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

#[tokio::test]
async fn an_answer_that_begins_with_the_opener_has_the_time_of_its_creation() {
    let text = json!([{"role": "user", "content": "what did one say?"}]);
    let parts = json!([{"role": "user", "parts": [{"text": "what did one say?"}]}]);
    let fronts = [
        ("/v1/chat/completions", json!({"model": "sage", "messages": text}), "created"),
        ("/v1/responses", json!({"model": "sage", "input": "what?"}), "created_at"),
        ("/v1/messages", json!({"model": "sage", "max_tokens": 99, "messages": text}), ""),
        ("/v1beta/models/sage:streamGenerateContent?alt=sse", json!({"contents": parts}), ""),
    ];
    for (path, mut body, field) in fronts {
        if path.starts_with("/v1/") {
            body["stream"] = json!(true);
        }
        let model = model("Good question! And", &["~500\nIt was one."]).await;
        let stage = stage(&model, cascading()).await;
        let reply = stage.post(body.to_string()).path(path).send().await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text);
        assert!(reply.text.contains("Good"), "the opener is heard: {}", reply.text);
        let created: Vec<Value> = reply.events().iter().flat_map(|it| times(it, field)).collect();
        assert_eq!(created.is_empty(), field.is_empty(), "{path}: {}", reply.text);
        // The fake's own time.
        assert!(created.iter().all(|it| *it == 7), "{path}: {created:?}");
    }
}

/// The field of an event, or of the response in it.
fn times(event: &Value, field: &str) -> Vec<Value> {
    let places = [event, &event["response"]].into_iter();
    places.filter_map(|place| place.get(field)).cloned().collect()
}

/// How long a streamed answer took to its first words, and to its end.
async fn time(stage: &Stage, model: &str) -> (Duration, Duration) {
    let body = json!({"model": model, "stream": true,
                      "messages": [{"role": "user", "content": "what did one say?"}]});
    let began = SystemClock.now();
    let mut stream = stage.post(body.to_string()).path("/v1/chat/completions").stream().await;
    let mut first = None;
    while let Some(chunk) = stream.next_chunk().await {
        let words = chunk["choices"][0]["delta"]["content"].as_str();
        if words.is_some_and(|words| !words.is_empty()) {
            first.get_or_insert_with(|| SystemClock.now() - began);
        }
    }
    (first.expect("it says something"), SystemClock.now() - began)
}

/// The benchmark demands the figures themselves (C1). A busy machine may be late sometimes, but not
/// each time.
#[tokio::test]
async fn a_cascade_begins_with_its_opener_and_ends_hardly_later_than_the_strong_model() {
    let model = model("~100\nGood question! And", &["~2000\nIt was one."]).await;
    let alone = Agent { id: AgentId::parse("alone").unwrap(), ..agent(&["echo", "wait"]) };
    let models = model.settings();
    let agents = vec![cascading(), alone];
    let stage = Stage::with(Setup { models, agents, ..Setup::default() }).await;
    let mut tried = Vec::new();
    while tried.len() < 6 {
        let (_, alone) = time(&stage, "alone").await;
        let (opener, _) = time(&stage, "fast").await;
        let (first, whole) = time(&stage, "sage").await;
        if first <= opener + alone / 4 && whole <= alone.mul_f64(1.25) {
            return;
        }
        tried.push([alone, whole, opener, first]);
    }
    panic!("alone, cascade, opener, first words: {tried:?}");
}
