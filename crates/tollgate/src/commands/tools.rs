//! `tollgate tools`: what an agent sees, and what was left out.

use serde_json::Value;

use crate::cli;
use crate::config::Config;
use crate::failure::Failure;
use crate::gateway::{Gateway, View};
use crate::output::{Form, Output, Table, clean};

pub(super) async fn run(view: &cli::View, config: &Config, output: Output) -> Result<(), Failure> {
    let gateway = Gateway::open(config).await?;
    let answer = gateway.tools(wanted(view)).await;
    gateway.close().await;
    let answer = answer?;
    match output.form {
        Form::Json => output.json(&answer),
        Form::Text => print(&answer, output),
    }
    Ok(())
}

/// What the gateway is asked for.
pub(super) fn wanted(view: &cli::View) -> View<'_> {
    View { agent: view.agent.as_deref(), tier: view.tier.as_deref() }
}

fn print(answer: &Value, output: Output) {
    let tools = items(answer, "tools");
    output.table(&table(tools));
    let text = |key: &str| answer[key].as_str().unwrap_or("?");
    let count = tools.len();
    output.note(&clean(&format!("{count} tools for `{}` at `{}`", text("agent"), text("tier"))));
    for problem in items(answer, "problems") {
        let text = |key: &str| problem[key].as_str().unwrap_or("?");
        let (server, tool) = (text("server"), text("tool"));
        output.note(&clean(&format!("left out: {server}/{tool}: {}", text("problem"))));
    }
}

fn table(tools: &[Value]) -> Table {
    let mut table =
        Table::new(&["TOOL", "SERVER", "TIER", "USUALLY", "AT MOST", "EFFECT", "DESCRIPTION"]);
    for tool in tools {
        let text = |key: &str| tool[key].as_str().unwrap_or("–").to_owned();
        let time =
            |key: &str| tool[key].as_u64().map_or_else(|| "–".to_owned(), |ms| format!("{ms} ms"));
        table.row(vec![
            text("name"),
            text("server"),
            text("tier"),
            time("estimated_duration_ms"),
            time("max_duration_ms"),
            text("effect"),
            text("description"),
        ]);
    }
    table
}

pub(super) fn items<'a>(answer: &'a Value, key: &str) -> &'a [Value] {
    answer[key].as_array().map_or(&[], Vec::as_slice)
}
