//! `tollgate approvals`: calls that wait for approval. Lists them, decides on one, or watches and
//! asks on the terminal for each new one.

use std::collections::BTreeSet;
use std::io::{self, BufRead as _, IsTerminal as _};

use serde_json::Value;
use tokio::sync::mpsc;
use tollgate_config::Config;

use super::tools::{items, text};
use crate::cli::ApprovalsCommand;
use crate::command_error::CommandError;
use crate::gateway::{Gateway, GatewayEvent, RemoteGateway};
use crate::output::{Output, OutputFormat, TextTable, clean};

/// Queue length for notifications while a question is open. The list is fetched again anyway.
const QUEUE: usize = 64;
/// Characters of arguments shown in the list.
const MAX_ARGUMENT_CHARACTERS: usize = 120;

pub(super) async fn run(
    command: &ApprovalsCommand,
    config: &Config,
    output: Output,
) -> Result<(), CommandError> {
    // Calls wait in a serving gateway. An in-process one would have none.
    let Some(remote) = RemoteGateway::find(config).await else {
        let place = config.listen;
        return Err(CommandError::new(format!("no gateway is running at {place}")));
    };
    let gateway = Gateway::Remote(Box::new(remote));
    match command {
        ApprovalsCommand::List => list(&gateway, output).await,
        ApprovalsCommand::Approve { id, note } => {
            decide(&gateway, id, "approve", note.as_deref(), output).await
        }
        ApprovalsCommand::Deny { id, note } => {
            decide(&gateway, id, "deny", note.as_deref(), output).await
        }
        ApprovalsCommand::Watch => watch(&gateway, output).await,
    }
}

async fn list(gateway: &Gateway, output: Output) -> Result<(), CommandError> {
    let waiting = gateway.approvals().await?;
    match output.form {
        OutputFormat::Json => output.json(&waiting),
        OutputFormat::Text => {
            let mut table = TextTable::new(&["ID", "WHO", "AGENT", "TOOL", "ARGUMENTS", "UNTIL"]);
            for request in items(&waiting, "approvals") {
                table.row(vec![
                    text(request, "id"),
                    text(request, "principal"),
                    text(request, "agent"),
                    text(request, "name"),
                    clean(&arguments(request, MAX_ARGUMENT_CHARACTERS)),
                    text(request, "until"),
                ]);
            }
            output.table(&table);
        }
    }
    Ok(())
}

async fn decide(
    gateway: &Gateway,
    id: &str,
    decision: &str,
    note: Option<&str>,
    output: Output,
) -> Result<(), CommandError> {
    let decided = gateway.decide(id, decision, note).await?;
    match output.form {
        OutputFormat::Json => output.json(&decided),
        OutputFormat::Text => {
            let name = text(&decided, "name");
            let what = if decision == "approve" { "may be called" } else { "is not called" };
            output.note(&clean(&format!("`{name}` {what}")));
        }
    }
    Ok(())
}

async fn watch(gateway: &Gateway, output: Output) -> Result<(), CommandError> {
    if output.form == OutputFormat::Json {
        return gateway.events(|event| tell(&event, output)).await;
    }
    if !io::stdin().is_terminal() {
        return Err(CommandError::Usage(
            "`watch` requires a terminal; otherwise use `--json`".to_owned(),
        ));
    }
    let (sender, mut receiver) = mpsc::channel(QUEUE);
    let listening = gateway.events(move |event| {
        if ["approval_requested", "missed"].contains(&&*event.name) {
            // A full queue is fine: the list is fetched again anyway.
            let _ = sender.try_send(());
        }
    });
    let answering = async {
        let mut seen = BTreeSet::new();
        output.note("waiting for calls that need approval; Ctrl-C stops");
        loop {
            for request in items(&gateway.approvals().await?, "approvals") {
                if seen.insert(text(request, "id")) {
                    ask(gateway, request, output).await?;
                }
            }
            if receiver.recv().await.is_none() {
                return Ok(());
            }
            while receiver.try_recv().is_ok() {}
        }
    };
    tokio::select! {
        ended = listening => ended,
        ended = answering => ended,
    }
}

fn tell(event: &GatewayEvent, output: Output) {
    if event.name.starts_with("approval_") {
        output.line(&serde_json::json!({"event": event.name, "data": event.data}).to_string());
    }
}

/// Asks one question on the terminal. A decision that is no longer possible is reported, but is not
/// a failure.
async fn ask(gateway: &Gateway, request: &Value, output: Output) -> Result<(), CommandError> {
    output.note(&clean(&format!(
        "`{}` wants to call `{}` as agent `{}`",
        text(request, "principal"),
        text(request, "name"),
        text(request, "agent")
    )));
    output.note(&clean(&format!("  with {}", arguments(request, usize::MAX))));
    output.note(&clean(&format!(
        "  because {}; until {}",
        text(request, "reason"),
        text(request, "until")
    )));
    output.note("allow it? [y]es, [n]o, anything else skips it:");
    let read = || {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).map(|_| line)
    };
    let line = tokio::task::spawn_blocking(read).await.ok().and_then(Result::ok);
    let decision = match line.unwrap_or_default().trim() {
        "y" | "yes" => "approve",
        "n" | "no" => "deny",
        _ => return Ok(()),
    };
    if let Err(failure) = decide(gateway, &text(request, "id"), decision, None, output).await {
        output.note(&clean(&failure.to_string()));
    }
    Ok(())
}

/// The arguments as JSON, with a note if they are truncated.
fn arguments(request: &Value, most: usize) -> String {
    let (shown, all) = match request["beginning"].as_str() {
        Some(beginning) => (beginning.to_owned(), request["arguments_bytes"].as_u64()),
        None => (request["arguments"].to_string(), None),
    };
    let short: String = shown.chars().take(most).collect();
    match all {
        Some(all) => format!("{short}… ({all} bytes in all)"),
        None if short.len() < shown.len() => format!("{short}… ({} bytes in all)", shown.len()),
        None => short,
    }
}
