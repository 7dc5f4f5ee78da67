//! `tollgate tier "…"`: which latency budget an utterance gets, and what can be called in it.

use serde_json::{Map, Value, json};

use super::tools::items;
use crate::cli::Said;
use crate::config::Config;
use crate::failure::Failure;
use crate::gateway::Gateway;
use crate::output::{Form, Output, clean};

pub(super) async fn run(said: &Said, config: &Config, output: Output) -> Result<(), Failure> {
    let gateway = Gateway::open(config).await?;
    let answer = gateway.tier(&body(said)).await;
    gateway.close().await;
    let answer = answer?;
    match output.form {
        Form::Json => output.json(&answer),
        Form::Text => print(&answer, output),
    }
    Ok(())
}

/// Only what was typed.
fn body(said: &Said) -> Value {
    let mut body = Map::from_iter([("text".to_owned(), json!(said.utterance))]);
    let typed = [
        ("agent", said.agent.as_ref().map(|it| json!(it))),
        ("conversation", said.conversation.as_ref().map(|it| json!(it))),
        ("queue_depth", said.queue_depth.map(|it| json!(it))),
        ("override", said.forced.as_ref().map(|it| json!(it))),
        ("partial", said.partial.then_some(Value::Bool(true))),
    ];
    body.extend(typed.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    Value::Object(body)
}

fn print(answer: &Value, output: Output) {
    let text = |key: &str| answer[key].as_str().unwrap_or("?");
    output.line(&clean(&format!("{}: {}", text("tier"), text("reason"))));
    let tools: Vec<&str> = items(answer, "tools").iter().filter_map(Value::as_str).collect();
    match tools.as_slice() {
        [] => output.note("no tool fits into it"),
        tools => output.line(&clean(&tools.join(" "))),
    }
}
