//! Reads every string and key of a definition, once hidden text is out of it, for what speaks past
//! people to models: orders, look-alike letters, escape sequences, gaps. Called by intake. Time is
//! linear in the text, and what is found is a hint for people: nothing is taken out here.

use serde_json::Value;

use super::finding::{Finding, FindingKind};
use super::scrub::{self, escape};

mod folded;
mod phrases;
mod rules;
mod words;

use phrases::Position;

/// Characters of a finding's excerpt.
const EXCERPT: usize = 100;
/// A gap of so many blanks, or so many lines, is no layout any more.
const BLANKS: usize = 80;
const LINES: usize = 15;

pub(super) fn scan(definition: &Value) -> Vec<Finding> {
    let mut scanner = Scanner { at: String::new(), findings: Vec::new() };
    scanner.value(definition, Position::Prose);
    scanner.findings
}

struct Scanner {
    at: String,
    findings: Vec<Finding>,
}

impl Scanner {
    fn value(&mut self, value: &Value, position: Position) {
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
                        "default" | "const" | "enum" | "examples" | "example" => Position::Value,
                        "name" if self.at.is_empty() => Position::Name,
                        _ if position == Position::Name => Position::Prose,
                        _ => position,
                    };
                    self.key(key);
                    self.within(key, value, inside);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn within(&mut self, segment: &str, value: &Value, position: Position) {
        let length = self.at.len();
        self.at.push('/');
        self.at.push_str(&escape(segment));
        self.value(value, position);
        self.at.truncate(length);
    }

    /// Arguments are named by keys: a whole sentence fits in there as well.
    fn key(&mut self, key: &str) {
        let length = self.at.len();
        self.at.push('/');
        self.at.push_str(&escape(key));
        self.text(key, Position::Name);
        self.at.truncate(length);
    }

    fn text(&mut self, text: &str, position: Position) {
        // Pictures in icons: no words, and much of it.
        if text.len() < 3 || text.starts_with("data:image/") {
            return;
        }
        if let Some(word) = words::twin(text, position) {
            self.found(FindingKind::LookAlike, &word);
        }
        if let Some(sequence) = escape_sequence(text) {
            self.found(FindingKind::Terminal, sequence);
        }
        if has_gap(text) {
            let at = &self.at;
            push(&mut self.findings, Finding::new(FindingKind::Padding, at));
        }
        for (ploy, excerpt) in phrases::ploys(&folded::fold(text), position) {
            self.found(FindingKind::Instruction(ploy), &excerpt);
        }
    }

    fn found(&mut self, kind: FindingKind, excerpt: &str) {
        let excerpt = crate::text::shortened(excerpt, EXCERPT);
        push(&mut self.findings, Finding::quoting(kind, &self.at, excerpt));
    }
}

fn push(findings: &mut Vec<Finding>, finding: Finding) {
    if findings.len() < scrub::MOST {
        findings.push(finding);
    }
}

/// The introducer of an escape sequence as programmers spell it, with a parameter behind it.
fn escape_sequence(text: &str) -> Option<&str> {
    const SPELLED: &[&str] =
        &["\\x1b[", "\\x1B[", "\\033[", "\\u001b[", "\\u001B[", "\\e[", "\\x9b", "^[[", "␛["];
    SPELLED.iter().find_map(|spelled| {
        let at = text.find(spelled)?;
        let rest = &text[at + spelled.len()..];
        let is_sequence = rest.starts_with(|c: char| c.is_ascii_digit() || "?;HJKm".contains(c));
        is_sequence.then_some(&text[at..text.ceil_char_boundary(at + spelled.len() + 4)])
    })
}

fn has_gap(text: &str) -> bool {
    let (mut blanks, mut lines) = (0, 0);
    for c in text.chars() {
        if !c.is_whitespace() {
            if blanks >= BLANKS || lines >= LINES {
                return true;
            }
            (blanks, lines) = (0, 0);
            continue;
        }
        blanks += 1;
        lines += usize::from(c == '\n');
    }
    false
}

#[cfg(test)]
mod tests;
