//! Edits the text of a config and leaves everything else as typed.
//!
//! Comments, order and indentation stay. Each edit is a splice at a position. The result is parsed
//! again: it must contain exactly the old values with the edit applied. Used by the commands and
//! the reloader. Authorization is done there.

use std::path::Path;

use serde_json::{Map, Value};
use similar::TextDiff;

use super::diagnostic::{ConfigReport, Problems};
use super::{json, yaml_tree};

mod entry;
pub(super) mod layout;
#[cfg(test)]
mod tests;
pub(super) mod yaml;
mod yaml_edits;

pub use entry::{entry, entry_source};
use yaml::YamlStyle;
use yaml_edits::YamlEditor;

/// One edit of a config.
#[derive(Debug, Clone, PartialEq)]
pub enum ConfigEdit {
    /// Adds a server below the others, with its config keys.
    Add {
        name: String,
        server: Map<String, Value>,
    },
    /// Adds an entry to another section of named entries, such as `agents`.
    Insert {
        section: &'static str,
        name: String,
        keys: Map<String, Value>,
    },
    /// Removes an entry from such a section.
    Take {
        section: &'static str,
        name: String,
    },
    Remove {
        name: String,
    },
    /// Sets a key of an entry. `None` removes it.
    Set {
        section: &'static str,
        name: String,
        key: String,
        value: Option<Value>,
    },
}

/// Why a text was not edited.
#[derive(Debug, thiserror::Error)]
pub enum ConfigEditError {
    #[error("a server `{0}` already exists")]
    Exists(String),
    #[error("`{section}` already has `{name}`")]
    Taken { section: &'static str, name: String },
    #[error("there is no server `{0}` in the config")]
    Unknown(String),
    #[error("`{section}` has no `{name}`")]
    Missing { section: &'static str, name: String },
    #[error("the config cannot be read: {0}")]
    Unreadable(Box<ConfigReport>),
    /// The edit must be made by hand. `paste` is the text to insert, or the lines to remove.
    #[error("the layout of the file cannot be edited automatically ({why}); {paste}")]
    Odd { why: String, paste: String },
}

/// The text after the edit.
pub fn apply(file: &Path, text: &str, edit: &ConfigEdit) -> Result<String, ConfigEditError> {
    let before = value(file, text)?;
    edit.check(&before)?;
    let root = layout::parse(text);
    let surgeon = YamlEditor::new(text, root.as_ref(), edit.section());
    let splice = match edit {
        ConfigEdit::Add { name, server } => surgeon.add(name, server),
        ConfigEdit::Insert { name, keys, .. } => surgeon.add(name, keys),
        ConfigEdit::Remove { name } | ConfigEdit::Take { name, .. } => surgeon.remove(name),
        ConfigEdit::Set { name, key, value, .. } => surgeon.set(name, key, value.as_ref()),
    };
    let (range, new) = splice.map_err(|odd| edit.odd(odd.0))?;
    let mut edited = text.to_owned();
    edited.replace_range(range, &new);
    let Ok(after) = value(file, &edited) else {
        return Err(edit.odd("it could not be read afterwards".to_owned()));
    };
    let section = edit.section();
    let after = normalize_empty(after, section);
    let requested = normalize_empty(edit.apply_to_value(before), section);
    if after == requested && names(&after, section) == names(&requested, section) {
        return Ok(edited);
    }
    Err(edit.odd("more than this would change".to_owned()))
}

/// Unified diff, empty without changes.
pub fn diff(file: &Path, old: &str, new: &str) -> String {
    let name = file.display().to_string();
    TextDiff::from_lines(old, new).unified_diff().context_radius(3).header(&name, &name).to_string()
}

/// Whether a configured server is enabled. `None` if there is none of this name.
pub fn is_enabled(config: &Value, name: &str) -> Option<bool> {
    named_entry(config, "servers", name).map(|server| server["enabled"] != Value::Bool(false))
}

/// The values of a named entry.
pub fn named_entry<'c>(config: &'c Value, section: &str, name: &str) -> Option<&'c Value> {
    match &config[section] {
        Value::Object(known) => known.get(name),
        Value::Array(items) => items.iter().find(|item| item["name"] == name),
        _ => None,
    }
}

/// A config with only this server.
pub fn document(name: &str, server: Map<String, Value>) -> String {
    lines("servers", name, server)
}

fn lines(section: &str, name: &str, keys: Map<String, Value>) -> String {
    let named = Map::from_iter([(name.to_owned(), Value::Object(keys))]);
    let top = Map::from_iter([(section.to_owned(), Value::Object(named))]);
    yaml::block(&top, 0, YamlStyle { step: 2, line: "\n" })
}

/// The parsed values of the text.
fn value(file: &Path, text: &str) -> Result<Value, ConfigEditError> {
    let mut problems = Problems::default();
    let tree = yaml_tree::parse(text, &mut problems);
    if problems.has_errors() {
        let report = problems.into_report(&file.display().to_string(), text);
        return Err(ConfigEditError::Unreadable(Box::new(report)));
    }
    Ok(tree.map_or(Value::Null, |tree| json::from_node(&tree)))
}

impl ConfigEdit {
    /// Name of the entry.
    pub fn name(&self) -> &str {
        match self {
            Self::Add { name, .. }
            | Self::Insert { name, .. }
            | Self::Take { name, .. }
            | Self::Remove { name }
            | Self::Set { name, .. } => name,
        }
    }

    fn section(&self) -> &'static str {
        match self {
            Self::Insert { section, .. }
            | Self::Take { section, .. }
            | Self::Set { section, .. } => section,
            Self::Add { .. } | Self::Remove { .. } => "servers",
        }
    }

    /// What to insert or remove by hand.
    pub fn paste(&self) -> String {
        match self {
            Self::Remove { name } | Self::Take { name, .. } => {
                format!("remove `{}.{name}` by hand", self.section())
            }
            Self::Set { section, name, key, value: None } => {
                format!("remove `{section}.{name}.{key}` by hand")
            }
            Self::Add { .. } | Self::Insert { .. } | Self::Set { value: Some(_), .. } => {
                format!("add it by hand:\n{}", self.yaml().unwrap_or_default())
            }
        }
    }

    /// The lines to insert by hand, from the top level. `None` if lines are to be removed.
    pub fn yaml(&self) -> Option<String> {
        match self {
            Self::Add { name, server } => Some(document(name, server.clone())),
            Self::Insert { section, name, keys } => Some(lines(section, name, keys.clone())),
            Self::Set { section, name, key, value: Some(value) } => {
                Some(lines(section, name, Map::from_iter([(key.clone(), value.clone())])))
            }
            Self::Remove { .. } | Self::Take { .. } | Self::Set { value: None, .. } => None,
        }
    }

    fn odd(&self, why: String) -> ConfigEditError {
        ConfigEditError::Odd { why, paste: self.paste() }
    }

    fn check(&self, before: &Value) -> Result<(), ConfigEditError> {
        let known = names(before, self.section()).iter().any(|name| name == self.name());
        match (self, known) {
            (Self::Add { name, .. }, true) => Err(ConfigEditError::Exists(name.clone())),
            (Self::Insert { section, name, .. }, true) => {
                Err(ConfigEditError::Taken { section, name: name.clone() })
            }
            (Self::Set { section, name, .. }, false) if *section != "servers" => {
                Err(ConfigEditError::Missing { section, name: name.clone() })
            }
            (Self::Remove { name } | Self::Take { name, .. } | Self::Set { name, .. }, false) => {
                Err(ConfigEditError::Unknown(name.clone()))
            }
            _ => Ok(()),
        }
    }

    /// Applies the edit to the parsed values.
    fn apply_to_value(&self, before: Value) -> Value {
        let mut top = match before {
            Value::Object(top) => top,
            _ => Map::new(),
        };
        let mut servers = top.remove(self.section()).unwrap_or(Value::Null);
        let added = match self {
            Self::Add { name, server } => Some((name, server)),
            Self::Insert { name, keys, .. } => Some((name, keys)),
            Self::Remove { .. } | Self::Take { .. } | Self::Set { .. } => None,
        };
        if let Some((name, keys)) = added {
            put(&mut servers, name, keys);
        }
        match (self, &mut servers) {
            (Self::Remove { name } | Self::Take { name, .. }, Value::Array(items)) => {
                items.retain(|item| item["name"] != name.as_str());
            }
            (Self::Remove { name } | Self::Take { name, .. }, Value::Object(known)) => {
                known.shift_remove(name);
            }
            (Self::Set { name, key, value, .. }, servers) => {
                set(servers, name, key, value.as_ref())
            }
            _ => {}
        }
        top.insert(self.section().to_owned(), servers);
        Value::Object(top)
    }
}

/// Adds an entry in the form of the existing ones.
fn put(known: &mut Value, name: &str, keys: &Map<String, Value>) {
    match known {
        Value::Array(items) if !items.is_empty() => {
            let mut named = Map::from_iter([("name".to_owned(), Value::from(name))]);
            named.extend(keys.clone());
            items.push(Value::Object(named));
        }
        Value::Object(known) => {
            known.insert(name.to_owned(), Value::Object(keys.clone()));
        }
        known => {
            let keys = Value::Object(keys.clone());
            *known = Value::Object(Map::from_iter([(name.to_owned(), keys)]));
        }
    }
}

/// An empty map and nothing are equivalent, for the servers and for the keys of one server.
fn normalize_empty(mut config: Value, section: &str) -> Value {
    let is_bare = |value: &Value| {
        value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
    };
    if let Some(servers) = config.get_mut(section) {
        if let Value::Object(known) = servers {
            known.values_mut().filter(|it| is_bare(it)).for_each(|it| *it = Value::Null);
        }
        if is_bare(servers) {
            *servers = Value::Null;
        }
    }
    config
}

fn set(servers: &mut Value, name: &str, key: &str, value: Option<&Value>) {
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

/// Names in a section, in order. The order of servers decides name collisions.
pub fn names(config: &Value, section: &str) -> Vec<String> {
    match &config[section] {
        Value::Object(known) => known.keys().cloned().collect(),
        Value::Array(items) => {
            items.iter().filter_map(|item| item["name"].as_str()).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}
