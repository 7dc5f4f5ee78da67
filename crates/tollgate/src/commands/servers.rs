//! `tollgate servers`: status of the MCP servers behind the gateway.

use serde_json::Value;
use tollgate_core::id::ServerId;

use super::tools::items;
use crate::cli::InspectServersCommand;
use crate::command_error::CommandError;
use crate::gateway::Gateway;
use crate::output::{Output, OutputFormat, TextTable, clean};

mod add;
pub(super) mod change;
mod login;
mod requested_change;
mod search;
mod trial_run;
mod wizard;

pub(super) use add::ExpectedEnvironment;
use tollgate_config::Config;

pub(super) async fn run(
    servers: &InspectServersCommand,
    config: &Config,
    output: Output,
) -> Result<(), CommandError> {
    match servers {
        InspectServersCommand::List => list(config, output).await,
        InspectServersCommand::Test { name } => test(name, config, output).await,
        InspectServersCommand::Restart { name } => restart(name, config, output).await,
        InspectServersCommand::Logs { name } => logs(name, config, output).await,
        InspectServersCommand::Search { words, cursor } => {
            search::run(words, cursor.as_deref(), config, output).await
        }
        InspectServersCommand::Login { name } => login::run(name, config, output).await,
    }
}

/// Only a running gateway has servers to restart.
async fn restart(name: &str, config: &Config, output: Output) -> Result<(), CommandError> {
    let answer = running(config).await?.restart(name).await?;
    match (output.form, &answer["restarted"]) {
        (OutputFormat::Json, _) => output.json(&answer),
        (OutputFormat::Text, Value::Bool(false)) => {
            let why =
                format!("`{name}` is disabled; enable it with `tollgate servers enable {name}`");
            return Err(CommandError::new(why));
        }
        (OutputFormat::Text, _) => output.line(&format!("`{name}` is restarting")),
    }
    Ok(())
}

async fn logs(name: &str, config: &Config, output: Output) -> Result<(), CommandError> {
    let answer = running(config).await?.logs(name).await?;
    match output.form {
        OutputFormat::Json => output.json(&answer),
        OutputFormat::Text => {
            let lines = items(&answer, "lines").iter().filter_map(Value::as_str);
            lines.for_each(|line| output.line(&clean(line)));
        }
    }
    Ok(())
}

async fn running(config: &Config) -> Result<Gateway, CommandError> {
    let none = || CommandError::new(format!("no gateway is running on {}", config.listen));
    Gateway::running(config).await.ok_or_else(none)
}

async fn list(config: &Config, output: Output) -> Result<(), CommandError> {
    let gateway = Gateway::open(config).await?;
    let answer = gateway.status().await;
    gateway.close().await;
    let answer = answer?;
    match output.form {
        OutputFormat::Json => output.json(&answer),
        OutputFormat::Text => output.table(&table(items(&answer, "servers"))),
    }
    Ok(())
}

fn table(servers: &[Value]) -> TextTable {
    let mut table = TextTable::new(&[
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

async fn test(name: &str, config: &Config, output: Output) -> Result<(), CommandError> {
    let id = ServerId::parse(name).map_err(|error| CommandError::Usage(error.to_string()))?;
    let gateway = Gateway::open(config).await?;
    let answer = gateway.test(id.as_str()).await;
    gateway.close().await;
    let answer = answer?;
    match output.form {
        OutputFormat::Json => output.json(&answer),
        OutputFormat::Text => print(&answer, output),
    }
    if answer["ok"] == false { Err(CommandError::AlreadyPrinted) } else { Ok(()) }
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
