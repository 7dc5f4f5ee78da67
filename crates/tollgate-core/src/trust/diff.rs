//! Diff of two tool definitions for reviewers: hidden characters as escapes, long texts only around
//! the change. Bounded for any input.

use serde_json::Value;

use crate::confusables;
use crate::json::{self, MalformedJsonError};
use crate::text::truncate_chars;
use crate::tool::hidden_text;
use crate::tool::scrub::escape;

/// Maximum changes that are listed.
const MAX_CHANGES: usize = 200;
/// Maximum characters of one side of a change.
const MAX_SIDE_CHARS: usize = 2_000;
/// Context characters before and after a change.
const AROUND: usize = 80;

/// One changed place. `None`: absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// JSON pointer.
    pub at: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// All changes between two definitions, in the order of the first.
pub fn diff(before: &str, after: &str) -> Result<Vec<Change>, MalformedJsonError> {
    let before = json::value(before)?;
    let after = json::value(after)?;
    let mut differ = DefinitionDiffer { at: String::new(), changes: Vec::new() };
    differ.compare(Some(&before), Some(&after));
    Ok(differ.changes)
}

struct DefinitionDiffer {
    at: String,
    changes: Vec<Change>,
}

impl DefinitionDiffer {
    fn compare(&mut self, before: Option<&Value>, after: Option<&Value>) {
        if before == after || self.changes.len() >= MAX_CHANGES {
            return;
        }
        match (before, after) {
            (Some(Value::Object(before)), Some(Value::Object(after))) => {
                for (key, value) in before {
                    self.within(key, Some(value), after.get(key));
                }
                for (key, value) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
                    self.within(key, None, Some(value));
                }
            }
            (Some(Value::Array(before)), Some(Value::Array(after))) => {
                for at in 0..before.len().max(after.len()) {
                    self.within(&at.to_string(), before.get(at), after.get(at));
                }
            }
            (Some(Value::String(before)), Some(Value::String(after))) => {
                let (before, after) = around(before, after);
                self.push_change(Some(before), Some(after));
            }
            (before, after) => self.push_change(before.map(value_text), after.map(value_text)),
        }
    }

    fn within(&mut self, key: &str, before: Option<&Value>, after: Option<&Value>) {
        let length = self.at.len();
        self.at.push('/');
        self.at.push_str(&escape(key));
        self.compare(before, after);
        self.at.truncate(length);
    }

    fn push_change(&mut self, before: Option<String>, after: Option<String>) {
        let looks_the_same = match (&before, &after) {
            (Some(before), Some(after)) => looks(before) == looks(after),
            _ => false,
        };
        let show = |text: String| {
            if looks_the_same { hidden_text::ascii(&text) } else { hidden_text::visible(&text) }
        };
        let side =
            |text: Option<String>| text.map(|text| truncate_chars(&show(text), MAX_SIDE_CHARS));
        let at = hidden_text::visible(&self.at);
        self.changes.push(Change { at, before: side(before), after: side(after) });
    }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The text as a reader sees it.
fn looks(text: &str) -> String {
    let (clean, _) = hidden_text::clean(text);
    clean.chars().map(|c| confusables::latin(c).unwrap_or(c)).collect()
}

/// Both texts without most of their common prefix and suffix.
fn around(before: &str, after: &str) -> (String, String) {
    let b: Vec<char> = before.chars().collect();
    let a: Vec<char> = after.chars().collect();
    let head = b.iter().zip(&a).take_while(|(b, a)| b == a).count();
    let most = b.len().min(a.len()) - head;
    let tail = b.iter().rev().zip(a.iter().rev()).take(most).take_while(|(b, a)| b == a).count();
    let cut = |text: &[char]| {
        let from = head.saturating_sub(AROUND);
        let to = (text.len() - tail + AROUND).min(text.len());
        let inside: String = text[from..to].iter().collect();
        let mark = |is_cut: bool| if is_cut { "…" } else { "" };
        format!("{}{inside}{}", mark(from > 0), mark(to < text.len()))
    };
    (cut(&b), cut(&a))
}

#[cfg(test)]
mod tests;
