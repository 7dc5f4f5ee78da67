//! JSON values as Python literals: `None`, `True`, `"text"`, `{"a": 1}`.

use std::fmt::Write as _;

use serde_json::Value;

use crate::tool::hidden_text::is_unseen;

/// Maximum bytes; the rest is omitted, since so much is never shown.
const MAX_LITERAL_LEN: usize = 4_096;

/// Always on one line.
pub(super) fn literal(value: &Value) -> String {
    let mut out = String::new();
    push(&mut out, value);
    out
}

/// A quoted string in which every character is visible.
pub(super) fn quote(text: &str) -> String {
    let mut out = String::new();
    push_text(&mut out, text);
    out
}

fn push(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Number(number) => {
            write!(out, "{number}").expect("a string takes all");
        }
        Value::String(text) => push_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if out.len() > MAX_LITERAL_LEN {
                    break;
                }
                out.push_str(if at > 0 { ", " } else { "" });
                push(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (at, (key, value)) in fields.iter().enumerate() {
                if out.len() > MAX_LITERAL_LEN {
                    break;
                }
                out.push_str(if at > 0 { ", " } else { "" });
                push_text(out, key);
                out.push_str(": ");
                push(out, value);
            }
            out.push('}');
        }
    }
}

fn push_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars().take(MAX_LITERAL_LEN) {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_unseen(c) && u32::from(c) > 0xffff => {
                write!(out, "\\U{:08x}", u32::from(c)).expect("a string takes all");
            }
            c if is_unseen(c) => {
                write!(out, "\\u{:04x}", u32::from(c)).expect("a string takes all");
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
