//! How programs write variables in their files, and what this config writes for them.

use super::name::variable;
use crate::config::is_variable;

/// Beside `${NAME}` and `${env:NAME}`, which are read everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    Usual,
    /// `$NAME` as well.
    Bare,
    /// `{env:NAME}` and `{file:path}`.
    Braces,
    /// `env.NAME`, alone.
    Dotted,
}

/// A text with its variables as this config writes them, and what is to be said of them.
pub(super) fn rewritten(text: &str, spelling: Spelling) -> (String, Vec<String>) {
    let dotted = text.strip_prefix("env.").filter(|name| is_variable(name));
    if let Some(name) = dotted.filter(|_| spelling == Spelling::Dotted) {
        return (format!("${{{name}}}"), Vec::new());
    }
    let text = match spelling {
        Spelling::Braces => braces(text),
        Spelling::Bare => bare(text),
        Spelling::Usual | Spelling::Dotted => text.to_owned(),
    };
    let (mut out, mut notes) = (String::with_capacity(text.len()), Vec::new());
    let mut rest = text.as_str();
    while let Some(at) = rest.find("${") {
        out.push_str(&rest[..at]);
        let inside = &rest[at + 2..];
        let Some(end) = inside.find('}') else {
            out.push_str("$${");
            rest = inside;
            continue;
        };
        let (written, note) = one(&inside[..end]);
        out.push_str(&written);
        notes.extend(note);
        rest = &inside[end + 1..];
    }
    out.push_str(rest);
    (out, notes)
}

/// What stands for `${inside}`.
fn one(inside: &str) -> (String, Option<String>) {
    let name = inside.strip_prefix("env:").unwrap_or(inside);
    let bare = name.split_once(":-").map_or(name, |(name, _)| name);
    if is_variable(bare) {
        return match inside {
            "workspaceFolder" | "workspaceRoot" => folder(inside),
            "userHome" => ("${HOME}".to_owned(), None),
            "pathSeparator" => ("/".to_owned(), None),
            _ => (format!("${{{name}}}"), None),
        };
    }
    match inside {
        "/" => ("/".to_owned(), None),
        _ if inside.starts_with("file:/") => (format!("${{{inside}}}"), None),
        _ => match inside.strip_prefix("input:") {
            Some(id) => {
                let name = format!("TOLLGATE_INPUT_{}", variable(id));
                let note = format!("`${{input:{id}}}` was asked for; set `{name}`");
                (format!("${{{name}}}"), Some(note))
            }
            None => {
                let note = format!("`${{{inside}}}` means nothing here and is kept as it stands");
                (format!("$${{{inside}}}"), Some(note))
            }
        },
    }
}

fn folder(inside: &str) -> (String, Option<String>) {
    let note = format!("`${{{inside}}}` is a folder of an editor; set `WORKSPACE_FOLDER`");
    ("${WORKSPACE_FOLDER}".to_owned(), Some(note))
}

fn braces(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let inside = &rest[at + 1..];
        let end = inside.find('}').unwrap_or(0);
        let known = inside[..end].strip_prefix("env:").filter(|name| is_variable(name));
        let file = inside[..end].strip_prefix("file:/").map(|path| format!("file:/{path}"));
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
    out + rest
}

fn bare(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let after = &rest[at + 1..];
        let length = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = &after[..length.unwrap_or(after.len())];
        out.push_str(&rest[..at]);
        match is_variable(name) {
            true => out.push_str(&format!("${{{name}}}")),
            false => out.push_str(&format!("${name}")),
        }
        rest = &after[name.len()..];
    }
    out + rest
}
