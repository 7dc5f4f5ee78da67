//! `tollgate sessions`: realtime sessions of a running gateway.

use serde_json::{Value, json};
use tollgate_config::Config;

use super::tools::{items, text};
use super::usage::cost;
use crate::cli::sessions::{SessionsArgs, SessionsCommand};
use crate::command_error::CommandError;
use crate::gateway::{Gateway, RemoteGateway};
use crate::output::{Output, OutputFormat, TextTable, clean};

pub(super) async fn run(
    args: &SessionsArgs,
    config: &Config,
    output: Output,
) -> Result<(), CommandError> {
    // Sessions exist in a serving gateway only. An in-process one would have none.
    let Some(remote) = RemoteGateway::find(config).await else {
        let place = config.listen;
        return Err(CommandError::new(format!("no gateway is running at {place}")));
    };
    let gateway = Gateway::Remote(Box::new(remote));
    match &args.command {
        None | Some(SessionsCommand::List) => list(&gateway, output).await,
        Some(SessionsCommand::Close { id }) => {
            gateway.close_session(id).await?;
            match output.form {
                OutputFormat::Json => output.json(&json!({ "id": id, "closed": true })),
                OutputFormat::Text => output.note(&clean(&format!("`{id}` is closed"))),
            }
            Ok(())
        }
        Some(SessionsCommand::Tier { id, tier }) => {
            let tier = Some(tier.as_str()).filter(|tier| *tier != "auto");
            let answer = gateway.session_tier(id, tier).await?;
            match (output.form, tier) {
                (OutputFormat::Json, _) => output.json(&answer),
                (OutputFormat::Text, Some(tier)) => {
                    output.note(&clean(&format!("`{id}` is {tier} from now on")));
                }
                (OutputFormat::Text, None) => {
                    output.note(&clean(&format!("`{id}` is back to automatic tier selection")));
                }
            }
            Ok(())
        }
    }
}

async fn list(gateway: &Gateway, output: Output) -> Result<(), CommandError> {
    let held = gateway.sessions().await?;
    match output.form {
        OutputFormat::Json => output.json(&held),
        OutputFormat::Text => {
            let head = [
                "ID", "WHO", "AGENT", "DIALECT", "MODEL", "TIER", "TOOLS", "TURNS", "CALLS",
                "TOKENS", "COST", "SINCE", "WHY",
            ];
            let mut table = TextTable::new(&head);
            let count = |session: &Value, key: &str| session[key].as_u64().unwrap_or(0).to_string();
            for session in items(&held, "sessions") {
                let mut row: Vec<String> = ["id", "principal", "agent", "dialect", "model", "tier"]
                    .map(|key| text(session, key))
                    .to_vec();
                row.extend(["tools", "turns", "calls"].map(|key| count(session, key)));
                let used = &session["usage"];
                let tokens = |key: &str| used[key].as_u64().unwrap_or_default();
                row.push((tokens("input_tokens") + tokens("output_tokens")).to_string());
                row.push(cost(used));
                row.extend([text(session, "since"), clean(&text(session, "tier_reason"))]);
                table.row(row);
            }
            output.table(&table);
        }
    }
    Ok(())
}
