//! Chooses the names of variables for secrets. A name has one value, so a name that the config uses
//! already is not given to another secret.

use std::collections::BTreeSet;

use serde_json::Value;
use tollgate_config::{Environment, references};
use tollgate_core::secret::Secret;

use super::{ImportedConfig, ImportedEntry, variable};

pub struct VariableNames<'a> {
    /// Variables that the config refers to.
    named: BTreeSet<String>,
    environment: &'a dyn Environment,
}

/// Whether an existing entry allows to reuse the variable names that it has in the same places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingEntry<'a> {
    Nothing,
    Keeps(&'a Value),
    /// Only if the variable is not set.
    KeepsIfUnset(&'a Value),
}

impl<'a> VariableNames<'a> {
    pub fn of(config: &Value, environment: &'a dyn Environment) -> Self {
        let mut named = BTreeSet::new();
        collect(config, &mut named);
        Self { named, environment }
    }

    /// `found` with variable names of its own. New names are added to `given`.
    pub fn fit_entry(
        &self,
        found: &ImportedEntry,
        there: ExistingEntry<'_>,
        given: &mut Vec<(String, Secret)>,
    ) -> ImportedEntry {
        let mut fitted = found.clone();
        let keys = Value::Object(found.keys.clone());
        let prefix = format!("{}_", variable(&found.name));
        for (name, value) in given.clone() {
            let reference = format!("${{{name}}}");
            // A variable that the user named means the existing one.
            if !name.starts_with(&prefix)
                || !holds(&keys, &reference)
                || self.is_free(&name, &value)
            {
                continue;
            }
            let there = match there {
                ExistingEntry::Keeps(there) => Some(there),
                ExistingEntry::KeepsIfUnset(there) => {
                    Some(there).filter(|_| self.environment.variable(&name).is_none())
                }
                ExistingEntry::Nothing => None,
            };
            if there.is_some_and(|there| stands(&keys, there, &reference)) {
                continue;
            }
            let fresh = self.fresh(&name, &value, given);
            let written = format!("${{{fresh}}}");
            fitted.keys.values_mut().for_each(|it| replace(it, &reference, &written));
            for note in &mut fitted.notes {
                *note = note.replace(&format!("`{name}`"), &format!("`{fresh}`"));
            }
            if !given.iter().any(|(known, _)| *known == fresh) {
                given.push((fresh, value));
            }
        }
        fitted
    }

    /// All entries with variable names of their own, regardless of entries of the same name in the
    /// config.
    pub fn fit(&self, imported: &mut ImportedConfig) {
        let mut given = std::mem::take(&mut imported.given);
        let others = imported.others.iter_mut().map(|other| &mut other.found);
        let mut all: Vec<&mut ImportedEntry> = imported.servers.iter_mut().chain(others).collect();
        for found in &mut all {
            **found = self.fit_entry(found, ExistingEntry::Nothing, &mut given);
        }
        given.retain(|(name, _)| all.iter().any(|found| refers(found, name)));
        imported.given = given;
    }

    fn is_free(&self, name: &str, value: &Secret) -> bool {
        let is_set = || self.environment.variable(name).as_deref() == Some(value.reveal());
        !self.named.contains(name) || is_set()
    }

    fn fresh(&self, name: &str, value: &Secret, given: &[(String, Secret)]) -> String {
        let is_other = |(known, its): &(String, Secret), name: &str| {
            known == name && its.reveal() != value.reveal()
        };
        let mut names = (2..).map(|number| format!("{name}_{number}"));
        let free = names.find(|name| {
            self.is_free(name, value) && !given.iter().any(|known| is_other(known, name))
        });
        free.unwrap_or_default()
    }
}

/// Whether one of its keys refers to a variable.
pub fn refers(found: &ImportedEntry, variable: &str) -> bool {
    let reference = format!("${{{variable}}}");
    found.keys.values().any(|value| holds(value, &reference))
}

/// Whether a nested string contains this reference.
fn holds(value: &Value, reference: &str) -> bool {
    match value {
        Value::String(text) => text.contains(reference),
        Value::Array(items) => items.iter().any(|it| holds(it, reference)),
        Value::Object(pairs) => pairs.values().any(|it| holds(it, reference)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether `there` has the reference wherever `keys` have it. In lists the position does not
/// matter.
fn stands(keys: &Value, there: &Value, reference: &str) -> bool {
    match keys {
        Value::Object(pairs) => pairs.iter().all(|(key, value)| {
            !holds(value, reference)
                || there.get(key).is_some_and(|it| stands(value, it, reference))
        }),
        _ => holds(there, reference),
    }
}

fn replace(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) => *text = text.replace(from, to),
        Value::Array(items) => items.iter_mut().for_each(|it| replace(it, from, to)),
        Value::Object(pairs) => pairs.values_mut().for_each(|it| replace(it, from, to)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn collect(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => names.extend(references(text).map(|(name, _)| name.to_owned())),
        Value::Array(items) => items.iter().for_each(|it| collect(it, names)),
        Value::Object(pairs) => pairs.values().for_each(|it| collect(it, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
