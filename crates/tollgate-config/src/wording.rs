//! Wording of messages: names of keys and suggestions.

use super::table::{KeyKind, KeyRange, SectionSpec, TOP};

/// The section where an unknown key would be valid.
pub(super) fn better_place(key: &str, section: &SectionSpec, near: Option<&str>) -> Option<String> {
    if let Some((_, help)) = section.elsewhere.iter().find(|(word, _)| *word == key) {
        return Some((*help).to_owned());
    }
    let child = section.keys.iter().find(|inner| match inner.kind {
        KeyKind::Section(section) | KeyKind::SectionOr(section, _) => section.key(key).is_some(),
        _ => false,
    });
    if let Some(child) = child {
        return Some(format!("it belongs under `{}`", child.name));
    }
    if let Some(near) = near {
        return Some(format!("did you mean `{near}`?"));
    }
    TOP.key(key).map(|_| "it belongs at the top level: remove the indentation".to_owned())
}

pub(super) fn describe(kind: &KeyKind) -> String {
    match kind {
        KeyKind::Text(_) => "a text".to_owned(),
        KeyKind::Flag => "`true` or `false`".to_owned(),
        KeyKind::Whole(range) => describe_range(*range),
        KeyKind::Choice(choices) => describe_choices(choices),
        KeyKind::Words => "a list of words, or one text".to_owned(),
        KeyKind::List(_) => "a list".to_owned(),
        KeyKind::Table(_) => "a map of names and texts".to_owned(),
        KeyKind::Section(_) => "a map".to_owned(),
        KeyKind::SectionOr(_, word) => format!("a map, or `{word}`"),
        KeyKind::Named(_) => "a map of names, or a list of entries with a `name`".to_owned(),
        KeyKind::Entries(_) => "a list of maps".to_owned(),
        KeyKind::Json => "a value".to_owned(),
    }
}

pub(super) fn describe_range(range: KeyRange) -> String {
    let KeyRange { least, most, unit } = range;
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    format!("a whole number from {least} to {most}{unit}")
}

pub(super) fn describe_choices(choices: &[&str]) -> String {
    let quoted: Vec<String> = choices.iter().map(|choice| format!("`{choice}`")).collect();
    format!("one of {}", quoted.join(", "))
}

/// The key as a message names it.
pub(super) fn describe_key(path: &str) -> String {
    match path.strip_suffix("[]") {
        Some(list) => format!("an entry of `{}`", last(list)),
        None if path.is_empty() => "the config".to_owned(),
        None => format!("`{}`", last(path)),
    }
}

pub(super) fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

pub(super) fn shorten(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() > 40 || line.len() < text.len() {
        line.chars().take(40).collect::<String>() + "…"
    } else {
        line.to_owned()
    }
}

/// For the middle of a sentence: "The key" becomes "the key", "PEM file" stays.
pub(super) fn lower_first(text: &str) -> String {
    let mut characters = text.chars();
    match (characters.next(), text.chars().nth(1)) {
        (Some(first), Some(second)) if second.is_lowercase() || second == ' ' => {
            first.to_lowercase().chain(characters).collect()
        }
        _ => text.to_owned(),
    }
}
