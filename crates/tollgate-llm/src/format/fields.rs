//! Reads JSON objects field by field: known fields are taken out, the rest becomes [`Extra`], and
//! errors name their location. Used by the reader of every dialect.

use serde_json::{Map, Number, Value};
use tollgate_core::text::truncate_chars;

use crate::dialect::Dialect;
use crate::error::{LlmError, MAX_QUOTED_CHARS};
use crate::extra::Extra;

/// An object that is being read. Locations look like `messages[2].content`.
#[derive(Debug)]
pub struct FieldReader {
    map: Map<String, Value>,
    at: String,
}

impl FieldReader {
    pub fn new(value: Value, at: impl Into<String>) -> Result<Self, LlmError> {
        let at = at.into();
        match value {
            Value::Object(map) => Ok(Self { map, at }),
            other => Err(wrong(&at, "an object", &other)),
        }
    }

    /// Location of a field of this object.
    pub fn place(&self, key: &str) -> String {
        match self.at.as_str() {
            "" => key.to_owned(),
            at => format!("{at}.{key}"),
        }
    }

    pub fn at(&self) -> &str {
        &self.at
    }

    pub fn has(&self, key: &str) -> bool {
        self.map.get(key).is_some_and(|value| !value.is_null())
    }

    pub fn peek(&self, key: &str) -> Option<&Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// Removes and returns a field; `null` counts as absent.
    pub fn take(&mut self, key: &str) -> Option<Value> {
        self.map.shift_remove(key).filter(|value| !value.is_null())
    }

    pub fn text(&mut self, key: &str) -> Result<Option<String>, LlmError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong(&self.place(key), "a string", &other)),
        }
    }

    pub fn needed_text(&mut self, key: &str) -> Result<String, LlmError> {
        self.text(key)?.ok_or_else(|| self.missing(key))
    }

    pub fn flag(&mut self, key: &str) -> Result<Option<bool>, LlmError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(wrong(&self.place(key), "true or false", &other)),
        }
    }

    pub fn number(&mut self, key: &str) -> Result<Option<Number>, LlmError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(Some(number)),
            Some(other) => Err(wrong(&self.place(key), "a number", &other)),
        }
    }

    /// An integer of at least 1.
    pub fn count(&mut self, key: &str) -> Result<Option<u64>, LlmError> {
        let Some(number) = self.number(key)? else { return Ok(None) };
        match number.as_u64() {
            Some(count) if count > 0 => Ok(Some(count)),
            _ => Err(wrong(&self.place(key), "a whole number above 0", &number.into())),
        }
    }

    pub fn list(&mut self, key: &str) -> Result<Option<Vec<Value>>, LlmError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Array(list)) => Ok(Some(list)),
            Some(other) => Err(wrong(&self.place(key), "a list", &other)),
        }
    }

    pub fn object(&mut self, key: &str) -> Result<Option<Self>, LlmError> {
        let at = self.place(key);
        self.take(key).map(|value| Self::new(value, at)).transpose()
    }

    /// Puts back the unread fields of an inner object, so that they stay with the rest.
    pub fn put_back(&mut self, key: &str, inner: Self) {
        if !inner.map.is_empty() {
            self.map.insert(key.to_owned(), Value::Object(inner.map));
        }
    }

    /// Puts a value back, or adds a note for the writer of the same dialect.
    pub fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.map.insert(key.to_owned(), value.into());
    }

    pub fn missing(&self, key: &str) -> LlmError {
        let place = self.place(key);
        let message = format!("`{place}` is missing");
        LlmError::invalid(place, message)
    }

    /// The unread fields.
    pub fn rest(self, dialect: Dialect) -> Extra {
        Extra::new(dialect, self.map)
    }

    /// The object with the unread fields, as a value.
    pub fn into_value(self) -> Value {
        Value::Object(self.map)
    }
}

/// Error: the value at this location has the wrong type.
pub fn wrong(at: &str, expected: &str, found: &Value) -> LlmError {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    let place = if at.is_empty() { "the body" } else { at };
    LlmError::invalid(at, format!("`{place}` must be {expected}, not {found}"))
}

/// Error: the text at this location is not one of the known values.
pub fn unknown(at: &str, found: &str, known: &[&str]) -> LlmError {
    let found = truncate_chars(found, MAX_QUOTED_CHARS);
    let known = known.join("`, `");
    LlmError::invalid(at, format!("`{at}` is `{found}`; the valid values are `{known}`"))
}
