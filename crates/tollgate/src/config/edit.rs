//! Changes of a config's text that leave everything else as it was typed.
//!
//! Comments, order and indentation stay. Each change is a cut by place, and the text that comes out is read again: it must say
//! what the old one said and the change, nothing more and nothing less. Called by the commands
//! and by the reloader; who may change what is not known here.

use std::path::Path;

use serde_json::{Map, Value};
use similar::TextDiff;

use super::diagnostic::{Problems, Report};
use super::{json, tree};

pub(super) mod layout;
mod surgery;
#[cfg(test)]
mod tests;
pub(super) mod yaml;

use surgery::Surgeon;
use yaml::Style;

/// One change of a config.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// A server below the others, with its keys as the config writes them.
    Add {
        name: String,
        server: Map<String, Value>,
    },
    Remove {
        name: String,
    },
    /// A key of a server; `None` takes it out.
    Set {
        name: String,
        key: String,
        value: Option<Value>,
    },
}

/// Why a text was left as it is.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error("there is a server `{0}` already")]
    Exists(String),
    #[error("there is no server `{0}` in the config")]
    Unknown(String),
    #[error("the config cannot be read: {0}")]
    Unreadable(Box<Report>),
    /// It can be done by hand; `paste` is what to write, or which lines to take out.
    #[error("the file is written in a way that is not changed by itself ({why}); {paste}")]
    Odd { why: String, paste: String },
}

/// The text after the change.
pub fn apply(file: &Path, text: &str, edit: &Edit) -> Result<String, Refused> {
    let before = value(file, text)?;
    edit.check(&before)?;
    let root = layout::parse(text);
    let surgeon = Surgeon::new(text, root.as_ref());
    let splice = match edit {
        Edit::Add { name, server } => surgeon.add(name, server),
        Edit::Remove { name } => surgeon.remove(name),
        Edit::Set { name, key, value } => surgeon.set(name, key, value.as_ref()),
    };
    let (range, new) = splice.map_err(|odd| edit.odd(odd.0))?;
    let mut edited = text.to_owned();
    edited.replace_range(range, &new);
    let Ok(after) = value(file, &edited) else {
        return Err(edit.odd("it could not be read afterwards".to_owned()));
    };
    let (after, wanted) = (settled(after), settled(edit.applied(before)));
    if after == wanted && names(&after) == names(&wanted) {
        return Ok(edited);
    }
    Err(edit.odd("more than this would change".to_owned()))
}

/// What changes, as `diff -u` shows it; empty when nothing does.
pub fn diff(file: &Path, old: &str, new: &str) -> String {
    let name = file.display().to_string();
    TextDiff::from_lines(old, new).unified_diff().context_radius(3).header(&name, &name).to_string()
}

/// Whether a server of the config is run; `None` when there is none of this name.
pub fn is_enabled(config: &Value, name: &str) -> Option<bool> {
    let server = match &config["servers"] {
        Value::Object(known) => known.get(name),
        Value::Array(items) => items.iter().find(|item| item["name"] == name),
        _ => None,
    };
    server.map(|server| server["enabled"] != Value::Bool(false))
}

/// What the text says.
fn value(file: &Path, text: &str) -> Result<Value, Refused> {
    let mut problems = Problems::default();
    let tree = tree::parse(text, &mut problems);
    if problems.has_errors() {
        let report = problems.into_report(&file.display().to_string(), text);
        return Err(Refused::Unreadable(Box::new(report)));
    }
    Ok(tree.map_or(Value::Null, |tree| json::from_node(&tree)))
}

impl Edit {
    pub fn server(&self) -> &str {
        match self {
            Self::Add { name, .. } | Self::Remove { name } | Self::Set { name, .. } => name,
        }
    }

    /// What to write, or to take out, by hand.
    pub fn paste(&self) -> String {
        let style = Style { step: 2, line: "\n" };
        let nested = |server: Map<String, Value>| {
            let server = Map::from_iter([(self.server().to_owned(), Value::Object(server))]);
            let top = Map::from_iter([("servers".to_owned(), Value::Object(server))]);
            yaml::block(&top, 0, style)
        };
        match self {
            Self::Add { server, .. } => format!("write it yourself:\n{}", nested(server.clone())),
            Self::Remove { name } => format!("take `servers.{name}` out yourself"),
            Self::Set { key, value: Some(value), .. } => {
                let server = Map::from_iter([(key.clone(), value.clone())]);
                format!("write it yourself:\n{}", nested(server))
            }
            Self::Set { name, key, value: None } => {
                format!("take `servers.{name}.{key}` out yourself")
            }
        }
    }

    fn odd(&self, why: String) -> Refused {
        Refused::Odd { why, paste: self.paste() }
    }

    fn check(&self, before: &Value) -> Result<(), Refused> {
        let known = names(before).iter().any(|name| name == self.server());
        match (self, known) {
            (Self::Add { name, .. }, true) => Err(Refused::Exists(name.clone())),
            (Self::Remove { name } | Self::Set { name, .. }, false) => {
                Err(Refused::Unknown(name.clone()))
            }
            _ => Ok(()),
        }
    }

    /// The same change of what the text says.
    fn applied(&self, before: Value) -> Value {
        let mut top = match before {
            Value::Object(top) => top,
            _ => Map::new(),
        };
        let mut servers = top.remove("servers").unwrap_or(Value::Null);
        match (self, &mut servers) {
            (Self::Add { name, server }, Value::Array(items)) if !items.is_empty() => {
                let mut named = Map::from_iter([("name".to_owned(), Value::from(name.as_str()))]);
                named.extend(server.clone());
                items.push(Value::Object(named));
            }
            (Self::Add { name, server }, Value::Object(known)) => {
                known.insert(name.clone(), Value::Object(server.clone()));
            }
            (Self::Add { name, server }, servers) => {
                let server = Value::Object(server.clone());
                *servers = Value::Object(Map::from_iter([(name.clone(), server)]));
            }
            (Self::Remove { name }, Value::Array(items)) => {
                items.retain(|item| item["name"] != name.as_str());
            }
            (Self::Remove { name }, Value::Object(known)) => {
                known.shift_remove(name);
            }
            (Self::Set { name, key, value }, servers) => set(servers, name, (key, value.as_ref())),
            (Self::Remove { .. }, _) => {}
        }
        top.insert("servers".to_owned(), servers);
        Value::Object(top)
    }
}

/// Empty braces and nothing are the same to a reader: of servers, and of one server's keys.
fn settled(mut config: Value) -> Value {
    let is_bare = |value: &Value| {
        value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
    };
    if let Some(servers) = config.get_mut("servers") {
        if let Value::Object(known) = servers {
            known.values_mut().filter(|it| is_bare(it)).for_each(|it| *it = Value::Null);
        }
        if is_bare(servers) {
            *servers = Value::Null;
        }
    }
    config
}

fn set(servers: &mut Value, name: &str, (key, value): (&str, Option<&Value>)) {
    let server = match servers {
        Value::Array(items) => items.iter_mut().find(|item| item["name"] == name),
        Value::Object(known) => known.get_mut(name),
        _ => None,
    };
    let Some(server) = server else { return };
    if server.is_null() {
        *server = Value::Object(Map::new());
    }
    let Some(server) = server.as_object_mut() else { return };
    match value {
        Some(value) => drop(server.insert(key.to_owned(), value.clone())),
        None => drop(server.shift_remove(key)),
    }
}

/// The servers in their order, which decides who keeps a name.
fn names(config: &Value) -> Vec<String> {
    match &config["servers"] {
        Value::Object(known) => known.keys().cloned().collect(),
        Value::Array(items) => {
            items.iter().filter_map(|item| item["name"].as_str()).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}
