//! Trial run of a new server: whether it answers, and its tools. Uses the running gateway if it
//! accepted the server. Otherwise starts it in this process and stops it again.

use std::fs;

use serde_json::{Value, json};
use tollgate_config::Config;
use tollgate_engine::upstream::{TestVerdict, TrialEvent, TrialReport};
use tollgate_mcp::Revision;

use crate::gateway::{Gateway, InProcessGateway};
use crate::output::{pluralize, span};

/// `None` if no trial is possible.
pub(super) async fn run(name: &str, config: &Config, running: Option<Gateway>) -> Option<Value> {
    match running {
        Some(gateway) => gateway.test(name).await.ok(),
        None => aside(name, config, |_| ()).await.map(|tried| report(&tried)),
    }
}

/// Starts it in isolation, and reports progress.
pub(super) async fn aside(
    name: &str,
    config: &Config,
    mut on_event: impl FnMut(TrialEvent),
) -> Option<TrialReport> {
    let servers = &config.settings.servers;
    let server = servers.iter().find(|server| server.id.as_str() == name)?.clone();
    let mut alone = config.clone();
    alone.settings.servers.clear();
    // The files of a running gateway are locked.
    alone.data = config.data.join(format!(".try-{}", std::process::id()));
    alone.settings.data.clone_from(&alone.data);
    let tried = match InProcessGateway::start(&alone).await {
        Ok(local) => {
            let tried = match local.try_out(server).await {
                Some(mut trial) => {
                    while let Some(step) = trial.next().await {
                        on_event(step);
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
    // Nothing of it is needed. A leftover directory is harmless.
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

/// The report of a trial as a sentence.
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
