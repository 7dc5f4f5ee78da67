//! Builds a server entry from the command line. Secrets become references to variables, unless
//! `--inline` is given.

use std::collections::BTreeMap;
use std::io;

use serde_json::{Value, json};
use tollgate_config::edit::ConfigEdit;
use tollgate_config::{self as config, Environment, ProcessEnvironment, references};
use tollgate_core::secret::Secret;
use tollgate_server::config_service::{ApplyMode, ConfigChange};

use super::requested_change::RequestedServerChange;
use crate::cli::servers::AddServerArgs;
use crate::command_error::CommandError;
use crate::import::{self, DescribedTransport, SecretPlacement, ServerDescription};

pub(super) fn request_change(
    add: &AddServerArgs,
    environment: &dyn Environment,
) -> Result<RequestedServerChange, CommandError> {
    let missing =
        || CommandError::Usage("name the server: `tollgate servers add NAME …`".to_owned());
    let name = add.name.clone().ok_or_else(missing)?;
    let secrets =
        if add.inline { SecretPlacement::InTheFile } else { SecretPlacement::InTheEnvironment };
    let words = words(add)?;
    let reached = match (&words, &add.url) {
        (Some(words), _) => DescribedTransport::ByCommand(words),
        (None, Some(url)) => DescribedTransport::At(url),
        (None, None) => {
            let why = "give its transport: `--url URL`, `--command TEXT` or `-- PROGRAM …`";
            return Err(CommandError::Usage(why.to_owned()));
        }
    };
    let described = ServerDescription {
        name: &name,
        transport: add.transport.as_deref(),
        reached,
        env: pairs(&add.env, variable)?,
        headers: pairs(&add.header, header)?,
        token: add.token.as_deref(),
    };
    let imported = import::from_description(described, secrets);
    if let Some(dropped) = imported.dropped.first() {
        return Err(CommandError::Usage(format!("{}: {}", dropped.what, dropped.why)));
    }
    let mut server = imported.servers.into_iter().next().map(|it| it.keys).unwrap_or_default();
    let mut put = |key: &str, value: Value| drop(server.insert(key.to_owned(), value));
    if let Some(cwd) = &add.cwd {
        put("cwd", json!(cwd));
    }
    if add.trusted {
        put("trusted", json!(true));
    }
    if let Some(start) = &add.start {
        put("start", json!(start));
    }
    let unset = |(name, value): &(String, Secret)| {
        environment.variable(name).as_deref() != Some(value.reveal())
    };
    let given = imported.given.into_iter().filter(unset).collect();
    let mode = if add.dry_run { ApplyMode::Try } else { ApplyMode::Apply };
    Ok(RequestedServerChange {
        change: ConfigChange::Add { name, server, agents: add.agents.clone() },
        mode,
        given,
    })
}

fn words(add: &AddServerArgs) -> Result<Option<Vec<String>>, CommandError> {
    match &add.command {
        Some(text) => shell_words::split(text)
            .map(Some)
            .map_err(|_| CommandError::Usage("a quote in `--command` is not closed".to_owned())),
        None => Ok((!add.words.is_empty()).then(|| add.words.clone())),
    }
}

fn pairs(
    typed: &[String],
    split: fn(&str) -> Result<(&str, &str), &'static str>,
) -> Result<Vec<(String, String)>, CommandError> {
    let pair = |typed: &String| match split(typed) {
        Ok((name, value)) => Ok((name.to_owned(), value.to_owned())),
        // Do not repeat the input: it may be a secret.
        Err(why) => Err(CommandError::Usage(why.to_owned())),
    };
    typed.iter().map(pair).collect()
}

fn variable(typed: &str) -> Result<(&str, &str), &'static str> {
    let is_name = |name: &str| !name.is_empty() && !name.contains(char::is_whitespace);
    let pair = typed.split_once('=').filter(|(name, _)| is_name(name));
    pair.ok_or("`--env` must be NAME=VALUE")
}

/// Values may contain `=` and `:`, so split at the first one.
fn header(typed: &str) -> Result<(&str, &str), &'static str> {
    let letter = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let pair = typed.split_once(['=', ':']).map(|(name, value)| (name.trim(), value.trim()));
    let pair = pair.filter(|(name, _)| !name.is_empty() && name.chars().all(letter));
    pair.ok_or("`--header` must be NAME=VALUE or 'NAME: VALUE'")
}

/// The environment with placeholder values for unset variables, so that a config can be checked
/// before the variables are set where the gateway runs.
pub(crate) struct ExpectedEnvironment {
    /// Variables of the new entries.
    own: BTreeMap<String, Secret>,
    /// Variables of the existing file: the editor's environment may differ from the gateway's.
    others: BTreeMap<String, Secret>,
}

impl ExpectedEnvironment {
    /// With the values of variables that replace secrets, and placeholders for those only
    /// referenced in `edits`.
    pub(crate) fn new(given: Vec<(String, Secret)>, edits: &[ConfigEdit]) -> Self {
        let mut known: BTreeMap<String, Secret> = given.into_iter().collect();
        for edit in edits {
            let keys = match edit {
                ConfigEdit::Add { server: keys, .. } | ConfigEdit::Insert { keys, .. } => keys,
                ConfigEdit::Remove { .. } | ConfigEdit::Take { .. } | ConfigEdit::Set { .. } => {
                    continue;
                }
            };
            for (name, value) in keys {
                collect_variables(name, value, &mut known);
            }
        }
        Self { own: known, others: BTreeMap::new() }
    }

    /// Adds placeholders for the variables of this config.
    pub(crate) fn beside(mut self, config: &str) -> Self {
        collect_variables("", &config::values(config), &mut self.others);
        self
    }

    /// Variables that are not set in the process.
    pub(crate) fn unset(&self, environment: &dyn Environment) -> Vec<String> {
        let has = |name: &str, value: &Secret| match environment.variable(name) {
            Some(set) => value.reveal() == set || [ANYTHING, ANY_URL].contains(&value.reveal()),
            None => false,
        };
        let unset = self.own.iter().filter(|(name, value)| !has(name, value));
        unset.map(|(name, _)| name.clone()).collect()
    }
}

/// Placeholder for an unknown value.
const ANYTHING: &str = "unset";
/// Placeholder where a URL is needed.
const ANY_URL: &str = "https://unset.invalid";

/// Collects the variables of a value that have no default.
fn collect_variables(key: &str, value: &Value, known: &mut BTreeMap<String, Secret>) {
    match value {
        Value::String(text) => {
            for (name, _) in references(text).filter(|(_, default)| default.is_none()) {
                let bare = if key.ends_with("url") { ANY_URL } else { ANYTHING };
                known.entry(name.to_owned()).or_insert_with(|| Secret::new(bare));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_variables(key, item, known)),
        Value::Object(pairs) => {
            pairs.iter().for_each(|(key, value)| collect_variables(key, value, known))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Environment for ExpectedEnvironment {
    fn variable(&self, name: &str) -> Option<String> {
        let entry = self.own.get(name).or(self.others.get(name));
        ProcessEnvironment.variable(name).or_else(|| entry.map(|value| value.reveal().to_owned()))
    }

    fn file(&self, path: &str) -> io::Result<String> {
        ProcessEnvironment.file(path)
    }
}

#[cfg(test)]
mod tests;
