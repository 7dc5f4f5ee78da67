//! Allowlist of `docker run` flags that an untrusted registry entry may set: those that keep the
//! container isolated. Checked for every image of the registry.

use serde_json::{Map, Value};

/// Whether the words before the image name expose nothing of this machine by themselves. Values
/// filled in by the operator are trusted.
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

/// A name without a value forwards a variable of the gateway: only those defined for this server.
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

/// The network of the host, or of another container, is no isolation.
fn is_network(value: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    after_blank(value) == Some("") || value != "host" && value.chars().all(letter)
}

/// The text after a leading placeholder for the operator. A `${` in the entry itself is written
/// `$${`.
fn after_blank(text: &str) -> Option<&str> {
    let (_, rest) = text.strip_prefix("${")?.split_once('}')?;
    Some(rest)
}
