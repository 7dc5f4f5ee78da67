//! Variable syntax of other programs, and its conversion to that of this config.

use serde_json::Value;
use tollgate_config::is_variable;

use super::name::variable;

/// Accepted syntax beside `${NAME}` and `${env:NAME}`, which are accepted everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VariableSyntax {
    Usual,
    /// `$NAME` as well.
    Bare,
    /// `{env:NAME}` and `{file:path}`.
    Braces,
    /// `env.NAME` as the whole value.
    Dotted,
    /// The syntax of this config.
    Own,
}

impl VariableSyntax {
    /// Whether the syntax can refer to files. Where it cannot, an imported text must not make us
    /// send one of our files away.
    pub(super) fn names_files(self) -> bool {
        matches!(self, Self::Braces | Self::Own)
    }
}

/// The text with its variables in the syntax of this config, and notes about them.
pub(super) fn rewrite_variables(text: &str, spelling: VariableSyntax) -> (String, Vec<String>) {
    let dotted = text.strip_prefix("env.").filter(|name| is_variable(name));
    if let Some(name) = dotted.filter(|_| spelling == VariableSyntax::Dotted) {
        return (format!("${{{name}}}"), Vec::new());
    }
    let (text, mut notes) = match spelling {
        VariableSyntax::Braces => braces(text),
        VariableSyntax::Bare => (bare(text), Vec::new()),
        VariableSyntax::Usual | VariableSyntax::Dotted | VariableSyntax::Own => {
            (text.to_owned(), Vec::new())
        }
    };
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find("${") {
        out.push_str(&rest[..at]);
        let inside = &rest[at + 2..];
        let Some(end) = inside.find('}') else {
            out.push_str("$${");
            rest = inside;
            continue;
        };
        let (written, note) = replacement(&inside[..end], spelling);
        out.push_str(&written);
        notes.extend(note);
        rest = &inside[end + 1..];
    }
    out.push_str(rest);
    (out, notes)
}

/// The replacement of `${inside}`.
fn replacement(inside: &str, spelling: VariableSyntax) -> (String, Option<String>) {
    let name = inside.strip_prefix("env:").unwrap_or(inside);
    let bare = name.split_once(":-").map_or(name, |(name, _)| name);
    if is_variable(bare) && !name.contains("${") {
        return match inside {
            "workspaceFolder" | "workspaceRoot" => folder(inside),
            "userHome" => ("${HOME}".to_owned(), None),
            "pathSeparator" => ("/".to_owned(), None),
            _ => (format!("${{{name}}}"), None),
        };
    }
    match inside {
        "/" => ("/".to_owned(), None),
        _ if inside.starts_with("file:/") && spelling.names_files() => {
            (format!("${{{inside}}}"), None)
        }
        _ => match inside.strip_prefix("input:") {
            Some(id) => {
                let name = format!("TOLLGATE_INPUT_{}", variable(id));
                let note = format!("`${{input:{id}}}` was prompted for; set `{name}`");
                (format!("${{{name}}}"), Some(note))
            }
            None => {
                let note = format!("`${{{inside}}}` has no meaning here and is kept unchanged");
                // The inner text must not be expanded on its own, either.
                (format!("$${{{}}}", inside.replace("${", "$${")), Some(note))
            }
        },
    }
}

fn folder(inside: &str) -> (String, Option<String>) {
    let note = format!("`${{{inside}}}` is an editor's folder; set `WORKSPACE_FOLDER`");
    ("${WORKSPACE_FOLDER}".to_owned(), Some(note))
}

/// Escapes file references in all strings of `value`. Returns whether there were any.
pub(super) fn without_files(value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let escaped = escape_file_references(text);
            let is_new = escaped != *text;
            *text = escaped;
            is_new
        }
        Value::Array(items) => items.iter_mut().fold(false, |any, it| without_files(it) | any),
        Value::Object(pairs) => pairs.values_mut().fold(false, |any, it| without_files(it) | any),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Scans the text exactly as the config parser does.
fn escape_file_references(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let inside = &rest[at + 2..];
        let is_escaped = rest[..at].ends_with('$');
        if !is_escaped && inside.starts_with("file:") {
            out.push_str(&rest[..at]);
            out.push_str("$${");
            rest = inside;
            continue;
        }
        let end = if is_escaped { 0 } else { inside.find('}').unwrap_or(0) };
        out.push_str(&rest[..at + 2 + end]);
        rest = &inside[end..];
    }
    out + rest
}

fn braces(text: &str) -> (String, Vec<String>) {
    let mut out = String::with_capacity(text.len());
    let mut notes = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let inside = &rest[at + 1..];
        let end = inside.find('}').unwrap_or(0);
        let known = inside[..end].strip_prefix("env:").filter(|name| is_variable(name));
        let file = inside[..end].strip_prefix("file:/").map(|path| format!("file:/{path}"));
        if inside[..end].starts_with("file:") && file.is_none() {
            let path = &inside[..end];
            notes.push(format!("`{{{path}}}` is kept unchanged; write `${{file:/…}}` instead"));
        }
        match known.map(str::to_owned).or(file).filter(|_| !rest[..at].ends_with('$')) {
            Some(name) => {
                out.push_str(&format!("{}${{{name}}}", &rest[..at]));
                rest = &inside[end + 1..];
            }
            None => {
                out.push_str(&rest[..=at]);
                rest = inside;
            }
        }
    }
    (out + rest, notes)
}

fn bare(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let after = &rest[at + 1..];
        let length = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = &after[..length.unwrap_or(after.len())];
        out.push_str(&rest[..at]);
        if is_variable(name) {
            out.push_str(&format!("${{{name}}}"));
        } else {
            out.push_str(&format!("${name}"));
        }
        rest = &after[name.len()..];
    }
    out + rest
}
