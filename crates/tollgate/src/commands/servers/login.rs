//! `tollgate servers login`: OAuth consent in a browser. The tokens are stored for the gateway.

use std::sync::Arc;

use tollgate_config::Config;
use tollgate_core::turn::Principal;
use tollgate_engine::audit::{AuditAction, Decision};

use crate::app;
use crate::command_error::CommandError;
use crate::gateway::Gateway;
use crate::oauth_consent::OauthConsent;
use crate::output::{Output, OutputFormat, clean};

pub(super) async fn run(name: &str, config: &Config, output: Output) -> Result<(), CommandError> {
    let server = config.settings.servers.iter().find(|server| server.id.as_str() == name);
    let server = server
        .ok_or_else(|| CommandError::new(format!("there is no server `{name}` in the config")))?;
    let consent = OauthConsent::to(server).map_err(|why| CommandError::new(why.to_string()))?;
    let store = Arc::new(app::store(config).await?);
    let ledger = app::ledger(config, &store).await?;
    let show = move |url: String| {
        output.note("open this link in a browser:");
        output.note(&clean(&url));
    };
    let outcome = consent.ask(store, Box::new(show)).await;
    let word = if outcome.is_ok() { "logged in" } else { "refused" };
    let decision = Decision::new(AuditAction::Login, &Principal::local(), word).server(&server.id);
    let decision = match &outcome {
        Ok(()) => decision,
        Err(why) => decision.because(&why.to_string()),
    };
    if let Err(error) = ledger.note(decision).await {
        output.note(&format!("warning: the audit trail was not written: {error}"));
    }
    outcome.map_err(|why| CommandError::new(format!("the login to `{name}` failed: {why}")))?;
    // A server that waits for a login is retried at long intervals only.
    if let Some(gateway) = Gateway::running(config).await {
        let _ = gateway.restart(name).await;
    }
    match output.form {
        OutputFormat::Json => output.json(&serde_json::json!({ "ok": true, "server": name })),
        OutputFormat::Text => output.line(&format!("logged in to `{name}`")),
    }
    Ok(())
}
