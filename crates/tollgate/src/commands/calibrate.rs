//! `tollgate calibrate`: measures the tools that can be called without side effects, and reports
//! them, their tiers, and why the others were skipped.

use serde_json::{Map, Value, json};
use tollgate_config::Config;

use super::tools::{items, text, time};
use crate::cli::CalibrateArgs;
use crate::command_error::CommandError;
use crate::gateway::{Gateway, GatewayEvent, ToolViewQuery};
use crate::output::{Output, OutputFormat, TextTable, pluralize};

pub(super) async fn run(
    calibrate: &CalibrateArgs,
    config: &Config,
    output: Output,
) -> Result<(), CommandError> {
    let gateway = Gateway::open(config).await?;
    let measured = measure(calibrate, &gateway, output).await;
    gateway.close().await;
    let measured = measured?;
    if let (Some(name), []) = (&calibrate.only, measured.tools.as_slice()) {
        return Err(CommandError::new(format!("`{name}` has nothing to measure")));
    }
    match output.form {
        OutputFormat::Json => output.json(&measured.json()),
        OutputFormat::Text => measured.print(output),
    }
    match &calibrate.only {
        Some(_) if measured.probed_count() == 0 => Err(CommandError::AlreadyPrinted),
        Some(_) | None => Ok(()),
    }
}

async fn measure(
    calibrate: &CalibrateArgs,
    gateway: &Gateway,
    output: Output,
) -> Result<CalibrateReport, CommandError> {
    let what = scope(calibrate, gateway).await?;
    // The caller may have no agent to list tools for. Then there is nothing to compare with.
    let before = gateway.tools(ToolViewQuery::default()).await.unwrap_or_default();
    let mut measured = CalibrateReport { before, ..CalibrateReport::default() };
    let mut bar = output.bar();
    let done = gateway.calibrate(&what, |GatewayEvent { name, data: step }| {
        if name != "step" {
            return;
        }
        if let Some(bar) = &mut bar {
            let number = |key: &str| step[key].as_u64().unwrap_or(0);
            bar.show(number("done"), number("total"), step["tool"].as_str().unwrap_or_default());
        }
        measured.take(&step);
    });
    let after = done.await?;
    Ok(CalibrateReport { after, ..measured })
}

/// The name may be that of a server or a tool. Servers are checked first: a tool name contains its
/// server.
async fn scope(calibrate: &CalibrateArgs, gateway: &Gateway) -> Result<Value, CommandError> {
    let mut what = Map::new();
    if let Some(times) = calibrate.times {
        what.insert("times".to_owned(), json!(times));
    }
    if let Some(name) = &calibrate.only {
        let status = gateway.status().await?;
        let is_server = items(&status, "servers").iter().any(|it| it["id"] == name.as_str());
        let key = if is_server { "server" } else { "tool" };
        what.insert(key.to_owned(), json!(name));
    }
    Ok(Value::Object(what))
}

/// Results per tool, in the order in which they were first reported.
#[derive(Debug, Default)]
struct CalibrateReport {
    before: Value,
    after: Value,
    tools: Vec<CalibratedTool>,
}

#[derive(Debug)]
struct CalibratedTool {
    name: String,
    probes: u32,
    /// Outcome of the last step: `probed`, `skipped`, `new`.
    outcome: String,
    /// Why there were no probes, or no more of them.
    why: Option<String>,
}

impl CalibrateReport {
    fn take(&mut self, step: &Value) {
        let name = text(step, "tool");
        let outcome = text(step, "outcome");
        let known = self.tools.iter().position(|tool| tool.name == name);
        let index = known.unwrap_or_else(|| {
            self.tools.push(CalibratedTool { name, probes: 0, outcome: String::new(), why: None });
            self.tools.len() - 1
        });
        let tool = &mut self.tools[index];
        tool.probes += u32::from(outcome == "probed");
        tool.why = step["why"].as_str().map(str::to_owned).or(tool.why.take());
        tool.outcome = outcome;
    }

    fn probed_count(&self) -> usize {
        self.tools.iter().filter(|tool| tool.probes > 0).count()
    }

    fn print(&self, output: Output) {
        let mut table = TextTable::new(&["TOOL", "PROBES", "P50", "TIER", "WHY"]);
        for tool in &self.tools {
            let before = find_tool(&self.before, &tool.name);
            let after = find_tool(&self.after, &tool.name);
            let reason = after["reason"].as_str().unwrap_or_default();
            let why = match (tool.outcome.as_str(), &tool.why) {
                ("failed", Some(why)) => format!("failed: {why}"),
                (_, Some(why)) => why.clone(),
                (_, None) => reason.to_owned(),
            };
            table.row(vec![
                tool.name.clone(),
                tool.probes.to_string(),
                time(&after["measured"]["p50_ms"]),
                describe_tier_change(before, after),
                why,
            ]);
        }
        output.table(&table);
        let all = pluralize(self.tools.len(), "tool");
        output.note(&format!("measured {} of {all}", self.probed_count()));
    }

    fn json(&self) -> Value {
        let tools = self.tools.iter().map(|tool| {
            let before = find_tool(&self.before, &tool.name);
            let after = find_tool(&self.after, &tool.name);
            json!({
                "name": tool.name,
                "probes": tool.probes,
                "outcome": tool.outcome,
                "why": tool.why,
                "tier_before": before["tier"],
                "tier": after["tier"],
                "reason": after["reason"],
                "measured": after["measured"],
            })
        });
        json!({ "tools": tools.collect::<Vec<_>>() })
    }
}

fn find_tool<'a>(listed: &'a Value, name: &str) -> &'a Value {
    items(listed, "tools").iter().find(|tool| tool["name"] == name).unwrap_or(&Value::Null)
}

fn describe_tier_change(before: &Value, after: &Value) -> String {
    match (before["tier"].as_str(), after["tier"].as_str()) {
        (Some(before), Some(after)) if before != after => format!("{before} → {after}"),
        (_, Some(tier)) | (Some(tier), None) => tier.to_owned(),
        (None, None) => "–".to_owned(),
    }
}
