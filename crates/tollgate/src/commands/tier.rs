//! `tollgate tier "…"`: the latency tier of an utterance, and the tools that fit.

use serde_json::{Map, Value, json};
use tollgate_config::Config;

use super::tools::items;
use crate::cli::TierArgs;
use crate::command_error::CommandError;
use crate::gateway::Gateway;
use crate::output::{Output, OutputFormat, clean};

pub(super) async fn run(
    args: &TierArgs,
    config: &Config,
    output: Output,
) -> Result<(), CommandError> {
    let gateway = Gateway::open(config).await?;
    let answer = gateway.tier(&body(args)).await;
    gateway.close().await;
    let answer = answer?;
    match output.form {
        OutputFormat::Json => output.json(&answer),
        OutputFormat::Text => print(&answer, output),
    }
    Ok(())
}

/// Only the given options.
fn body(args: &TierArgs) -> Value {
    let mut body = Map::from_iter([("text".to_owned(), json!(args.utterance))]);
    let typed = [
        ("agent", args.agent.as_ref().map(|it| json!(it))),
        ("conversation", args.conversation.as_ref().map(|it| json!(it))),
        ("queue_depth", args.queue_depth.map(|it| json!(it))),
        ("override", args.forced.as_ref().map(|it| json!(it))),
        ("partial", args.partial.then_some(Value::Bool(true))),
    ];
    body.extend(typed.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    Value::Object(body)
}

fn print(answer: &Value, output: Output) {
    let text = |key: &str| answer[key].as_str().unwrap_or("?");
    output.line(&clean(&format!("{}: {}", text("tier"), text("reason"))));
    let tools: Vec<&str> = items(answer, "tools").iter().filter_map(Value::as_str).collect();
    match tools.as_slice() {
        [] => output.note("no tools in this tier"),
        tools => output.line(&clean(&tools.join(" "))),
    }
}
