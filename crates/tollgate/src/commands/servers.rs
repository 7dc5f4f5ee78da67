//! `tollgate servers`: how the MCP servers behind the gateway are.

use serde_json::Value;
use tollgate_core::id::ServerId;

use super::tools::items;
use crate::cli::Servers;
use crate::config::Config;
use crate::failure::Failure;
use crate::gateway::Gateway;
use crate::output::{Form, Output, Table, clean};

pub(super) async fn run(servers: &Servers, config: &Config, output: Output) -> Result<(), Failure> {
    match servers {
        Servers::List => list(config, output).await,
        Servers::Test { name } => test(name, config, output).await,
    }
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
