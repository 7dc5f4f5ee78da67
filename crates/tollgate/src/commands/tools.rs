//! `tollgate tools`: the view of an agent, the latency of its tools, and catalogue problems.

use serde_json::Value;
use tollgate_config::Config;

use crate::cli;
use crate::command_error::CommandError;
use crate::gateway::{Gateway, ToolViewQuery};
use crate::output::{Output, OutputFormat, TextTable, clean, pluralize, span};

mod explain;
mod leaderboard;
mod review;

pub(super) async fn run(
    tools: &cli::ToolsArgs,
    config: &Config,
    output: Output,
) -> Result<(), CommandError> {
    if let Some(trust) = &tools.trust {
        return review::run(trust, config, output).await;
    }
    let gateway = Gateway::open(config).await?;
    let view = view_query(&tools.view);
    if tools.explain {
        let explained = gateway.explain_tools(view).await;
        gateway.close().await;
        explain::print(&explained?, output);
        return Ok(());
    }
    let listed = gateway.tools(view).await;
    let board = if tools.leaderboard { Some(gateway.leaderboard(view).await) } else { None };
    gateway.close().await;
    let listed = listed?;
    let board = board.transpose()?;
    match (output.form, board) {
        (OutputFormat::Json, None) => output.json(&listed),
        (OutputFormat::Json, Some(board)) => output.json(&board),
        (OutputFormat::Text, Some(board)) => leaderboard::print(&board, &listed, output),
        (OutputFormat::Text, None) => {
            let table = if tools.long { description_table } else { measurement_table };
            output.table(&table(items(&listed, "tools")));
            notes(&listed, output);
        }
    }
    Ok(())
}

/// Query parameters of the request.
pub(super) fn view_query(view: &cli::ViewArgs) -> ToolViewQuery<'_> {
    let filters = view.filters.flags();
    ToolViewQuery { agent: view.agent.as_deref(), tier: view.tier.as_deref(), filters }
}

pub(super) fn items<'a>(answer: &'a Value, key: &str) -> &'a [Value] {
    answer[key].as_array().map_or(&[], Vec::as_slice)
}

fn measurement_table(tools: &[Value]) -> TextTable {
    let head = ["TOOL", "SERVER", "TIER", "P50", "P95", "P99", "CALLS", "HEALTH", "BADGE", "WHY"];
    let mut table = TextTable::new(&head);
    for tool in tools {
        let mut row = name_cells(tool);
        row.extend(["p50_ms", "p95_ms", "p99_ms"].map(|key| time(&tool["measured"][key])));
        row.push(tool["measured"]["calls"].as_u64().unwrap_or(0).to_string());
        row.extend([text(tool, "health"), text(tool, "badge"), why(tool)]);
        table.row(row);
    }
    table
}

fn description_table(tools: &[Value]) -> TextTable {
    let mut table = TextTable::new(&["TOOL", "SERVER", "TIER", "AT MOST", "EFFECT", "DESCRIPTION"]);
    for tool in tools {
        let mut row = name_cells(tool);
        let description = tool["description"].as_str().unwrap_or_default().to_owned();
        row.extend([time(&tool["max_duration_ms"]), text(tool, "effect"), description]);
        table.row(row);
    }
    table
}

fn name_cells(tool: &Value) -> Vec<String> {
    vec![text(tool, "name"), text(tool, "server"), text(tool, "tier")]
}

/// The reason for its tier.
fn why(tool: &Value) -> String {
    let reason = tool["reason"].as_str().unwrap_or_default();
    if tool["bimodal"] == true { format!("bimodal; {reason}") } else { reason.to_owned() }
}

pub(super) fn text(tool: &Value, key: &str) -> String {
    tool[key].as_str().unwrap_or("–").to_owned()
}

pub(super) fn time(milliseconds: &Value) -> String {
    milliseconds.as_f64().map_or_else(|| "–".to_owned(), span)
}

fn notes(answer: &Value, output: Output) {
    let count = pluralize(items(answer, "tools").len(), "tool");
    output.note(&clean(&format!("{count} {}", seen_by(answer))));
    for problem in items(answer, "problems") {
        output.note(&clean(&describe_problem(problem)));
    }
}

/// The agent of the view, and its tier.
pub(super) fn seen_by(answer: &Value) -> String {
    let agent = answer["agent"].as_str().unwrap_or("?");
    match answer["tier"].as_str() {
        Some(tier) => format!("for `{agent}` at `{tier}`"),
        None => format!("for `{agent}` without a budget"),
    }
}

/// For a tool that is still listed, a problem is only a note.
fn describe_problem(problem: &Value) -> String {
    let text = |key: &str| problem[key].as_str().unwrap_or("?");
    let name = format!("{}/{}", text("server"), text("tool"));
    let why = text("problem");
    let (kind, link) =
        if problem["left_out"] == true { ("left out", " is left out: ") } else { ("note", ": ") };
    // The text usually begins with the tool's name. Do not repeat it.
    match why.strip_prefix(&format!("`{name}`{link}")) {
        Some(why) => format!("{kind}: {name}: {why}"),
        None => format!("{kind}: {why}"),
    }
}
