//! Builds one server entry: converts variables to the syntax of this config, and replaces secrets
//! by references.

use serde_json::{Map, Value, json};
use tollgate_config::sounds_secret;

use super::ImportedEntry;
use super::collector::ImportCollector;
use super::variable_syntax::rewrite_variables;

pub(super) struct ServerDraft {
    pub(super) name: String,
    keys: Map<String, Value>,
    notes: Vec<String>,
}

/// The longest call timeout that the config accepts.
const MAX_TIMEOUT_MS: f64 = 3_600_000.0;

impl ServerDraft {
    pub(super) fn new(sheet: &mut ImportCollector<'_>, name: &str) -> Self {
        let (name, note) = sheet.id("servers", name);
        Self { name, keys: Map::new(), notes: note.into_iter().collect() }
    }

    pub(super) fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.keys.insert(key.to_owned(), value.into());
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    pub(super) fn text(&mut self, sheet: &mut ImportCollector<'_>, text: &str) -> String {
        let (text, notes) = rewrite_variables(text, sheet.spelling);
        notes.into_iter().for_each(|note| self.note(note));
        sheet.without_defaults(&text, |name, default| {
            names_secret(name, default) || ImportCollector::looks_secret(default)
        })
    }

    /// The program and its arguments.
    pub(super) fn command(&mut self, sheet: &mut ImportCollector<'_>, words: &[String]) {
        let mut written: Vec<String> = Vec::with_capacity(words.len());
        for (at, word) in words.iter().enumerate() {
            let word = self.text(sheet, word);
            let before = at.checked_sub(1).and_then(|at| words.get(at)).map(String::as_str);
            written.push(self.argument(sheet, before, &word));
        }
        self.put("command", written);
    }

    /// A word of a command line that may be or contain a secret.
    fn argument(
        &self,
        sheet: &mut ImportCollector<'_>,
        before: Option<&str>,
        word: &str,
    ) -> String {
        let name = self.name.clone();
        let flag = before.filter(|it| it.starts_with('-') && !it.contains('='));
        let flag = flag.filter(|flag| !word.starts_with('-') && names_secret(flag, word));
        if let Some(flag) = flag {
            return sheet.externalize_secret(&name, flag, word);
        }
        for between in ["=", ": ", ":"] {
            let Some((key, value)) = word.split_once(between) else { continue };
            let bare = key.trim_start_matches('-');
            let is_name = bare.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
            if is_name && !bare.is_empty() && names_secret(bare, value) {
                let (scheme, value) = split_scheme(value.trim_start());
                let hidden = sheet.externalize_secret(&name, bare, value);
                return format!("{key}{between}{scheme}{hidden}");
            }
        }
        // `--header=X-Api-Key:…` contains another word.
        if let Some((flag, inside)) = word.split_once('=').filter(|_| word.starts_with('-')) {
            let hidden = self.argument(sheet, None, inside);
            if hidden != inside {
                return format!("{flag}={hidden}");
            }
        }
        if ImportCollector::looks_secret(word) {
            sheet.externalize_secret(&name, "ARGUMENT", word)
        } else {
            word.to_owned()
        }
    }

    /// Sets the URL. `transport` is set only if it is not the default.
    pub(super) fn url(
        &mut self,
        sheet: &mut ImportCollector<'_>,
        url: &str,
        transport: Option<&str>,
    ) {
        let url = self.text(sheet, url.trim());
        let url = self.without_password(sheet, &url);
        let url = self.without_secrets(sheet, &url);
        if let Some(transport) = transport {
            self.put("transport", transport);
        }
        self.put("url", url);
    }

    fn without_password(&mut self, sheet: &mut ImportCollector<'_>, url: &str) -> String {
        let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        match rest[..end].rsplit_once('@') {
            Some((_, host)) => {
                let why = "a URL must not contain a user and a password; use `headers:` or `auth:`";
                sheet.drop(format!("the password in the URL of `{}`", self.name), why);
                format!("{scheme}://{host}{}", &rest[end..])
            }
            None => url.to_owned(),
        }
    }

    fn without_secrets(&mut self, sheet: &mut ImportCollector<'_>, url: &str) -> String {
        let Some((before, query)) = url.split_once('?') else { return url.to_owned() };
        let (query, fragment) = match query.split_once('#') {
            Some((query, fragment)) => (query, format!("#{fragment}")),
            None => (query, String::new()),
        };
        let pairs: Vec<String> = query
            .split('&')
            .map(|pair| match pair.split_once('=') {
                Some((name, value)) => {
                    format!("{name}={}", sheet.value(&self.name, name, value))
                }
                None => pair.to_owned(),
            })
            .collect();
        format!("{before}?{}{fragment}", pairs.join("&"))
    }

    pub(super) fn env(&mut self, sheet: &mut ImportCollector<'_>, pairs: Vec<(String, String)>) {
        let pairs = self.pairs(sheet, pairs);
        self.extend("env", pairs);
    }

    /// Sets the headers. A bearer token among them becomes `auth`.
    pub(super) fn headers(
        &mut self,
        sheet: &mut ImportCollector<'_>,
        pairs: Vec<(String, String)>,
    ) {
        let (tokens, others): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(name, value)| {
            let (scheme, _) = split_scheme(value);
            name.eq_ignore_ascii_case("authorization") && !scheme.is_empty()
        });
        for (_, value) in tokens {
            let (scheme, bare) = split_scheme(&value);
            if scheme.trim().eq_ignore_ascii_case("bearer") {
                self.token(sheet, bare);
                continue;
            }
            let bare = self.text(sheet, bare);
            let hidden = sheet.externalize_secret(&self.name, "AUTHORIZATION", &bare);
            let header = format!("{scheme}{hidden}");
            self.extend("headers", vec![("Authorization".to_owned(), header)]);
        }
        let others = self.pairs(sheet, others);
        self.extend("headers", others);
    }

    pub(super) fn token(&mut self, sheet: &mut ImportCollector<'_>, value: &str) {
        let (scheme, bare) = split_scheme(value);
        let bare = if scheme.trim().eq_ignore_ascii_case("bearer") { bare } else { value };
        let bare = self.text(sheet, bare);
        let hidden = sheet.externalize_secret(&self.name, "TOKEN", &bare);
        self.auth("token", hidden);
    }

    pub(super) fn auth(&mut self, key: &str, value: impl Into<Value>) {
        let auth = self.keys.entry("auth").or_insert_with(|| json!({}));
        auth[key] = value.into();
    }

    /// OAuth login by a person.
    pub(super) fn login(&mut self) {
        self.auth("login", true);
        self.note(format!("log in with `tollgate servers login {}`", self.name));
    }

    /// Whether a header or a token authenticates already: only one way is possible.
    pub(super) fn is_authorized(&self) -> bool {
        let headers = self.keys.get("headers").and_then(Value::as_object);
        let by_header = headers.is_some_and(|headers| {
            headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"))
        });
        by_header || self.keys.get("auth").is_some_and(|auth| auth.get("token").is_some())
    }

    pub(super) fn timeout_ms(&mut self, milliseconds: f64) {
        let milliseconds = milliseconds.clamp(1.0, MAX_TIMEOUT_MS).round();
        let defaults = self.keys.entry("defaults").or_insert_with(|| json!({}));
        defaults["timeout_ms"] = json!(milliseconds as u64);
    }

    pub(super) fn into_found(self) -> ImportedEntry {
        ImportedEntry { name: self.name, keys: self.keys, notes: self.notes }
    }

    fn pairs(
        &mut self,
        sheet: &mut ImportCollector<'_>,
        pairs: Vec<(String, String)>,
    ) -> Vec<(String, String)> {
        let mut written = Vec::with_capacity(pairs.len());
        for (name, value) in pairs {
            let value = self.text(sheet, &value);
            let value = sheet.value(&self.name, &name, &value);
            written.push((name, value));
        }
        written
    }

    fn extend(&mut self, key: &str, pairs: Vec<(String, String)>) {
        if pairs.is_empty() {
            return;
        }
        let table = self.keys.entry(key).or_insert_with(|| json!({}));
        for (name, value) in pairs {
            table[name] = value.into();
        }
    }
}

/// `Bearer abc` is `("Bearer ", "abc")`. Without a scheme the first part is empty.
fn split_scheme(value: &str) -> (&str, &str) {
    let scheme = value.find(' ').map_or("", |at| &value[..at]);
    let known = ["bearer", "basic", "token", "apikey", "digest", "bot"];
    if known.iter().any(|word| scheme.eq_ignore_ascii_case(word)) {
        (&value[..=scheme.len()], value[scheme.len()..].trim_start())
    } else {
        ("", value)
    }
}

/// Whether an argument of this name is a secret. `--auth oauth` is not.
fn names_secret(name: &str, value: &str) -> bool {
    let lower = name.to_lowercase();
    let surely = ["token", "secret", "pass", "api-key", "api_key", "apikey", "credential"];
    let is_word = value.len() <= 12 && value.chars().all(|c| c.is_ascii_lowercase());
    sounds_secret(&lower) && (surely.iter().any(|word| lower.contains(word)) || !is_word)
        && !value.is_empty()
        // The path of a file is not a secret.
        && !value.starts_with(['/', '.', '~'])
}
