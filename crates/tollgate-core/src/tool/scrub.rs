//! Removes hidden text from every string and key of a JSON document.

use serde_json::{Map, Value};

use super::definition_error::DefinitionError;
use super::finding::Finding;
use super::hidden_text;
use crate::json::{MalformedJsonError, Object};

/// Maximum findings; more would only fill the log.
pub(super) const MAX_FINDINGS: usize = 32;

/// Cleans `value`, which was parsed from `text`. Keys that become equal are rejected.
pub(crate) fn scrub(value: &mut Value, text: &str) -> Result<Vec<Finding>, DefinitionError> {
    let mut scrubber = Scrubber { at: String::new(), findings: Vec::new() };
    if !is_plain(text) {
        scrubber.value(value)?;
    }
    Ok(scrubber.findings)
}

/// The fields of `whole` with their original text, if that can be forwarded: nothing was removed,
/// and no line break would end a message of a line-based transport early.
pub(crate) fn fields(
    whole: &Value,
    text: &str,
    findings: &[Finding],
) -> Result<Object<'static>, MalformedJsonError> {
    if findings.is_empty() && !text.contains(['\n', '\r']) {
        Ok(Object::parse(text)?.into_owned())
    } else {
        Ok(Object::parse(&whole.to_string())?.into_owned())
    }
}

/// `key` as one segment of a JSON pointer.
pub(crate) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Printable ASCII without escapes of other characters.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if matches!(bytes.get(at + 1), Some(b'u' | b'b' | b'f')) => return false,
            b'\\' => at += 2,
            b' '..=b'~' | b'\n' | b'\t' | b'\r' => at += 1,
            _ => return false,
        }
    }
    true
}

struct Scrubber {
    at: String,
    findings: Vec<Finding>,
}

impl Scrubber {
    fn value(&mut self, value: &mut Value) -> Result<(), DefinitionError> {
        match value {
            Value::String(text) => {
                if let Some(clean) = self.text(text) {
                    *text = clean;
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.within(&index.to_string(), item)?;
                }
            }
            Value::Object(fields) => self.object(fields)?,
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        Ok(())
    }

    fn object(&mut self, fields: &mut Map<String, Value>) -> Result<(), DefinitionError> {
        if fields.keys().all(|key| hidden_text::clean(key).1.is_empty()) {
            for (key, value) in fields.iter_mut() {
                self.within(key, value)?;
            }
            return Ok(());
        }
        for (key, mut value) in std::mem::take(fields) {
            let length = self.at.len();
            self.enter(&hidden_text::clean(&key).0);
            let clean = self.text(&key).unwrap_or(key);
            self.value(&mut value)?;
            self.at.truncate(length);
            if fields.contains_key(&clean) {
                return Err(DefinitionError::HiddenTwin(clean));
            }
            fields.insert(clean, value);
        }
        Ok(())
    }

    fn within(&mut self, segment: &str, value: &mut Value) -> Result<(), DefinitionError> {
        let length = self.at.len();
        self.enter(segment);
        self.value(value)?;
        self.at.truncate(length);
        Ok(())
    }

    fn enter(&mut self, segment: &str) {
        self.at.push('/');
        self.at.push_str(&escape(segment));
    }

    /// The text without hidden characters; `None` if there are none.
    fn text(&mut self, text: &str) -> Option<String> {
        let (clean, kinds) = hidden_text::clean(text);
        if kinds.is_empty() {
            return None;
        }
        let room = MAX_FINDINGS.saturating_sub(self.findings.len());
        let at = &self.at;
        let found = kinds.into_iter().map(|kind| Finding::new(kind, at));
        self.findings.extend(found.take(room));
        Some(clean.into_owned())
    }
}
