//! Secret values of a config: collected while it is read, so that they can be masked in all output.
//! Values that `secret_values` does not treat as secrets are left out.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tollgate_core::secret::Secret;
use tollgate_core::secret_values::{
    self, MaskJudgement, SecretMatcher, judge, looks_random, sounds_secret,
};

/// The secrets of the config, and those that cannot be masked.
#[derive(Clone, Default)]
pub struct SecretValues {
    values: Vec<Secret>,
    /// Config keys whose values are too short or too common to be masked.
    pub unfit: Vec<String>,
}

impl fmt::Debug for SecretValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretValues({})", self.values.len())
    }
}

/// Limit on the number of secrets. No handwritten config has more, and searching for them costs
/// time.
const MAX_VALUES: usize = 4_096;
/// Depth to which JSON inside a variable is searched.
const MAX_JSON_DEPTH: usize = 8;
/// Minimum length of a line of a key file that is masked.
const LONG_LINE: usize = 16;
/// Schemes before the secret of an `authorization` header.
const SCHEMES: [&str; 4] = ["bearer", "basic", "token", "apikey"];

impl SecretValues {
    /// Masks them from now on in the whole process.
    pub fn mask_from_now_on(&self) {
        secret_values::configure(self.values.iter().map(Secret::reveal));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// A matcher for these values only.
    pub(super) fn matcher(&self) -> SecretMatcher {
        SecretMatcher::new(self.values.iter().map(Secret::reveal))
    }

    /// Adds a value unconditionally.
    pub fn add(&mut self, value: &str) {
        if self.values.len() < MAX_VALUES {
            self.values.push(Secret::new(value.trim()));
        } else if self.values.len() == MAX_VALUES && self.unfit.len() < MAX_VALUES {
            self.unfit.push(format!("… (there are more than {MAX_VALUES} secrets)"));
            self.values.push(Secret::new(value.trim()));
        }
    }

    /// Adds a value under `path`, whose last part is its name.
    pub(super) fn note(&mut self, path: &str, value: &str) {
        let name = path.rsplit('.').next().unwrap_or(path);
        if self.note_inside(name, value, MAX_JSON_DEPTH) == MaskJudgement::Unfit {
            self.unfit.push(path.to_owned());
        }
    }

    /// Adds the secret parts of a URL: password, parts of the query, parts of the path.
    pub(super) fn note_url(&mut self, url: &str) {
        let Some((_, rest)) = url.split_once("://") else { return };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let mut is_secret = false;
        if let Some((_, password)) =
            authority.rsplit_once('@').and_then(|(user, _)| user.split_once(':'))
            && judge("password", password) == MaskJudgement::Masked
        {
            self.add_decoded(password);
            is_secret = true;
        }
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        for segment in path.split('/').filter(|segment| looks_random(segment)) {
            self.add_decoded(segment);
        }
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            if judge(name, value) == MaskJudgement::Masked {
                self.add_decoded(value);
                is_secret = true;
            }
        }
        if is_secret {
            self.add(url);
        }
    }

    /// Adds the secret words of a command. Returns which of them are secret.
    pub(super) fn note_words(&mut self, words: &[String]) -> Vec<bool> {
        let mut secret = vec![false; words.len()];
        for (at, word) in words.iter().enumerate() {
            let flag = at.checked_sub(1).map_or("", |before| words[before].as_str());
            let flag = if flag.starts_with('-') && !flag.contains('=') { flag } else { "" };
            let (name, value) = match word.split_once('=') {
                Some((name, value)) if !name.contains("://") => (name, value),
                _ => (flag, word.as_str()),
            };
            secret[at] = self.note_word(name, value);
        }
        secret
    }

    fn note_word(&mut self, name: &str, value: &str) -> bool {
        if let Some((header, value)) = value.split_once(':').filter(|(it, _)| sounds_secret(it)) {
            // `--header "Authorization: Bearer …"`
            if !value.starts_with("//") {
                return self.note_inside(header, value.trim(), 1) != MaskJudgement::Ordinary;
            }
        }
        if value.contains("://") {
            let before = self.values.len();
            self.note_url(value);
            return self.values.len() > before;
        }
        if sounds_secret(name) && !value.starts_with('-') {
            return self.note_inside(name, value, 1) != MaskJudgement::Ordinary;
        }
        let is_secret = looks_random(value);
        if is_secret {
            self.add(value);
        }
        is_secret
    }

    fn note_inside(&mut self, name: &str, value: &str, depth: usize) -> MaskJudgement {
        let value = value.trim();
        if value.contains("://") && !value.contains(char::is_whitespace) {
            self.note_url(value);
            if name == "webhook" {
                self.add(value);
            }
            return MaskJudgement::Ordinary;
        }
        if value.starts_with(['{', '['])
            && depth > 0
            && let Ok(inner) = serde_json::from_str(value)
        {
            self.note_json(name, &inner, depth - 1);
            return MaskJudgement::Ordinary;
        }
        let judgement = judge(name, value);
        if judgement != MaskJudgement::Masked {
            return judgement;
        }
        self.add(value);
        if let Some((scheme, credentials)) = value.split_once(' ')
            && SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known))
        {
            self.add(credentials);
            self.add_password(credentials);
        }
        if name.eq_ignore_ascii_case("cookie") {
            for (_, cookie) in value.split(';').filter_map(|pair| pair.split_once('=')) {
                self.add(cookie);
            }
        }
        value.lines().filter(|line| line.len() >= LONG_LINE).for_each(|line| self.add(line));
        judgement
    }

    fn note_json(&mut self, name: &str, value: &Value, depth: usize) {
        match value {
            Value::String(text) => drop(self.note_inside(name, text, depth)),
            Value::Array(items) => items.iter().for_each(|item| self.note_json(name, item, depth)),
            Value::Object(fields) => {
                fields.iter().for_each(|(name, value)| self.note_json(name, value, depth));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn add_decoded(&mut self, text: &str) {
        self.add(text);
        if let Some(decoded) = percent_decoded(text).filter(|decoded| decoded != text) {
            self.add(&decoded);
        }
    }

    /// The password in `Basic dXNlcjpwYXNz`.
    fn add_password(&mut self, encoded: &str) {
        let decoded = STANDARD.decode(encoded.trim()).ok();
        let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some((_, password)) = decoded.as_deref().and_then(|text| text.split_once(':')) {
            self.add(password);
        }
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).filter(|_| *first == b'%');
        let hex = hex.and_then(|digits| std::str::from_utf8(digits).ok());
        match hex.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = &after[2..];
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use tollgate_core::secret_values::MASK;

    use super::SecretValues;

    fn mask_with(note: impl FnOnce(&mut SecretValues), text: &str) -> String {
        let mut values = SecretValues::default();
        note(&mut values);
        values.matcher().mask(text).into_owned()
    }

    #[test]
    fn passwords_and_tokens_of_urls_are_secret_and_their_hosts_are_not() {
        let url =
            "postgres://app:s3cr%40tword@db.example.com/app?sslmode=require&api_key=k3y-value-9";
        let text = "app s3cr@tword s3cr%40tword db.example.com require k3y-value-9";
        let expected = format!("app {MASK} {MASK} db.example.com require {MASK}");
        assert_eq!(mask_with(|values| values.note_url(url), text), expected);
        assert_eq!(mask_with(|values| values.note("servers.a.env.DB", url), text), expected);
        let plain = "https://tools.example.com/mcp";
        assert_eq!(mask_with(|values| values.note_url(plain), plain), plain);
    }

    #[test]
    fn words_of_a_command_are_secret_by_their_flag_or_by_their_looks() {
        let words = [
            "npx",
            "-y",
            "server-of-somebody",
            "--api-key",
            "CANARY-VALUE",
            "--token=t0k3n-value",
            "--header",
            "Authorization: Bearer b3arer-value",
            "/srv/data/projects",
            "--verbose",
            "https://user:p4ssword-x@example.com",
            "DB_PASSWORD=hunter2hunter2",
            "--key",
            "ab",
        ]
        .map(str::to_owned);
        let mut values = SecretValues::default();
        let secret = values.note_words(&words);
        let found: Vec<usize> = (0..words.len()).filter(|at| secret[*at]).collect();
        assert_eq!(found, [4, 5, 7, 10, 11, 13]);
        let shown = values.matcher().mask(&words.join(" ")).into_owned();
        for stored in ["npx -y server-of-somebody --api-key", "/srv/data/projects --verbose"] {
            assert!(shown.contains(stored), "{shown}");
        }
        for gone in ["CANARY", "t0k3n", "b3arer", "p4ssword", "hunter2"] {
            assert!(!shown.contains(gone), "{shown}");
        }
    }

    #[test]
    fn what_stands_inside_of_a_variable_is_masked_by_itself() {
        let headers = r#"{"Authorization":"Bearer ntn_123456789","Version":"2022-06-28"}"#;
        let note = |values: &mut SecretValues| values.note("servers.a.env.MCP_HEADERS", headers);
        assert_eq!(mask_with(note, "ntn_123456789 2022-06-28"), format!("{MASK} 2022-06-28"));
        let basic = |values: &mut SecretValues| {
            values.note("servers.a.headers.Authorization", "Basic dXNlcjpodW50ZXIyaHVudGVyMg==");
        };
        assert_eq!(mask_with(basic, "hunter2hunter2"), MASK);
        let cookie = |values: &mut SecretValues| {
            values.note("servers.a.headers.Cookie", "theme=dark; sid=0123456789abcdef");
        };
        assert_eq!(mask_with(cookie, "0123456789abcdef"), MASK);
    }

    #[test]
    fn values_that_cannot_be_masked_are_named() {
        let mut values = SecretValues::default();
        values.note("servers.a.env.API_KEY", "short");
        values.note("servers.a.env.LOG_LEVEL", "debug");
        values.note("servers.a.auth.token", "changeme");
        assert_eq!(values.unfit, ["servers.a.env.API_KEY", "servers.a.auth.token"]);
        assert!(values.matcher().is_empty());
    }
}
