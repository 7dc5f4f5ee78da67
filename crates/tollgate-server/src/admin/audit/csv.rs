//! Audit rows as CSV (RFC 4180), for spreadsheets. Tool names and texts of callers are escaped so
//! that a spreadsheet does not run them as formulas.

use std::borrow::Cow;

use serde_json::Value;

const COLUMNS: &[&str] = &[
    "sequence",
    "at",
    "kind",
    "principal",
    "agent",
    "method",
    "name",
    "server",
    "tool",
    "outcome",
    "detail",
    "duration_ms",
    "bytes",
    "cached",
    "tier",
    "catalog_version",
    "arguments_hash",
    "arguments",
    "call",
    "within",
    "hash",
];

/// The names of the columns.
pub fn head() -> String {
    format!("{}\r\n", COLUMNS.join(","))
}

/// One row, as `GET /api/audit` gives it.
pub fn line(row: &Value) -> String {
    line_of(COLUMNS, row)
}

/// One row with these columns.
pub(in crate::admin) fn line_of(columns: &[&str], row: &Value) -> String {
    let fields: Vec<String> = columns.iter().map(|column| field(&row[*column])).collect();
    format!("{}\r\n", fields.join(","))
}

fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => quote(&harmless(text)),
        Value::Array(_) | Value::Object(_) => quote(&harmless(&value.to_string())),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Spreadsheets treat a text with such a first character as a formula.
fn harmless(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

fn quote(text: &str) -> String {
    if text.contains(['"', ',', '\r', '\n', ';', '\t', '\'']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
