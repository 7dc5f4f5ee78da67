//! `tollgate keys`: creates and revokes keys. Uses the running gateway, so that it takes effect at
//! once. Without one, changes the store directly and starts nothing.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tollgate_config::Config;
use tollgate_core::date;
use tollgate_core::turn::Principal;
use tollgate_engine::audit::{AuditAction, AuditLedger, Decision};
use tollgate_engine::clock::{Clock as _, SystemClock};
use tollgate_server::keyring::{IssuedKey, KeyRequest, KeySummary};

use super::tools::items;
use crate::app::{self, OfflineKeyring, blocking};
use crate::cli::keys::{CreateKeyArgs, KeysCommand};
use crate::command_error::CommandError;
use crate::gateway::{Gateway, RemoteGateway};
use crate::output::{Output, OutputFormat, TextTable, clean};

pub(super) async fn run(
    command: &KeysCommand,
    config: &Config,
    output: Output,
) -> Result<(), CommandError> {
    if let KeysCommand::Open = command {
        return open(config, output).await;
    }
    let place = KeyBackend::find(config).await?;
    match command {
        KeysCommand::List => {
            let keys = place.list(config).await?;
            match output.form {
                OutputFormat::Json => output.json(&keys),
                OutputFormat::Text => output.table(&table(items(&keys, "keys"))),
            }
        }
        KeysCommand::Create(new) => show(&place.make(config, new).await?, output),
        KeysCommand::Revoke { name } => {
            place.revoke(config, name).await?;
            match output.form {
                OutputFormat::Json => output.json(&json!({ "name": name, "revoked": true })),
                OutputFormat::Text => output.note(&clean(&format!("`{name}` is revoked"))),
            }
        }
        KeysCommand::Open => {}
        KeysCommand::Rotate { name, grace } => {
            show(&place.rotate(config, name, *grace).await?, output)
        }
    }
    Ok(())
}

/// Needs write access to the data directory: a key is not sufficient. A running gateway notices
/// within a second.
async fn open(config: &Config, output: Output) -> Result<(), CommandError> {
    if !config.keys.is_empty() || config.auth.is_some() {
        let message = "`keys` or `auth` in the config require a key; remove them first";
        return Err(CommandError::new(message.to_owned()));
    }
    let OfflineKeyring { keyring, ledger } = app::open_offline_keyring(config).await?;
    blocking(move || keyring.open()).await?;
    let decision = Decision::new(AuditAction::Key, &Principal::local(), "opened");
    let noted = ledger.note(decision.because("this machine has access without a key")).await;
    noted
        .map_err(|error| CommandError::new(format!("no key is required any more, but {error}")))?;
    match output.form {
        OutputFormat::Json => output.json(&json!({ "open": true })),
        OutputFormat::Text => {
            output.note("this machine has access without a key, if `listen` is loopback")
        }
    }
    Ok(())
}

/// Where the keys are changed.
enum KeyBackend {
    Running(Gateway),
    Store(OfflineKeyring),
}

impl KeyBackend {
    async fn find(config: &Config) -> Result<Self, CommandError> {
        match RemoteGateway::find(config).await {
            Some(remote) => Ok(Self::Running(Gateway::Remote(Box::new(remote)))),
            None => Ok(Self::Store(app::open_offline_keyring(config).await?)),
        }
    }

    async fn list(self, config: &Config) -> Result<Value, CommandError> {
        match self {
            Self::Running(gateway) => gateway.keys().await,
            Self::Store(OfflineKeyring { keyring, .. }) => {
                let made = blocking(move || keyring.load()).await?;
                let configured = app::keys(config);
                let configured = configured.iter().map(KeySummary::from_config);
                let all: Vec<KeySummary> =
                    configured.chain(made.iter().map(KeySummary::from_stored)).collect();
                Ok(json!({ "keys": all }))
            }
        }
    }

    async fn make(self, config: &Config, new: &CreateKeyArgs) -> Result<Value, CommandError> {
        let request = create_request(new)?;
        match self {
            Self::Running(gateway) => gateway.make_key(&request).await,
            Self::Store(OfflineKeyring { keyring, ledger }) => {
                let now = SystemClock.wall();
                let key_request = KeyRequest::parse(request.to_string().as_bytes(), now);
                let key_request =
                    key_request.map_err(|why| CommandError::Usage(why.to_string()))?;
                check_agents(config, &key_request)?;
                check_free(config, &key_request.name)?;
                let detail = format!("role {}", key_request.role.as_str());
                let key = blocking(move || keyring.make(&key_request)).await?;
                note(&ledger, "made", &key.shown.name, &detail).await?;
                Ok(created_key_json(&key))
            }
        }
    }

    async fn revoke(self, config: &Config, name: &str) -> Result<(), CommandError> {
        match self {
            Self::Running(gateway) => gateway.revoke_key(name).await,
            Self::Store(OfflineKeyring { keyring, ledger }) => {
                check_free(config, name)?;
                let revoked = name.to_owned();
                blocking(move || keyring.revoke(&revoked)).await?;
                note(&ledger, "revoked", name, "by command").await
            }
        }
    }

    async fn rotate(self, config: &Config, name: &str, grace: u32) -> Result<Value, CommandError> {
        match self {
            Self::Running(gateway) => gateway.rotate_key(name, grace).await,
            Self::Store(OfflineKeyring { keyring, ledger }) => {
                check_free(config, name)?;
                let detail = format!("the previous secret remains valid for {grace} s");
                let name = name.to_owned();
                let grace = Duration::from_secs(grace.into());
                let key = blocking(move || keyring.rotate(&name, grace)).await?;
                note(&ledger, "rotated", &key.shown.name, &detail).await?;
                Ok(created_key_json(&key))
            }
        }
    }
}

/// Writes the same audit row as a gateway would.
async fn note(
    ledger: &AuditLedger,
    outcome: &'static str,
    name: &str,
    detail: &str,
) -> Result<(), CommandError> {
    let decision = Decision::new(AuditAction::Key, &Principal::local(), outcome);
    let noted = ledger.note(decision.about(name).because(detail)).await;
    noted.map_err(|error| CommandError::new(format!("`{name}` is {outcome}, but {error}")))
}

/// Body of `POST /api/keys`.
fn create_request(new: &CreateKeyArgs) -> Result<Value, CommandError> {
    let CreateKeyArgs {
        name,
        role,
        agents,
        rights,
        tools,
        rate,
        model_limits,
        concurrent,
        tenant,
        expires,
    } = new;
    let expires = expires.as_deref().map(moment).transpose()?;
    let fields = [
        ("name", json!(name)),
        ("role", json!(role)),
        ("agents", json!(agents)),
        ("rights", json!(rights)),
        ("tools", json!(tools)),
        ("rate_limit", json!(rate)),
        ("model_limits", json!(model_limits)),
        ("concurrent", json!(concurrent)),
        ("tenant", json!(tenant)),
        ("expires", json!(expires)),
    ];
    let lines = fields.into_iter().filter(|(_, value)| !value.is_null());
    Ok(Value::Object(lines.map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>()))
}

/// A date, or a duration from now.
fn moment(text: &str) -> Result<String, CommandError> {
    if date::parse(text).is_some() {
        return Ok(text.to_owned());
    }
    let wrong = || {
        let message = "`--expires` must be like `2027-01-31`, `2027-01-31T12:00:00Z`, `90d` or \
                       `12h`";
        CommandError::Usage(message.to_owned())
    };
    let then = date::span(text).and_then(|span| SystemClock.wall().checked_add(span));
    then.map(date::format_rfc3339).ok_or_else(wrong)
}

fn check_agents(config: &Config, request: &KeyRequest) -> Result<(), CommandError> {
    let known = &config.settings.agents;
    let missing = |agent: &&_| !known.iter().any(|it| it.id == **agent);
    match request.agents.iter().flatten().find(missing) {
        Some(agent) => {
            Err(CommandError::Usage(format!("there is no agent `{agent}` in the config")))
        }
        None => Ok(()),
    }
}

fn check_free(config: &Config, name: &str) -> Result<(), CommandError> {
    if config.keys.iter().any(|key| key.name == name) {
        let message = format!("the key `{name}` is in the config; change it there");
        return Err(CommandError::new(message));
    }
    Ok(())
}

/// In the format of the response to `POST /api/keys`.
fn created_key_json(made: &IssuedKey) -> Value {
    let mut shown = json!(made.shown);
    shown["key"] = json!(made.secret.reveal());
    shown
}

/// Only the secret goes to standard output, so that a script can capture it.
fn show(made: &Value, output: Output) {
    match (output.form, made["key"].as_str()) {
        (OutputFormat::Text, Some(key)) => {
            output.line(&clean(key));
            let name = made["name"].as_str().unwrap_or_default();
            output.note(&clean(&format!("the key of `{name}`; it is shown only once")));
        }
        (OutputFormat::Json, _) | (_, None) => output.json(made),
    }
}

/// Rates of calls and of model use, and concurrent calls.
fn limits(key: &Value) -> String {
    let rate = key["rate_limit"].as_str().map(str::to_owned);
    let concurrent = key["concurrent"].as_u64().map(|count| format!("{count} concurrent"));
    let of_models = items(key, "model_limits").iter().filter_map(Value::as_str).map(str::to_owned);
    let all: Vec<String> = rate.into_iter().chain(concurrent).chain(of_models).collect();
    if all.is_empty() { "–".to_owned() } else { all.join(", ") }
}

fn table(keys: &[Value]) -> TextTable {
    let columns = [
        "KEY",
        "ROLE",
        "RIGHTS",
        "AGENTS",
        "TOOLS",
        "LIMITS",
        "TENANT",
        "EXPIRES",
        "LAST USED",
        "STATE",
    ];
    let mut table = TextTable::new(&columns);
    for key in keys {
        let text = |field: &str| match &key[field] {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Array(items) => {
                items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
            }
            _ => "–".to_owned(),
        };
        let limits = limits(key);
        let state = match (key["revoked"].as_str(), key["former_until"].as_str()) {
            (Some(when), _) => format!("revoked {when}"),
            (None, Some(until)) => format!("old secret until {until}"),
            (None, None) => key["origin"].as_str().unwrap_or_default().to_owned(),
        };
        table.row(vec![
            text("name"),
            text("role"),
            text("rights"),
            text("agents"),
            text("tools"),
            limits,
            text("tenant"),
            text("expires"),
            text("last_used"),
            state,
        ]);
    }
    table
}
