//! Allowlist of `docker run` flags that a stranger may set: those that leave the container closed.
//! Asked for every image of the registry; knows nothing of where the words come from.

use serde_json::{Map, Value};

/// Whether these words before the name of an image open nothing of this machine by themselves.
/// What the operator fills in is the operator's.
pub(super) fn is_contained(words: &[String], env: &Map<String, Value>) -> bool {
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let (flag, joined) = match word.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag, Some(value)),
            _ => (word, None),
        };
        let fits: fn(&str, &Map<String, Value>) -> bool = match flag {
            "run" | "-i" | "--interactive" | "--rm" | "--init" | "--read-only"
                if joined.is_none() =>
            {
                continue;
            }
            "-e" | "--env" => is_variable,
            "-v" | "--volume" => |value, _| is_volume(value),
            "--mount" => |value, _| is_mount(value),
            "--network" | "--net" => |value, _| is_network(value),
            _ => return false,
        };
        let value = joined.or_else(|| words.next());
        if !value.is_some_and(|value| !value.starts_with('-') && fits(value, env)) {
            return false;
        }
    }
    true
}

/// A name without a value hands on a variable of the gateway: only those that it has for this.
fn is_variable(value: &str, env: &Map<String, Value>) -> bool {
    value.contains('=') || env.contains_key(value)
}

fn is_volume(value: &str) -> bool {
    match after_blank(value) {
        Some("") => true,
        Some(rest) => rest.starts_with(":/"),
        None => false,
    }
}

fn is_mount(value: &str) -> bool {
    let fits = |option: &str| match option.split_once('=').unwrap_or((option, "")) {
        ("type", kind) => matches!(kind, "bind" | "volume" | "tmpfs"),
        ("src" | "source", place) => after_blank(place) == Some(""),
        ("dst" | "destination" | "target" | "readonly" | "ro", _) => true,
        _ => false,
    };
    after_blank(value) == Some("") || value.split(',').all(fits)
}

/// That of the host, or of another container, is no boundary.
fn is_network(value: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    after_blank(value) == Some("") || value != "host" && value.chars().all(letter)
}

/// What follows the place that an operator fills and with which the text begins. A stranger's own
/// `${` is written `$${`.
fn after_blank(text: &str) -> Option<&str> {
    let (_, rest) = text.strip_prefix("${")?.split_once('}')?;
    Some(rest)
}
