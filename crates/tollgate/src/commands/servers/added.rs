//! A server as the command line describes it. Secrets become references to variables unless they
//! are wanted in the file.

use std::collections::BTreeMap;
use std::io;

use serde_json::{Map, Value, json};
use tollgate_core::secret::Secret;
use tollgate_server::operator::{Change, Mode};

use super::change::Wish;
use crate::cli::servers::Add;
use crate::config::edit::Edit;
use crate::config::{self, Environment, Process, is_reference, is_variable, sounds_secret};
use crate::failure::Failure;
use crate::import::{Secrets, variable};

pub(super) fn wish(add: &Add, environment: &dyn Environment) -> Result<Wish, Failure> {
    let missing =
        || Failure::Usage("say what to call it: `tollgate servers add NAME …`".to_owned());
    let name = add.name.clone().ok_or_else(missing)?;
    let secrets = if add.inline { Secrets::InTheFile } else { Secrets::InTheEnvironment };
    let mut writer = Writer { prefix: variable(&name), secrets, given: BTreeMap::new() };
    let mut server = Map::new();
    let mut put = |key: &str, value: Value| drop(server.insert(key.to_owned(), value));
    if let Some(transport) = &add.transport {
        put("transport", json!(transport));
    }
    match (words(add)?, &add.url) {
        (Some(words), _) => put("command", json!(words)),
        (None, Some(url)) => put("url", json!(url)),
        (None, None) => {
            let why = "say how it is reached: `--url URL`, `--command TEXT` or `-- PROGRAM …`";
            return Err(Failure::Usage(why.to_owned()));
        }
    }
    if !add.env.is_empty() {
        put("env", writer.table("--env", &add.env)?);
    }
    if let Some(cwd) = &add.cwd {
        put("cwd", json!(cwd));
    }
    if !add.header.is_empty() {
        put("headers", writer.table("--header", &add.header)?);
    }
    if let Some(token) = &add.token {
        put("auth", json!({ "token": writer.secret("TOKEN", token) }));
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
    let given = writer.given.into_iter().filter(unset).collect();
    let mode = if add.dry_run { Mode::Try } else { Mode::Apply };
    Ok(Wish { change: Change::Add { name, server, agents: add.agents.clone() }, mode, given })
}

fn words(add: &Add) -> Result<Option<Vec<String>>, Failure> {
    match &add.command {
        Some(text) => shell_words::split(text)
            .map(Some)
            .map_err(|_| Failure::Usage("a quote in `--command` is not closed".to_owned())),
        None => Ok((!add.words.is_empty()).then(|| add.words.clone())),
    }
}

struct Writer {
    /// Of the variables that stand for this server's secrets.
    prefix: String,
    secrets: Secrets,
    given: BTreeMap<String, Secret>,
}

impl Writer {
    fn table(&mut self, flag: &str, pairs: &[String]) -> Result<Value, Failure> {
        let mut table = Map::new();
        for pair in pairs {
            let Some((name, value)) = pair.split_once('=').filter(|(name, _)| !name.is_empty())
            else {
                // The value may be a secret: it is not repeated.
                return Err(Failure::Usage(format!("`{flag}` takes NAME=VALUE")));
            };
            let value = match sounds_secret(name) {
                true => self.secret(name, value),
                false => value.to_owned(),
            };
            table.insert(name.to_owned(), json!(value));
        }
        Ok(Value::Object(table))
    }

    fn secret(&mut self, name: &str, value: &str) -> String {
        if self.secrets == Secrets::InTheFile || is_reference(value) {
            return value.to_owned();
        }
        let variable = format!("{}_{}", self.prefix, variable(name));
        let reference = format!("${{{variable}}}");
        self.given.insert(variable, Secret::new(value));
        reference
    }
}

/// The environment, and what is said in its place: a text can be proved before the variables are
/// set where the gateway runs.
pub(crate) struct Expected {
    /// Of what is new.
    own: BTreeMap<String, Secret>,
    /// Of what the file says already: whoever writes it is not whoever runs the gateway.
    others: BTreeMap<String, Secret>,
}

impl Expected {
    /// With the values of variables that stand for secrets, and anything for those that are only
    /// named in `edits`.
    pub(crate) fn new(given: Vec<(String, Secret)>, edits: &[Edit]) -> Self {
        let mut known: BTreeMap<String, Secret> = given.into_iter().collect();
        for edit in edits {
            let keys = match edit {
                Edit::Add { server: keys, .. } | Edit::Insert { keys, .. } => keys,
                Edit::Remove { .. } | Edit::Take { .. } | Edit::Set { .. } => continue,
            };
            for (name, value) in keys {
                named(name, value, &mut known);
            }
        }
        Self { own: known, others: BTreeMap::new() }
    }

    /// And anything for what this config names.
    pub(crate) fn beside(mut self, config: &str) -> Self {
        named("", &config::values(config), &mut self.others);
        self
    }

    /// What the process does not have.
    pub(crate) fn unset(&self, environment: &dyn Environment) -> Vec<String> {
        let has = |name: &str, value: &Secret| match environment.variable(name) {
            Some(set) => value.reveal() == set || [ANYTHING, ANY_URL].contains(&value.reveal()),
            None => false,
        };
        let unset = self.own.iter().filter(|(name, value)| !has(name, value));
        unset.map(|(name, _)| name.clone()).collect()
    }
}

/// Stands for a value that nobody knows yet.
const ANYTHING: &str = "unset";
/// The same where an address is needed.
const ANY_URL: &str = "https://unset.invalid";

/// Variables in a value that have no default.
fn named(key: &str, value: &Value, known: &mut BTreeMap<String, Secret>) {
    match value {
        Value::String(text) => {
            for part in text.split("${").skip(1) {
                let name = part.split('}').next().unwrap_or_default();
                if is_variable(name) {
                    let bare = if key.ends_with("url") { ANY_URL } else { ANYTHING };
                    known.entry(name.to_owned()).or_insert_with(|| Secret::new(bare));
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| named(key, item, known)),
        Value::Object(pairs) => pairs.iter().for_each(|(key, value)| named(key, value, known)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Environment for Expected {
    fn variable(&self, name: &str) -> Option<String> {
        let said = self.own.get(name).or(self.others.get(name));
        Process.variable(name).or_else(|| said.map(|value| value.reveal().to_owned()))
    }

    fn file(&self, path: &str) -> io::Result<String> {
        Process.file(path)
    }
}

#[cfg(test)]
mod tests;
