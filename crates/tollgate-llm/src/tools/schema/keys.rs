//! Renames arguments whose names a format does not accept, everywhere in the schema, and restores
//! the original names in what a model sends.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{SchemaFitLog, shape};
use crate::format::names::NameRule;
use crate::tools::conversion_loss::{ConversionLoss, ConversionLossKind, step};

/// Renamed keys of all objects in a tool's arguments. New names contain a hash of the old ones, so
/// that they never match a key of another object by accident.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ArgumentRenames {
    /// The tool's own names, by the new ones.
    own: BTreeMap<String, String>,
    /// Keys for which null means "omitted" (`unsent`), and those for which null is a value
    /// (`kept`).
    unsent: BTreeSet<String>,
    nullable: BTreeSet<String>,
}

impl ArgumentRenames {
    /// Maps arguments sent by a model back to the tool's own names.
    pub(in crate::tools) fn arguments(&self, sent: Map<String, Value>) -> Map<String, Value> {
        let sent = if self.unsent.is_empty() { sent } else { self.without_unsent(sent) };
        if self.own.is_empty() { sent } else { rename_fields(sent, &self.own) }
    }

    /// From now on null means "omitted" for this key.
    pub(super) fn leave_out(&mut self, key: &str) {
        self.unsent.insert(key.to_owned());
    }

    /// Keys for which null is a value in one place and "omitted" in another.
    pub(super) fn ambiguous_null_keys(&self) -> Vec<String> {
        self.unsent.intersection(&self.nullable).cloned().collect()
    }

    /// Null is a value for this key somewhere, so it is kept everywhere.
    pub(super) fn keep(&mut self, key: &str) {
        self.nullable.insert(key.to_owned());
    }

    fn without_unsent(&self, fields: Map<String, Value>) -> Map<String, Value> {
        let is_unsent = |key: &String| self.unsent.contains(key) && !self.nullable.contains(key);
        let kept = fields.into_iter().filter(|(key, value)| !value.is_null() || !is_unsent(key));
        kept.map(|(key, value)| (key, self.inside(value))).collect()
    }

    fn inside(&self, value: Value) -> Value {
        match value {
            Value::Object(fields) => Value::Object(self.without_unsent(fields)),
            Value::Array(items) => items.into_iter().map(|item| self.inside(item)).collect(),
            scalar => scalar,
        }
    }
}

fn rename_fields(
    fields: Map<String, Value>,
    names: &BTreeMap<String, String>,
) -> Map<String, Value> {
    let each = fields.into_iter().map(|(key, value)| {
        let key = names.get(&key).cloned().unwrap_or(key);
        (key, rename_keys(value, names))
    });
    each.collect()
}

fn rename_keys(value: Value, names: &BTreeMap<String, String>) -> Value {
    match value {
        Value::Object(fields) => Value::Object(rename_fields(fields, names)),
        Value::Array(items) => items.into_iter().map(|item| rename_keys(item, names)).collect(),
        scalar => scalar,
    }
}

pub(super) fn rename(fields: &mut Map<String, Value>, rule: NameRule, log: &mut SchemaFitLog) {
    let mut new = BTreeMap::new();
    let at = log.at.clone();
    collect(fields, &at, rule, &mut new, &mut log.lost);
    if new.is_empty() {
        return;
    }
    apply(fields, &new);
    log.renames.own = new.into_iter().map(|(own, new)| (new, own)).collect();
}

fn collect(
    fields: &mut Map<String, Value>,
    at: &str,
    rule: NameRule,
    new: &mut BTreeMap<String, String>,
    lost: &mut Vec<ConversionLoss>,
) {
    let named = fields.get("properties").and_then(Value::as_object);
    for name in named.into_iter().flat_map(Map::keys).filter(|name| !rule.takes(name)) {
        let fitted = rule.fit(name).into_owned();
        let at = step(&step(at, "properties"), name);
        lost.push(ConversionLoss::new(
            ConversionLossKind::Renamed,
            at,
            format!("is renamed to `{fitted}`"),
        ));
        new.insert(name.clone(), fitted);
    }
    shape::each(fields, at, |schema, at| {
        if let Value::Object(fields) = schema {
            collect(fields, at, rule, new, lost);
        }
    });
}

fn apply(fields: &mut Map<String, Value>, new: &BTreeMap<String, String>) {
    let name = |key: &str| new.get(key).cloned().unwrap_or_else(|| key.to_owned());
    let keys = |named: Value| match named {
        Value::Object(named) => {
            Value::Object(named.into_iter().map(|(key, value)| (name(&key), value)).collect())
        }
        other => other,
    };
    let list = |names: Value| match names {
        Value::Array(names) => {
            let each = names.into_iter().map(|it| match it {
                Value::String(key) => name(&key).into(),
                other => other,
            });
            each.collect()
        }
        other => other,
    };
    for (keyword, value) in fields.iter_mut() {
        *value = match (keyword.as_str(), value.take()) {
            ("properties" | "dependentSchemas", named) => keys(named),
            ("required" | "propertyOrdering", names) => list(names),
            ("dependentRequired", named) => match keys(named) {
                Value::Object(named) => {
                    Value::Object(named.into_iter().map(|(key, it)| (key, list(it))).collect())
                }
                other => other,
            },
            ("default" | "examples" | "enum" | "const", instance) => rename_keys(instance, new),
            (_, other) => other,
        };
    }
    shape::each(fields, "", |schema, _| {
        if let Value::Object(fields) = schema {
            apply(fields, new);
        }
    });
}
