//! Redacts the diff of a client's config file: secrets of other entries, and the old key of ours.

use serde_json::Value;
use tollgate_config::{is_reference, sounds_secret};

use super::{ClientFileFormat, KEY, client_file};
use crate::import::{looks_secret, secrets_of_command, secrets_of_url};

/// Replaces hidden text.
const HIDDEN: &str = "<hidden>";
/// Shorter texts are not secrets, and would match everywhere.
const MIN_SECRET_BYTES: usize = 4;
/// Maps whose values are passed to a server.
const CARRIERS: [&str; 5] = ["env", "envs", "environment", "headers", "http_headers"];

/// `diff` of two texts without their secrets. `None` if a secret cannot be located because of its
/// spelling.
pub fn redact_diff(form: ClientFileFormat, texts: [&str; 2], diff: &str) -> Option<String> {
    let mut secrets = Vec::new();
    for text in texts {
        secrets.extend(secrets_in(form, text)?);
    }
    let mut spellings: Vec<String> = secrets.iter().flat_map(|it| secret_spellings(it)).collect();
    spellings.sort_by_key(|it| std::cmp::Reverse(it.len()));
    spellings.dedup();
    for text in texts {
        if !secrets_in(form, &redact(text, &spellings))?.is_empty() {
            return None;
        }
    }
    Some(redact(diff, &spellings).split_inclusive('\n').map(redact_comment).collect())
}

/// Commented-out text is not parsed, so it is checked by its appearance only.
fn redact_comment(line: &str) -> String {
    let bare = line.get(1..).unwrap_or_default().trim_start();
    let is_comment = ["//", "/*", "*", "#"].iter().any(|mark| bare.starts_with(mark));
    if is_comment && looks_secret(bare) {
        format!("{}{HIDDEN}\n", &line[..line.len() - bare.len()])
    } else {
        line.to_owned()
    }
}

fn secrets_in(form: ClientFileFormat, text: &str) -> Option<Vec<String>> {
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    let mut search = DiffSecretSearch(Vec::new());
    search.value("", &client_file::values(form, text).ok()?, SecretContext::Settings);
    Some(search.0)
}

/// In the notation of JSON, TOML and YAML.
fn secret_spellings(secret: &str) -> [String; 3] {
    let json = Value::from(secret).to_string();
    let json = json.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or(&json);
    [secret.to_owned(), json.to_owned(), secret.replace('\'', "''")]
}

/// The longest match at a position is hidden.
fn redact(text: &str, spellings: &[String]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let skip = match spellings.iter().find(|it| rest.starts_with(it.as_str())) {
            Some(found) => {
                out.push_str(HIDDEN);
                found.len()
            }
            None => {
                out.push(next);
                next.len_utf8()
            }
        };
        rest = &rest[skip..];
    }
    out
}

/// Context of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SecretContext {
    Settings,
    /// Somewhere below one of `CARRIERS`.
    Carrier,
}

struct DiffSecretSearch(Vec<String>);

impl DiffSecretSearch {
    fn value(&mut self, key: &str, value: &Value, place: SecretContext) {
        match value {
            Value::String(text) if place == SecretContext::Carrier => {
                self.collect_carried(key, text)
            }
            Value::Number(number) if place == SecretContext::Carrier => {
                self.collect_carried(key, &number.to_string())
            }
            Value::String(text) => self.text(key, text),
            Value::Array(items) => {
                let words = items.iter().filter_map(Value::as_str).map(str::to_owned);
                self.all(&secrets_of_command(&words.collect::<Vec<_>>()));
                items.iter().for_each(|item| self.value(key, item, place));
            }
            Value::Object(pairs) => {
                for (key, value) in pairs {
                    let inner = if CARRIERS.contains(&key.to_lowercase().as_str()) {
                        SecretContext::Carrier
                    } else {
                        place
                    };
                    self.value(key, value, inner);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// `DEBUG: "true"` is not a secret, and would hide every other `true`.
    fn collect_carried(&mut self, key: &str, text: &str) {
        let is_trivial = matches!(text, "true" | "false") || text.parse::<u32>().is_ok();
        if !is_trivial || sounds_secret(key) && text.parse::<bool>().is_err() {
            self.push(text);
        }
    }

    fn text(&mut self, key: &str, text: &str) {
        let words = shell_words::split(text).ok().filter(|_| key == "command");
        self.all(&words.map(|words| secrets_of_command(&words)).unwrap_or_default());
        if text.contains("://") {
            self.all(&secrets_of_url(text));
        }
        if is_secret(key) || looks_secret(text) {
            self.all(&[text.to_owned()]);
        }
    }

    /// Skips texts that are redacted already: a text with a redacted secret still looks like a
    /// secret.
    fn all(&mut self, secrets: &[String]) {
        secrets.iter().filter(|it| !it.contains(HIDDEN)).for_each(|it| self.push(it));
    }

    /// Line by line, because a diff shows single lines.
    fn push(&mut self, secret: &str) {
        for line in secret.lines() {
            let bare = without_scheme(line.trim());
            let is_known = [HIDDEN, KEY].contains(&bare) || is_reference(bare);
            if bare.len() >= MIN_SECRET_BYTES && !is_known {
                self.0.push(bare.to_owned());
            }
        }
    }
}

/// In settings, `author` and `keymap` are harmless, and so is the name of a variable.
fn is_secret(key: &str) -> bool {
    let key = key.to_lowercase();
    let words = ["token", "secret", "passw", "apikey", "api_key", "api-key", "credential"];
    words.iter().any(|word| key.contains(word)) && !key.contains("env")
}

/// The secret in `Bearer abc` is `abc`.
fn without_scheme(text: &str) -> &str {
    match text.split_once(' ') {
        Some((word, rest))
            if ["bearer", "basic", "token"].contains(&word.to_lowercase().as_str()) =>
        {
            rest.trim()
        }
        _ => text,
    }
}
