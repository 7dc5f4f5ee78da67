//! `tollgate sessions`: the live speech sessions of a gateway that runs.

use serde_json::{Value, json};

use super::tools::{items, text};
use crate::cli::sessions::{Command, Sessions};
use crate::config::Config;
use crate::failure::Failure;
use crate::gateway::{Gateway, Remote};
use crate::output::{Form, Output, Table, clean};

pub(super) async fn run(wanted: &Sessions, config: &Config, output: Output) -> Result<(), Failure> {
    // Sessions are held by a gateway that serves; one of our own would have none.
    let Some(remote) = Remote::find(config).await else {
        let place = config.listen;
        return Err(Failure::failed(format!("no gateway runs at {place}; nobody talks there")));
    };
    let gateway = Gateway::Remote(Box::new(remote));
    match &wanted.command {
        None | Some(Command::List) => list(&gateway, output).await,
        Some(Command::Close { id }) => {
            gateway.close_session(id).await?;
            match output.form {
                Form::Json => output.json(&json!({ "id": id, "closed": true })),
                Form::Text => output.note(&clean(&format!("`{id}` is closed"))),
            }
            Ok(())
        }
        Some(Command::Tier { id, tier }) => {
            let tier = Some(tier.as_str()).filter(|tier| *tier != "auto");
            let answer = gateway.session_tier(id, tier).await?;
            match (output.form, tier) {
                (Form::Json, _) => output.json(&answer),
                (Form::Text, Some(tier)) => {
                    output.note(&clean(&format!("`{id}` is {tier} from now on")));
                }
                (Form::Text, None) => {
                    output.note(&clean(&format!("in `{id}` what is said decides again")));
                }
            }
            Ok(())
        }
    }
}

async fn list(gateway: &Gateway, output: Output) -> Result<(), Failure> {
    let held = gateway.sessions().await?;
    match output.form {
        Form::Json => output.json(&held),
        Form::Text => {
            let head = [
                "ID", "WHO", "AGENT", "DIALECT", "MODEL", "TIER", "TOOLS", "TURNS", "CALLS",
                "SINCE", "WHY",
            ];
            let mut table = Table::new(&head);
            let count = |session: &Value, key: &str| session[key].as_u64().unwrap_or(0).to_string();
            for session in items(&held, "sessions") {
                let mut row: Vec<String> = ["id", "principal", "agent", "dialect", "model", "tier"]
                    .map(|key| text(session, key))
                    .to_vec();
                row.extend(["tools", "turns", "calls"].map(|key| count(session, key)));
                row.extend([text(session, "since"), clean(&text(session, "tier_reason"))]);
                table.row(row);
            }
            output.table(&table);
        }
    }
    Ok(())
}
