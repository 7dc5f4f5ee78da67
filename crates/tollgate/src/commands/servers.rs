//! `tollgate servers`: how the MCP servers behind the gateway are.

use serde_json::Value;
use tollgate_core::id::ServerId;

use super::tools::items;
use crate::cli::LookAt;
use crate::config::Config;
use crate::failure::Failure;
use crate::gateway::Gateway;
use crate::output::{Form, Output, Table, clean};

mod added;
pub(super) mod change;
mod login;
mod search;
mod tried;
mod wizard;

pub(super) use added::Expected;

pub(super) async fn run(servers: &LookAt, config: &Config, output: Output) -> Result<(), Failure> {
    match servers {
        LookAt::List => list(config, output).await,
        LookAt::Test { name } => test(name, config, output).await,
        LookAt::Restart { name } => restart(name, config, output).await,
        LookAt::Logs { name } => logs(name, config, output).await,
        LookAt::Search { words, cursor } => {
            search::run(words, cursor.as_deref(), config, output).await
        }
        LookAt::Login { name } => login::run(name, config, output).await,
    }
}

/// Only one that runs has something to restart.
async fn restart(name: &str, config: &Config, output: Output) -> Result<(), Failure> {
    let answer = running(config).await?.restart(name).await?;
    match (output.form, &answer["restarted"]) {
        (Form::Json, _) => output.json(&answer),
        (Form::Text, Value::Bool(false)) => {
            let why = format!("`{name}` is disabled; `tollgate servers enable {name}`");
            return Err(Failure::failed(why));
        }
        (Form::Text, _) => output.line(&format!("`{name}` was ended and starts again")),
    }
    Ok(())
}

async fn logs(name: &str, config: &Config, output: Output) -> Result<(), Failure> {
    let answer = running(config).await?.logs(name).await?;
    match output.form {
        Form::Json => output.json(&answer),
        Form::Text => {
            let lines = items(&answer, "lines").iter().filter_map(Value::as_str);
            lines.for_each(|line| output.line(&clean(line)));
        }
    }
    Ok(())
}

async fn running(config: &Config) -> Result<Gateway, Failure> {
    let none = || Failure::failed(format!("no gateway runs on {}", config.listen));
    Gateway::running(config).await.ok_or_else(none)
}

async fn list(config: &Config, output: Output) -> Result<(), Failure> {
    let gateway = Gateway::open(config).await?;
    let answer = gateway.status().await;
    gateway.close().await;
    let answer = answer?;
    match output.form {
        Form::Json => output.json(&answer),
        Form::Text => output.table(&table(items(&answer, "servers"))),
    }
    Ok(())
}

fn table(servers: &[Value]) -> Table {
    let mut table = Table::new(&[
        "SERVER",
        "STATE",
        "TRANSPORT",
        "PROTOCOL",
        "TOOLS",
        "RESTARTS",
        "SINCE",
        "WHY",
    ]);
    for server in servers {
        let text = |key: &str| match &server[key] {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => "–".to_owned(),
        };
        let why = ["reason", "last_error"]
            .into_iter()
            .filter_map(|key| server[key].as_str())
            .find(|why| !why.is_empty());
        table.row(vec![
            text("id"),
            text("state"),
            text("transport"),
            text("protocol"),
            text("tools"),
            text("restarts"),
            text("since"),
            why.unwrap_or_default().to_owned(),
        ]);
    }
    table
}

async fn test(name: &str, config: &Config, output: Output) -> Result<(), Failure> {
    let id = ServerId::parse(name).map_err(|error| Failure::Usage(error.to_string()))?;
    let gateway = Gateway::open(config).await?;
    let answer = gateway.test(id.as_str()).await;
    gateway.close().await;
    let answer = answer?;
    match output.form {
        Form::Json => output.json(&answer),
        Form::Text => print(&answer, output),
    }
    if answer["ok"] == false { Err(Failure::Said) } else { Ok(()) }
}

fn print(answer: &Value, output: Output) {
    let Some(fields) = answer.as_object() else { return output.json(answer) };
    for (name, value) in fields {
        let value = match value {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            Value::Array(items) => format!("{}", items.len()),
            Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
        };
        output.line(&clean(&format!("{name:<14} {value}")));
    }
}
