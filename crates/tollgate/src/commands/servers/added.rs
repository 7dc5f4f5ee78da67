//! A server as the command line describes it. Secrets become references to variables unless they
//! are wanted in the file.

use std::collections::BTreeMap;
use std::io;

use serde_json::{Map, Value, json};
use tollgate_server::operator::{Change, Mode};

use super::change::Wish;
use crate::cli::servers::Add;
use crate::config::{Environment, Process, is_reference, sounds_secret};
use crate::failure::Failure;

/// Where a secret may stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Secrets {
    InTheFile,
    InTheEnvironment,
}

pub(super) fn wish(add: &Add, environment: &dyn Environment) -> Result<Wish, Failure> {
    let secrets = if add.inline { Secrets::InTheFile } else { Secrets::InTheEnvironment };
    let mut writer = Writer { prefix: prefix(&add.name), secrets, given: BTreeMap::new() };
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
    let unset =
        |(name, value): &(String, String)| environment.variable(name).as_ref() != Some(value);
    let given = writer.given.into_iter().filter(unset).collect();
    let mode = if add.dry_run { Mode::Try } else { Mode::Apply };
    Ok(Wish { change: Change::Add { name: add.name.clone(), server }, mode, given })
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
    given: BTreeMap<String, String>,
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
        let variable = format!("{}_{}", self.prefix, prefix(name));
        let reference = format!("${{{variable}}}");
        self.given.insert(variable, value.to_owned());
        reference
    }
}

/// As shells name variables.
fn prefix(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = name.chars().map(letter).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// The environment, and what the command line says in its place: the text can be proved before
/// the variables are set where the gateway runs.
pub(super) struct Given(BTreeMap<String, String>);

impl Given {
    pub(super) fn new(given: Vec<(String, String)>) -> Self {
        Self(given.into_iter().collect())
    }
}

impl Environment for Given {
    fn variable(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned().or_else(|| Process.variable(name))
    }

    fn file(&self, path: &str) -> io::Result<String> {
        Process.file(path)
    }
}

#[cfg(test)]
mod tests;
