//! Whether a server that was just described answers, and what it has. A gateway that runs and took
//! it is asked; else it is started aside, in this process, and ended.

use std::fs;

use serde_json::{Value, json};
use tollgate_engine::upstream::{TestVerdict, TrialEvent, TrialReport};
use tollgate_mcp::Revision;

use crate::app;
use crate::config::Config;
use crate::gateway::Gateway;
use crate::output::{pluralize, span};

/// `None` where it cannot be asked at all.
pub(super) async fn run(name: &str, config: &Config, running: Option<Gateway>) -> Option<Value> {
    match running {
        Some(gateway) => gateway.test(name).await.ok(),
        None => aside(name, config, |_| ()).await.map(|tried| report(&tried)),
    }
}

/// Starts it where nobody else sees it; tells what happens meanwhile.
pub(super) async fn aside(
    name: &str,
    config: &Config,
    mut heard: impl FnMut(TrialEvent),
) -> Option<TrialReport> {
    let servers = &config.settings.servers;
    let server = servers.iter().find(|server| server.id.as_str() == name)?.clone();
    let mut alone = config.clone();
    alone.settings.servers.clear();
    // A gateway that runs has its files to itself.
    alone.data = config.data.join(format!(".try-{}", std::process::id()));
    alone.settings.data.clone_from(&alone.data);
    let tried = match app::local(&alone).await {
        Ok(local) => {
            let tried = match local.try_out(server).await {
                Some(mut trial) => {
                    while let Some(step) = trial.next().await {
                        heard(step);
                    }
                    Some(trial.end().await)
                }
                None => None,
            };
            local.stop().await;
            tried
        }
        Err(_) => None,
    };
    // Nothing is kept of it; what cannot be removed harms nobody.
    let _ = fs::remove_dir_all(&alone.data);
    tried
}

/// In the shape of `POST /mcp/test/{server}`.
pub(super) fn report(tried: &TrialReport) -> Value {
    json!({
        "ok": tried.verdict == TestVerdict::Works, "message": tried.message,
        "protocol": tried.protocol.map(Revision::as_str), "tools": tried.tools.len(),
        "took_ms": tried.took.as_millis(),
    })
}

/// The report of a test in words.
pub(super) fn sentence(report: &Value) -> String {
    let message = report["message"].as_str().unwrap_or_default();
    if report["ok"] != true {
        return format!("no answer yet: {message}");
    }
    let took = span(report["took_ms"].as_f64().unwrap_or_default());
    let protocol = report["protocol"].as_str().unwrap_or("unknown");
    let tools = usize::try_from(report["tools"].as_u64().unwrap_or(0)).unwrap_or(usize::MAX);
    format!("reached in {took}, protocol {protocol}, {}", pluralize(tools, "tool"))
}
