//! Extra fields that only one dialect understands: carried along, written back to the same dialect,
//! and omitted everywhere else.

use serde_json::{Map, Value};

use crate::dialect::Dialect;

/// Unread fields of one JSON object, tagged with their dialect.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extra(Option<Box<(Dialect, Map<String, Value>)>>);

impl Extra {
    pub fn none() -> Self {
        Self(None)
    }

    pub fn new(dialect: Dialect, fields: Map<String, Value>) -> Self {
        Self((!fields.is_empty()).then(|| Box::new((dialect, fields))))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The fields, if they belong to this dialect.
    pub fn fields(&self, dialect: Dialect) -> Option<&Map<String, Value>> {
        let (own, fields) = self.0.as_deref()?;
        (*own == dialect).then_some(fields)
    }

    /// One field, if it belongs to this dialect.
    pub fn get(&self, dialect: Dialect, key: &str) -> Option<&Value> {
        self.fields(dialect)?.get(key)
    }

    /// Removes and returns one field, if it belongs to this dialect.
    pub fn take(&mut self, dialect: Dialect, key: &str) -> Option<Value> {
        let (own, fields) = self.0.as_deref_mut()?;
        if *own != dialect {
            return None;
        }
        let taken = fields.shift_remove(key);
        if fields.is_empty() {
            self.0 = None;
        }
        taken
    }

    /// The fields, if they do not belong to `dialect`.
    pub fn foreign_to(&self, dialect: Dialect) -> impl Iterator<Item = (&str, &Value)> {
        let foreign = self.0.as_deref().filter(|(own, _)| *own != dialect);
        let fields = foreign.into_iter().flat_map(|(_, fields)| fields);
        fields.map(|(key, value)| (key.as_str(), value))
    }

    /// Adds the fields to `object` if they belong to `dialect`, recursively into objects and lists
    /// that exist on both sides. Existing values stay: the gateway set them deliberately.
    pub fn write_into(&self, dialect: Dialect, object: &mut Map<String, Value>) {
        if let Some(fields) = self.fields(dialect) {
            fill(object, fields);
        }
    }

    /// Merges later fields. Fields of another dialect replace the current ones.
    pub fn merge(&mut self, later: Self) {
        match (&mut self.0, later.0) {
            (_, None) => {}
            (Some(own), Some(later)) if own.0 == later.0 => own.1.extend(later.1),
            (own, later) => *own = later,
        }
    }
}

fn fill(object: &mut Map<String, Value>, fields: &Map<String, Value>) {
    for (key, value) in fields {
        match object.get_mut(key) {
            Some(there) => fill_value(there, value),
            None => {
                object.insert(key.clone(), value.clone());
            }
        }
    }
}

fn fill_value(there: &mut Value, value: &Value) {
    match (there, value) {
        (Value::Object(there), Value::Object(value)) => fill(there, value),
        (Value::Array(there), Value::Array(value)) => {
            for (there, value) in there.iter_mut().zip(value) {
                fill_value(there, value);
            }
            let known = there.len();
            there.extend(value.iter().skip(known).cloned());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
