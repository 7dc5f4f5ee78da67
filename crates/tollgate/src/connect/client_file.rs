//! Merges the entry of this gateway into the config file of a client, without other changes.

use std::path::Path;

use serde_json::{Map, Value, json};
use tollgate_config::edit::{self, ConfigEdit};

use super::{ClientFileFormat, KEY, NAME, json_insert};
use crate::import::parse_document;

/// Why a file was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientFileMergeError {
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    #[error("its layout cannot be edited automatically; add the text by hand")]
    Odd,
}

/// `old` with the entry added or replaced. Unchanged if it is there already.
pub fn merge_entry(
    form: ClientFileFormat,
    old: &str,
    entry: &Value,
) -> Result<String, ClientFileMergeError> {
    let before = if old.trim().is_empty() { json!({}) } else { values(form, old)? };
    let root = form.root();
    let mut entry = entry.clone();
    keep_key(&mut entry, &before[root][NAME]);
    let entry = &entry;
    if before[root][NAME] == *entry {
        return Ok(old.to_owned());
    }
    let new = match form {
        ClientFileFormat::Json { .. } if old.trim().is_empty() => {
            Some(format!("{:#}\n", json!({ root: { NAME: entry } })))
        }
        ClientFileFormat::Json { .. } => json_insert::put(old, root, NAME, entry),
        ClientFileFormat::Toml { .. } => in_toml(old, root, entry),
        ClientFileFormat::Yaml { root } => in_yaml(old, root, &before, entry),
    };
    let new = new.ok_or(ClientFileMergeError::Odd)?;
    let mut requested = before;
    if !requested[root].is_object() {
        requested[root] = json!({});
    }
    requested[root][NAME] = entry.clone();
    match values(form, &new) {
        Ok(after) if after == requested => Ok(new),
        _ => Err(ClientFileMergeError::Odd),
    }
}

/// An existing key is not replaced by the placeholder: it was shown only once.
fn keep_key(new: &mut Value, old: &Value) {
    match (new, old) {
        (Value::String(new), Value::String(old)) => {
            let is_key = |(before, after): (&str, &str)| {
                old.starts_with(before) && old.ends_with(after) && !old.contains(KEY)
            };
            if new.split_once(KEY).is_some_and(is_key) {
                new.clone_from(old);
            }
        }
        (Value::Object(new), Value::Object(old)) => {
            for (key, new) in new {
                old.get(key).into_iter().for_each(|old| keep_key(new, old));
            }
        }
        (Value::Array(new), Value::Array(old)) if new.len() == old.len() => {
            new.iter_mut().zip(old).for_each(|(new, old)| keep_key(new, old));
        }
        _ => {}
    }
}

impl ClientFileFormat {
    pub fn root(self) -> &'static str {
        match self {
            Self::Json { root } | Self::Toml { root } | Self::Yaml { root } => root,
        }
    }
}

pub(super) fn values(form: ClientFileFormat, text: &str) -> Result<Value, ClientFileMergeError> {
    let name = match form {
        ClientFileFormat::Json { .. } => "x.json",
        ClientFileFormat::Toml { .. } => "x.toml",
        ClientFileFormat::Yaml { .. } => "x.yaml",
    };
    let value = parse_document(text, Some(Path::new(name)));
    let value = value.map_err(|why| ClientFileMergeError::Unreadable(why.to_string()))?;
    if value.is_object() { Ok(value) } else { Err(ClientFileMergeError::Odd) }
}

/// Appends the table, or replaces the existing one.
fn in_toml(old: &str, root: &str, entry: &Value) -> Option<String> {
    let table = toml_table(root, entry);
    let own = [format!("[{root}.{NAME}]"), format!("[{root}.{NAME}.")];
    let is_own = |line: &str| own.iter().any(|head| line.trim_start().starts_with(head.as_str()));
    let lines: Vec<&str> = old.split_inclusive('\n').collect();
    let Some(from) = lines.iter().position(|line| is_own(line)) else {
        let gap = match old {
            "" => "",
            old if old.ends_with("\n\n") => "",
            old if old.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        return Some(format!("{old}{gap}{table}"));
    };
    let is_next = |line: &&str| line.trim_start().starts_with('[') && !is_own(line);
    let to = lines[from..].iter().position(is_next).map_or(lines.len(), |at| from + at);
    // Comments above the next table belong to that table.
    let is_about_next = |line: &&&str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let to = to - lines[from..to].iter().rev().take_while(is_about_next).count();
    let gap = match lines.get(to) {
        Some(line) if !line.trim().is_empty() => "\n",
        Some(_) | None => "",
    };
    Some(format!("{}{table}{gap}{}", lines[..from].concat(), lines[to..].concat()))
}

fn in_yaml(old: &str, root: &'static str, before: &Value, entry: &Value) -> Option<String> {
    let file = Path::new("config.yaml");
    let name = NAME.to_owned();
    let mut text = old.to_owned();
    if before[root].get(NAME).is_some() {
        let take = ConfigEdit::Take { section: root, name: name.clone() };
        text = edit::apply(file, &text, &take).ok()?;
    }
    let keys: Map<String, Value> = entry.as_object()?.clone();
    edit::apply(file, &text, &ConfigEdit::Insert { section: root, name, keys }).ok()
}

/// `[root.tollgate]` with its keys.
pub(super) fn toml_table(root: &str, entry: &Value) -> String {
    let mut text = format!("[{root}.{NAME}]\n");
    for (key, value) in entry.as_object().into_iter().flatten() {
        text.push_str(&format!("{key} = {}\n", toml_value(value)));
    }
    text
}

/// Strings, numbers and lists of JSON are valid TOML. Only maps differ.
fn toml_value(value: &Value) -> String {
    match value {
        Value::Object(pairs) => {
            let pair = |(key, value): (&String, &Value)| format!("{key} = {}", toml_value(value));
            let pairs: Vec<String> = pairs.iter().map(pair).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        other => other.to_string(),
    }
}

pub(super) fn yaml_block(root: &'static str, entry: &Value) -> String {
    let keys = entry.as_object().cloned().unwrap_or_default();
    let insert = ConfigEdit::Insert { section: root, name: NAME.to_owned(), keys };
    edit::apply(Path::new("config.yaml"), "", &insert).unwrap_or_default()
}
