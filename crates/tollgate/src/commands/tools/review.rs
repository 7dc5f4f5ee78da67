//! `tollgate tools review|diff|accept|reject`: decisions on tools in quarantine. Texts of servers
//! are shown with hidden characters escaped.

use serde_json::Value;
use tollgate_config::Config;
use tollgate_core::tool::hidden_text::visible;

use super::items;
use crate::cli::TrustCommand;
use crate::command_error::CommandError;
use crate::gateway::{Gateway, ToolReviewDecision};
use crate::output::{Output, OutputFormat, TextTable, pluralize};

/// Digits of a hash that are shown.
const SHORT: usize = 12;

pub(super) async fn run(
    trust: &TrustCommand,
    config: &Config,
    output: Output,
) -> Result<(), CommandError> {
    let gateway = Gateway::open(config).await?;
    let done = match trust {
        TrustCommand::Review { server } => list_waiting(&gateway, server.as_deref(), output).await,
        TrustCommand::Diff { name } => diff(&gateway, name, output).await,
        TrustCommand::Accept { names, all, server, hash } => {
            let selection =
                TrustSelection { names, server: server.as_deref(), hash: hash.as_deref() };
            let chosen = if *all {
                selection.find_waiting(&gateway).await
            } else {
                selection.find_named(&gateway).await
            };
            judge(&gateway, chosen, ToolReviewDecision::Accept, output).await
        }
        TrustCommand::Reject { names, hash } => {
            let selection = TrustSelection { names, server: None, hash: hash.as_deref() };
            judge(
                &gateway,
                selection.find_named(&gateway).await,
                ToolReviewDecision::Reject,
                output,
            )
            .await
        }
    };
    gateway.close().await;
    done
}

/// The tools of a decision.
struct TrustSelection<'a> {
    names: &'a [String],
    server: Option<&'a str>,
    /// Required hash of the definition, or a prefix of it.
    hash: Option<&'a str>,
}

impl TrustSelection<'_> {
    async fn find_named(&self, gateway: &Gateway) -> Result<Vec<Value>, CommandError> {
        let listed = gateway.known_tools().await?;
        let found = self.names.iter().map(|name| find(&listed, name).cloned());
        let found = found.collect::<Result<Vec<Value>, CommandError>>()?;
        for tool in &found {
            let now = text(tool, "hash");
            let requested = self.hash.unwrap_or_default();
            if !now.starts_with(&requested.to_ascii_lowercase()) {
                let name = tool_name(tool);
                return Err(CommandError::new(format!(
                    "`{name}` now has another definition: {now}; see `tollgate tools diff {name}`"
                )));
            }
        }
        Ok(found)
    }

    async fn find_waiting(&self, gateway: &Gateway) -> Result<Vec<Value>, CommandError> {
        let listed = gateway.known_tools().await?;
        let waits = |tool: &&Value| {
            tool["verdict"] == "withheld" && tool["reason"] != "rejected" && self.is_of(tool)
        };
        Ok(items(&listed, "tools").iter().filter(waits).cloned().collect())
    }

    fn is_of(&self, tool: &Value) -> bool {
        self.server.is_none_or(|server| tool["server"] == server)
    }
}

async fn list_waiting(
    gateway: &Gateway,
    server: Option<&str>,
    output: Output,
) -> Result<(), CommandError> {
    let listed = gateway.known_tools().await?;
    let is_doubted = |tool: &&Value| {
        tool["verdict"] != "served"
            && tool["verdict"] != "away"
            && server.is_none_or(|server| tool["server"] == server)
    };
    let doubted: Vec<&Value> = items(&listed, "tools").iter().filter(is_doubted).collect();
    if output.form == OutputFormat::Json {
        output.json(&serde_json::json!({ "tools": doubted }));
        return Ok(());
    }
    let mut table = TextTable::new(&["TOOL", "SERVER", "STATE", "DEFINITION", "WHY"]);
    for tool in &doubted {
        let mut row = vec![text(tool, "name"), text(tool, "server"), text(tool, "verdict")];
        row.extend([short(tool), text(tool, "why")]);
        table.row(row);
    }
    if !doubted.is_empty() {
        output.table(&table);
    }
    let withheld = doubted.iter().filter(|tool| tool["verdict"] == "withheld").count();
    let rest = doubted.len() - withheld;
    output.note(&format!("{} withheld, {rest} served with a warning", pluralize(withheld, "tool")));
    if withheld > 0 {
        output.note("review: tollgate tools diff NAME; decide: tollgate tools accept|reject NAME");
    }
    Ok(())
}

async fn diff(gateway: &Gateway, name: &str, output: Output) -> Result<(), CommandError> {
    let listed = gateway.known_tools().await?;
    let tool = find(&listed, name)?;
    let server = raw(tool, "server");
    let own = raw(tool, "tool");
    let examined = gateway.examined_tool(server, own).await?;
    if output.form == OutputFormat::Json {
        output.json(&examined);
        return Ok(());
    }
    let why = examined["why"].as_str().map(|why| format!(": {}", visible(why)));
    let why = why.unwrap_or_default();
    output.line(&format!("{} is {}{why}", tool_name(&examined), text(&examined, "verdict")));
    output.line(&format!("offered {}", text(&examined, "hash")));
    for finding in items(&examined, "findings") {
        output.line(&format!("found: {}", text(finding, "text")));
    }
    match examined["changes"].as_array() {
        None => {
            output.line("no definition is trusted yet; the server offers:");
            output.line(&render_definition(&examined["offered"]));
        }
        Some(changes) if changes.is_empty() => output.line("unchanged since it was trusted"),
        Some(changes) => changes.iter().for_each(|change| {
            output.line(&text(change, "at"));
            for (mark, key) in [('-', "before"), ('+', "after")] {
                if let Some(message) = change[key].as_str() {
                    output.line(&format!("  {mark} {}", visible(message)));
                }
            }
        }),
    }
    Ok(())
}

async fn judge(
    gateway: &Gateway,
    chosen: Result<Vec<Value>, CommandError>,
    judgement: ToolReviewDecision,
    output: Output,
) -> Result<(), CommandError> {
    let mut judged = Vec::new();
    for tool in chosen? {
        let server = raw(&tool, "server");
        let hash = raw(&tool, "hash");
        let now = gateway.judge(server, raw(&tool, "tool"), hash, judgement).await?;
        if output.form == OutputFormat::Text {
            let verdict = text(&now, "verdict");
            output.line(&format!("{} {}: {verdict} now", judgement.past_tense(), tool_name(&now)));
        }
        judged.push(now);
    }
    match output.form {
        OutputFormat::Json => output.json(&serde_json::json!({ "tools": judged })),
        OutputFormat::Text if judged.is_empty() => output.note("nothing waits"),
        OutputFormat::Text => {}
    }
    Ok(())
}

/// By its exposed name, or as `SERVER/TOOL`.
fn find<'a>(listed: &'a Value, name: &str) -> Result<&'a Value, CommandError> {
    let is_it = |tool: &&Value| {
        tool["name"] == name
            || name
                .split_once('/')
                .is_some_and(|(server, own)| tool["server"] == server && tool["tool"] == own)
    };
    items(listed, "tools").iter().find(is_it).ok_or_else(|| {
        let name = visible(name);
        CommandError::new(format!(
            "no server lists a tool `{name}` now; see `tollgate tools review`"
        ))
    })
}

fn tool_name(tool: &Value) -> String {
    text(tool, "name")
}

/// Unmodified, to be sent back.
fn raw<'a>(tool: &'a Value, key: &str) -> &'a str {
    tool[key].as_str().unwrap_or_default()
}

/// Escaped for display.
fn text(tool: &Value, key: &str) -> String {
    tool[key].as_str().map_or_else(|| "–".to_owned(), visible)
}

fn short(tool: &Value) -> String {
    raw(tool, "hash").chars().take(SHORT).collect()
}

/// A definition on several lines, with strings that are safe to print.
fn render_definition(definition: &Value) -> String {
    let lines = format!("{definition:#}");
    lines.lines().map(visible).collect::<Vec<_>>().join("\n")
}
