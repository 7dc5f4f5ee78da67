//! A map of a source file. Keys that are understood are taken out. The rest is reported as not
//! imported.

use serde_json::{Map, Value};

use super::DroppedItem;

pub(super) struct SourceMap {
    /// Its path: `mcpServers.github`.
    pub(super) at: String,
    keys: Map<String, Value>,
    dropped: Vec<DroppedItem>,
}

const NO_PLACE: &str = "has no equivalent";

impl SourceMap {
    /// `None` if it is not a map.
    pub(super) fn of(at: impl Into<String>, value: Value) -> Option<Self> {
        match value {
            Value::Object(keys) => Some(Self { at: at.into(), keys, dropped: Vec::new() }),
            _ => None,
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.keys.get(key).is_some_and(|value| !value.is_null())
    }

    pub(super) fn peek(&self, key: &str) -> &Value {
        self.keys.get(key).unwrap_or(&Value::Null)
    }

    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        self.keys.shift_remove(key).filter(|value| !value.is_null())
    }

    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        let value = self.take(key)?;
        match scalar(&value) {
            Some(text) => Some(text),
            None => self.wrong(key, "a text"),
        }
    }

    /// The first of several spellings that is present.
    pub(super) fn any_text(&mut self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| self.text(key))
    }

    pub(super) fn texts(&mut self, key: &str) -> Option<Vec<String>> {
        match self.take(key)? {
            Value::Array(items) => {
                let texts: Option<Vec<String>> = items.iter().map(scalar).collect();
                if texts.is_none() {
                    return self.wrong(key, "a list of texts");
                }
                texts
            }
            one => match scalar(&one) {
                Some(text) => Some(vec![text]),
                None => self.wrong(key, "a list of texts"),
            },
        }
    }

    /// Names and strings, also from a list of `NAME=VALUE`.
    pub(super) fn table(&mut self, key: &str) -> Vec<(String, String)> {
        let Some(value) = self.take(key) else { return Vec::new() };
        let pairs: Option<Vec<(String, String)>> = match &value {
            Value::Object(pairs) => pairs
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| Some((name.clone(), scalar(value)?)))
                .collect(),
            Value::Array(items) => items.iter().map(|item| pair(item.as_str()?)).collect(),
            _ => None,
        };
        pairs.unwrap_or_else(|| {
            self.wrong::<()>(key, "a map of texts");
            Vec::new()
        })
    }

    pub(super) fn flag(&mut self, key: &str) -> Option<bool> {
        match self.take(key)? {
            Value::Bool(flag) => Some(flag),
            _ => self.wrong(key, "true or false"),
        }
    }

    /// A number of at least one, also as `"30"`.
    pub(super) fn number(&mut self, key: &str) -> Option<f64> {
        let value = self.take(key)?;
        let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
        match number.filter(|number| *number > 0.0 && *number < 1e12) {
            Some(number) => Some(number),
            None => self.wrong(key, "a number above zero"),
        }
    }

    pub(super) fn inner(&mut self, key: &str) -> Option<Self> {
        let at = self.path(key);
        let value = self.take(key)?;
        match Self::of(at, value) {
            Some(inner) => Some(inner),
            None => self.wrong(key, "a map"),
        }
    }

    /// The maps in a map, by name.
    pub(super) fn named_maps(&mut self, key: &str) -> Vec<(String, Self)> {
        let at = self.path(key);
        match self.take(key) {
            None => Vec::new(),
            Some(Value::Object(entries)) => self.each(&at, entries.into_iter().collect()),
            Some(Value::Array(items)) => {
                let entries = items.into_iter().enumerate().map(|(number, item)| {
                    let named = ["name", "id", "client_id"]
                        .into_iter()
                        .find_map(|key| item.get(key).and_then(Value::as_str).map(str::to_owned));
                    (named.unwrap_or_else(|| (number + 1).to_string()), item)
                });
                let entries = entries.collect();
                self.each(&at, entries)
            }
            Some(_) => {
                self.wrong::<()>(key, "a map");
                Vec::new()
            }
        }
    }

    fn each(&mut self, at: &str, entries: Vec<(String, Value)>) -> Vec<(String, Self)> {
        let mut read = Vec::with_capacity(entries.len());
        for (name, value) in entries {
            let at = format!("{at}.{}", super::name::shorten_name(&name));
            match Self::of(at.as_str(), value) {
                Some(inner) => read.push((name, inner)),
                None => {
                    self.dropped.push(DroppedItem { what: at, why: "is not a map".to_owned() });
                }
            }
        }
        read
    }

    pub(super) fn put(&mut self, key: &str, value: Value) {
        self.keys.insert(key.to_owned(), value);
    }

    /// Renames a key.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        if let Some(value) = self.take(from) {
            self.put(to, value);
        }
    }

    /// Adds pairs to a map that may exist. Existing pairs stay.
    pub(super) fn merge(&mut self, key: &str, pairs: impl IntoIterator<Item = (String, Value)>) {
        for (name, value) in pairs {
            let table = self.keys.entry(key).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(table) = table {
                table.entry(name).or_insert(value);
            }
        }
    }

    /// The remaining keys, as JSON.
    pub(super) fn to_json_text(&self) -> String {
        Value::Object(self.keys.clone()).to_string()
    }

    /// Takes all pairs.
    pub(super) fn everything(&mut self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.keys).into_iter().collect()
    }

    /// Drops a key, with a reason for the report.
    pub(super) fn drop(&mut self, key: &str, why: &str) {
        let Some(value) = self.take(key) else { return };
        let is_empty = match &value {
            Value::Array(items) => items.is_empty(),
            Value::Object(pairs) => pairs.is_empty(),
            Value::Bool(flag) => !flag,
            Value::String(text) => text.is_empty(),
            Value::Null | Value::Number(_) => false,
        };
        if !is_empty {
            self.dropped.push(DroppedItem { what: self.path(key), why: why.to_owned() });
        }
    }

    /// Drops keys without a report.
    pub(super) fn forget(&mut self, keys: &[&str]) {
        for key in keys {
            self.keys.shift_remove(*key);
        }
    }

    /// For programs to which an empty list means nothing.
    pub(super) fn forget_empty(&mut self, key: &str) {
        if self.peek(key).as_array().is_some_and(Vec::is_empty) {
            self.forget(&[key]);
        }
    }

    pub(super) fn rest(mut self) -> Vec<DroppedItem> {
        let left: Vec<String> = self.keys.keys().cloned().collect();
        for key in left {
            self.drop(&key, NO_PLACE);
        }
        self.dropped
    }

    pub(super) fn mistakes(self) -> Vec<DroppedItem> {
        self.dropped
    }

    pub(super) fn path(&self, key: &str) -> String {
        match self.at.as_str() {
            "" => key.to_owned(),
            at => format!("{at}.{}", super::name::shorten_name(key)),
        }
    }

    fn wrong<T>(&mut self, key: &str, requested: &str) -> Option<T> {
        self.dropped.push(DroppedItem { what: self.path(key), why: format!("is not {requested}") });
        None
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// `NAME=VALUE`. A name alone is forwarded from the environment.
fn pair(text: &str) -> Option<(String, String)> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name.to_owned(), value.to_owned()),
        None => (text.to_owned(), format!("${{{text}}}")),
    };
    tollgate_config::is_variable(&name).then_some((name, value))
}
