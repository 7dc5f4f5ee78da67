//! Writes values as YAML: maps as blocks, lists of scalars on one line, quotes only where needed.

use serde_json::{Map, Value};

/// Layout of written YAML.
#[derive(Debug, Clone, Copy)]
pub(super) struct YamlStyle<'a> {
    /// Indentation per level.
    pub step: usize,
    /// `\n` or `\r\n`.
    pub line: &'a str,
}

/// Whether keys and strings are always quoted, as in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuoteStyle {
    WhereNeeded,
    Always,
}

/// The pairs of a map, one per line, at this column, without the final line break.
pub(super) fn block(pairs: &Map<String, Value>, column: usize, style: YamlStyle<'_>) -> String {
    let lines: Vec<String> = pairs
        .iter()
        .map(|(key, value)| format!("{:column$}{}", "", pair(key, value, column, style)))
        .collect();
    lines.join(style.line)
}

/// One `key: value` with the key at `column`, without leading blanks.
pub(super) fn pair(key: &str, value: &Value, column: usize, style: YamlStyle<'_>) -> String {
    let key = text(key, QuoteStyle::WhereNeeded, YamlContext::Block);
    match value {
        Value::Object(inner) if !inner.is_empty() => {
            let inner = block(inner, column + style.step, style);
            format!("{key}:{}{inner}", style.line)
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            let column = column + style.step;
            let entry =
                |item: &Value| format!("{:column$}- {}", "", flow(item, QuoteStyle::WhereNeeded));
            let items: Vec<String> = items.iter().map(entry).collect();
            format!("{key}:{}{}", style.line, items.join(style.line))
        }
        Value::String(message) => {
            format!("{key}: {}", text(message, QuoteStyle::WhereNeeded, YamlContext::Block))
        }
        other => format!("{key}: {}", flow(other, QuoteStyle::WhereNeeded)),
    }
}

/// Everything on one line.
pub(super) fn flow(value: &Value, quotes: QuoteStyle) -> String {
    match value {
        Value::Object(pairs) if pairs.is_empty() => "{}".to_owned(),
        Value::Object(pairs) => {
            let pair = |(key, value): (&String, &Value)| flow_pair(key, value, quotes);
            let pairs: Vec<String> = pairs.iter().map(pair).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Value::Array(items) => {
            // In a list of strings all are quoted, as `-y` and `@scope/name` need it.
            let item = |item: &Value| match item {
                Value::String(message) => quote(message),
                other => flow(other, quotes),
            };
            let items: Vec<String> = items.iter().map(item).collect();
            format!("[{}]", items.join(", "))
        }
        Value::String(message) => text(message, quotes, YamlContext::Flow),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

pub(super) fn flow_pair(key: &str, value: &Value, quotes: QuoteStyle) -> String {
    format!("{}: {}", text(key, quotes, YamlContext::Flow), flow(value, quotes))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum YamlContext {
    Block,
    Flow,
}

fn text(message: &str, quotes: QuoteStyle, place: YamlContext) -> String {
    if quotes == QuoteStyle::WhereNeeded && is_plain(message, place) {
        message.to_owned()
    } else {
        quote(message)
    }
}

/// In double quotes. YAML understands the escapes of JSON.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    for c in Value::from(text).to_string().chars() {
        match c {
            // Not printable in YAML, but not escaped by JSON.
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

/// Whether it is a string without quotes.
fn is_plain(text: &str, place: YamlContext) -> bool {
    let begins_well =
        text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '_' | '$'));
    let is_word = matches!(
        text.to_ascii_lowercase().as_str(),
        "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
    );
    let fits = |c: char| match c {
        '$' | '{' | '}' => place == YamlContext::Block,
        c => c.is_ascii_alphanumeric() || "_-./:@+".contains(c),
    };
    begins_well && !is_word && text.chars().all(fits) && !text.ends_with(':')
}
