//! `tollgate call NAME k=v…`: one call, through the same door as every other.

use serde_json::Value;
use tollgate_core::shaping::DONE;

use super::tools::{items, wanted};
use crate::arguments;
use crate::cli::Call;
use crate::config::Config;
use crate::failure::Failure;
use crate::gateway::Gateway;
use crate::output::{Form, Output, clean};

pub(super) async fn run(call: &Call, config: &Config, output: Output) -> Result<(), Failure> {
    let gateway = Gateway::open(config).await?;
    let outcome = ask(call, &gateway).await;
    gateway.close().await;
    let outcome = outcome?;
    match output.form {
        Form::Json => output.json(&outcome),
        Form::Text => print(&outcome, output),
    }
    if outcome["status"] == "ok" { Ok(()) } else { Err(Failure::Said) }
}

async fn ask(call: &Call, gateway: &Gateway) -> Result<Value, Failure> {
    let view = wanted(&call.view);
    let listed = gateway.tools(view).await?;
    let tool = items(&listed, "tools").iter().find(|tool| tool["name"] == call.name.as_str());
    let schema = tool.map_or(Value::Null, |tool| tool["input_schema"].clone());
    let arguments = arguments::parse(&call.arguments, &schema)?;
    gateway.execute(&call.name, Value::Object(arguments), view).await
}

/// The sentence for people; how it went beside it.
fn print(outcome: &Value, output: Output) {
    let status = outcome["status"].as_str().unwrap_or("?");
    let message = clean(outcome["message"].as_str().unwrap_or_default());
    if status == "ok" && message == DONE && !outcome["data"].is_null() {
        // It has no sentence for itself: the data is the answer.
        output.json(&outcome["data"]);
    } else if status == "ok" {
        output.line(&message);
    } else {
        output.note(&format!("{status}: {message}"));
    }
    let hint = outcome["retry_hint"].as_str();
    if let Some(hint) = hint {
        output.note(&clean(hint));
    }
    if let Some(took) = outcome["duration_ms"].as_f64() {
        let cached = if outcome["cached"] == true { ", from the cache" } else { "" };
        output.note(&format!("{status} in {took} ms{cached}"));
    }
}
