//! Prompt injection scan of tool definitions: checks every string and key, after removal of hidden
//! text, for instructions to models, homoglyphs, escape sequences and gaps.
//!
//! Used by intake. Linear in the text. Findings are hints for reviewers: nothing is removed here.

use serde_json::Value;

use super::finding::{Finding, FindingKind};
use super::scrub::{self, escape};

mod homoglyphs;
mod phrase_fold;
mod phrases;
mod rules;

use phrases::TextPosition;

/// Maximum characters of an excerpt.
const EXCERPT: usize = 100;
/// A gap of this many blanks, or lines, is not layout.
const BLANKS: usize = 80;
const LINES: usize = 15;

pub(super) fn scan(definition: &Value) -> Vec<Finding> {
    let mut scanner = InjectionScanner { at: String::new(), findings: Vec::new() };
    scanner.value(definition, TextPosition::Prose);
    scanner.findings
}

struct InjectionScanner {
    at: String,
    findings: Vec<Finding>,
}

impl InjectionScanner {
    fn value(&mut self, value: &Value, position: TextPosition) {
        match value {
            Value::String(text) => self.text(text, position),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.within(&index.to_string(), item, position);
                }
            }
            Value::Object(fields) => {
                for (key, value) in fields {
                    let inside = match key.as_str() {
                        "default" | "const" | "enum" | "examples" | "example" => {
                            TextPosition::Value
                        }
                        "name" if self.at.is_empty() => TextPosition::Name,
                        _ if position == TextPosition::Name => TextPosition::Prose,
                        _ => position,
                    };
                    self.key(key);
                    self.within(key, value, inside);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn within(&mut self, segment: &str, value: &Value, position: TextPosition) {
        let length = self.at.len();
        self.at.push('/');
        self.at.push_str(&escape(segment));
        self.value(value, position);
        self.at.truncate(length);
    }

    /// Keys name arguments: a whole sentence fits in there as well.
    fn key(&mut self, key: &str) {
        let length = self.at.len();
        self.at.push('/');
        self.at.push_str(&escape(key));
        self.text(key, TextPosition::Name);
        self.at.truncate(length);
    }

    fn text(&mut self, text: &str, position: TextPosition) {
        // Images in icons: large, and not text.
        if text.len() < 3 || text.starts_with("data:image/") {
            return;
        }
        if let Some(word) = homoglyphs::twin(text, position) {
            self.add_finding(FindingKind::LookAlike, &word);
        }
        if let Some(sequence) = escape_sequence(text) {
            self.add_finding(FindingKind::Terminal, sequence);
        }
        if has_gap(text) {
            let at = &self.at;
            push(&mut self.findings, Finding::new(FindingKind::Padding, at));
        }
        for (pattern, excerpt) in phrases::injection_patterns(&phrase_fold::fold(text), position) {
            self.add_finding(FindingKind::Instruction(pattern), &excerpt);
        }
    }

    fn add_finding(&mut self, kind: FindingKind, excerpt: &str) {
        let excerpt = crate::text::truncate_chars(excerpt, EXCERPT);
        push(&mut self.findings, Finding::quoting(kind, &self.at, excerpt));
    }
}

fn push(findings: &mut Vec<Finding>, finding: Finding) {
    if findings.len() < scrub::MAX_FINDINGS {
        findings.push(finding);
    }
}

/// The introducer of an escape sequence as spelled in source code, followed by a parameter.
fn escape_sequence(text: &str) -> Option<&str> {
    const SPELLED_INTRODUCERS: &[&str] =
        &["\\x1b[", "\\x1B[", "\\033[", "\\u001b[", "\\u001B[", "\\e[", "\\x9b", "^[[", "␛["];
    SPELLED_INTRODUCERS.iter().find_map(|spelled| {
        let at = text.find(spelled)?;
        let rest = &text[at + spelled.len()..];
        let is_sequence = rest.starts_with(|c: char| c.is_ascii_digit() || "?;HJKm".contains(c));
        is_sequence.then_some(&text[at..text.ceil_char_boundary(at + spelled.len() + 4)])
    })
}

fn has_gap(text: &str) -> bool {
    let mut blanks = 0;
    let mut lines = 0;
    for c in text.chars() {
        if !c.is_whitespace() {
            if blanks >= BLANKS || lines >= LINES {
                return true;
            }
            blanks = 0;
            lines = 0;
            continue;
        }
        blanks += 1;
        lines += usize::from(c == '\n');
    }
    false
}

#[cfg(test)]
mod tests;
