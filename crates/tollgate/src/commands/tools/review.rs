//! `tollgate tools review|diff|accept|reject`: a person's word on tools that others wrote. What
//! servers wrote is shown with everything in it that hides written out.

use serde_json::Value;
use tollgate_core::tool::hidden::visible;

use super::items;
use crate::cli::Trust;
use crate::config::Config;
use crate::failure::Failure;
use crate::gateway::{Gateway, Judgement};
use crate::output::{Form, Output, Table, counted};

/// Digits of a hash that tell definitions apart for a reader.
const SHORT: usize = 12;

pub(super) async fn run(trust: &Trust, config: &Config, output: Output) -> Result<(), Failure> {
    let gateway = Gateway::open(config).await?;
    let done = match trust {
        Trust::Review { server } => waiting(&gateway, server.as_deref(), output).await,
        Trust::Diff { name } => diff(&gateway, name, output).await,
        Trust::Accept { names, all, server, hash } => {
            let wanted = Wanted { names, server: server.as_deref(), hash: hash.as_deref() };
            let chosen = match all {
                true => wanted.waiting(&gateway).await,
                false => wanted.named(&gateway).await,
            };
            judge(&gateway, chosen, Judgement::Accept, output).await
        }
        Trust::Reject { names, hash } => {
            let wanted = Wanted { names, server: None, hash: hash.as_deref() };
            judge(&gateway, wanted.named(&gateway).await, Judgement::Reject, output).await
        }
    };
    gateway.close().await;
    done
}

/// Whom a decision is about.
struct Wanted<'a> {
    names: &'a [String],
    server: Option<&'a str>,
    /// What its definition must be, or begin with.
    hash: Option<&'a str>,
}

impl Wanted<'_> {
    async fn named(&self, gateway: &Gateway) -> Result<Vec<Value>, Failure> {
        let listed = gateway.known_tools().await?;
        let found = self.names.iter().map(|name| find(&listed, name).cloned());
        let found = found.collect::<Result<Vec<Value>, Failure>>()?;
        for tool in &found {
            let (now, wanted) = (text(tool, "hash"), self.hash.unwrap_or_default());
            if !now.starts_with(&wanted.to_ascii_lowercase()) {
                let name = named(tool);
                return Err(Failure::failed(format!(
                    "`{name}` is offered with another definition now: {now}; look at \
                     `tollgate tools diff {name}`"
                )));
            }
        }
        Ok(found)
    }

    async fn waiting(&self, gateway: &Gateway) -> Result<Vec<Value>, Failure> {
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

async fn waiting(gateway: &Gateway, server: Option<&str>, output: Output) -> Result<(), Failure> {
    let listed = gateway.known_tools().await?;
    let is_doubted = |tool: &&Value| {
        tool["verdict"] != "served"
            && tool["verdict"] != "away"
            && server.is_none_or(|server| tool["server"] == server)
    };
    let doubted: Vec<&Value> = items(&listed, "tools").iter().filter(is_doubted).collect();
    if output.form == Form::Json {
        output.json(&serde_json::json!({ "tools": doubted }));
        return Ok(());
    }
    let mut table = Table::new(&["TOOL", "SERVER", "STATE", "DEFINITION", "WHY"]);
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
    output.note(&format!("{} withheld, {rest} served with a note", counted(withheld, "tool")));
    if withheld > 0 {
        output.note("look: tollgate tools diff NAME; then: tollgate tools accept|reject NAME");
    }
    Ok(())
}

async fn diff(gateway: &Gateway, name: &str, output: Output) -> Result<(), Failure> {
    let listed = gateway.known_tools().await?;
    let tool = find(&listed, name)?;
    let (server, own) = (raw(tool, "server"), raw(tool, "tool"));
    let examined = gateway.examined_tool(server, own).await?;
    if output.form == Form::Json {
        output.json(&examined);
        return Ok(());
    }
    let why = examined["why"].as_str().map(|why| format!(": {}", visible(why)));
    let why = why.unwrap_or_default();
    output.line(&format!("{} is {}{why}", named(&examined), text(&examined, "verdict")));
    output.line(&format!("offered {}", text(&examined, "hash")));
    for finding in items(&examined, "findings") {
        output.line(&format!("found: {}", text(finding, "text")));
    }
    match examined["changes"].as_array() {
        None => {
            output.line("nothing of it is trusted yet; this is what its server says:");
            output.line(&shown(&examined["offered"]));
        }
        Some(changes) if changes.is_empty() => output.line("it is what was trusted"),
        Some(changes) => changes.iter().for_each(|change| {
            output.line(&text(change, "at"));
            for (mark, key) in [('-', "before"), ('+', "after")] {
                if let Some(said) = change[key].as_str() {
                    output.line(&format!("  {mark} {}", visible(said)));
                }
            }
        }),
    }
    Ok(())
}

async fn judge(
    gateway: &Gateway,
    chosen: Result<Vec<Value>, Failure>,
    judgement: Judgement,
    output: Output,
) -> Result<(), Failure> {
    let mut judged = Vec::new();
    for tool in chosen? {
        let named = (raw(&tool, "server"), raw(&tool, "tool"));
        let now = gateway.judge(named, raw(&tool, "hash"), judgement).await?;
        if output.form == Form::Text {
            let verdict = text(&now, "verdict");
            output.line(&format!("{} {}: {verdict} now", judgement.done(), self::named(&now)));
        }
        judged.push(now);
    }
    match output.form {
        Form::Json => output.json(&serde_json::json!({ "tools": judged })),
        Form::Text if judged.is_empty() => output.note("nothing waits"),
        Form::Text => {}
    }
    Ok(())
}

/// By its exposed name, or as `SERVER/TOOL`.
fn find<'a>(listed: &'a Value, name: &str) -> Result<&'a Value, Failure> {
    let is_it = |tool: &&Value| {
        tool["name"] == name
            || name
                .split_once('/')
                .is_some_and(|(server, own)| tool["server"] == server && tool["tool"] == own)
    };
    items(listed, "tools").iter().find(is_it).ok_or_else(|| {
        let name = visible(name);
        Failure::failed(format!("no server lists a tool `{name}` now; see `tollgate tools review`"))
    })
}

fn named(tool: &Value) -> String {
    text(tool, "name")
}

/// As it came, to be sent back.
fn raw<'a>(tool: &'a Value, key: &str) -> &'a str {
    tool[key].as_str().unwrap_or_default()
}

/// To be looked at.
fn text(tool: &Value, key: &str) -> String {
    tool[key].as_str().map_or_else(|| "–".to_owned(), visible)
}

fn short(tool: &Value) -> String {
    raw(tool, "hash").chars().take(SHORT).collect()
}

/// A definition on several lines; its strings are safe to print.
fn shown(definition: &Value) -> String {
    let lines = format!("{definition:#}");
    lines.lines().map(visible).collect::<Vec<_>>().join("\n")
}
