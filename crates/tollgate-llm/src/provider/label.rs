//! How a model and its provider are called in failures, and what of a provider's words is repeated.

use std::borrow::Cow;

use tollgate_core::secret::Secret;
use tollgate_core::secret_values;
use tollgate_core::text::shortened;

use crate::settings::Provider;

/// Characters of what a provider said that are worth repeating.
const MOST_SHOWN: usize = 200;

/// Shorter ones are placeholders, and would be found in every other word.
const SHORTEST_SECRET: usize = 8;
/// So many first characters of a key, followed by stars, are a part of it.
const SHORTEST_PART: usize = 3;

/// Names for people. Knows the secrets of the provider, to keep them out of all that is said.
#[derive(Debug, Clone)]
pub(super) struct Label {
    pub(super) provider: String,
    pub(super) model: String,
    /// The key and what is sent in headers.
    secrets: Vec<Secret>,
}

impl Label {
    pub(super) fn new(provider: &Provider, model: &str) -> Self {
        let headers = provider.headers.iter().map(|(_, value)| value);
        let secrets = provider.api_key.iter().chain(headers);
        let secrets = secrets.filter(|secret| secret.reveal().len() >= SHORTEST_SECRET);
        Self {
            provider: provider.name.clone(),
            model: model.to_owned(),
            secrets: secrets.cloned().collect(),
        }
    }

    /// Something about the provider as such.
    pub(super) fn of_provider(&self, what: &str) -> String {
        format!("provider `{}` {what}", self.provider)
    }

    /// Something about the model.
    pub(super) fn of_model(&self, what: &str) -> String {
        format!("model `{}` of provider `{}` {what}", self.model, self.provider)
    }

    /// The provider's own words: one line, not too long, without secrets.
    pub(super) fn quoted(&self, words: &str) -> String {
        let hidden = self.hide(words);
        let line: Vec<&str> = hidden
            .split(|c: char| c.is_whitespace() || c.is_control())
            .filter(|word| !word.is_empty())
            .collect();
        shortened(&line.join(" "), MOST_SHOWN)
    }

    fn hide(&self, words: &str) -> String {
        let words = secret_values::mask(words).into_owned();
        self.secrets.iter().fold(self.without_parts(words), |words, secret| {
            let words = words.replace(secret.reveal(), "<secret>");
            // Others may have cut the words before, in the middle of a secret.
            let heads = (SHORTEST_SECRET..secret.reveal().len()).rev();
            let mut heads = heads.filter_map(|end| secret.reveal().get(..end));
            match heads.find_map(|head| words.strip_suffix(head)) {
                Some(before) => format!("{before}<secret>"),
                None => words,
            }
        })
    }

    /// Without `sk-abc***wxyz`, as providers like to repeat a key: both of its ends tell something.
    fn without_parts(&self, words: String) -> String {
        if !words.contains("***") {
            return words;
        }
        let is_part = |word: &str| {
            let head = word.split('*').next().unwrap_or_default();
            let starts = |secret: &Secret| secret.reveal().starts_with(head);
            word.contains("***") && head.len() >= SHORTEST_PART && self.secrets.iter().any(starts)
        };
        let in_key = |c: char| c.is_ascii_alphanumeric() || "-_.*".contains(c);
        let mut hidden = String::with_capacity(words.len());
        for word in words.split_inclusive(|c| !in_key(c)) {
            let key = word.trim_end_matches(|c| !in_key(c));
            if is_part(key.trim_end_matches('.')) {
                hidden.push_str("<secret>");
                hidden.push_str(&word[key.trim_end_matches('.').len()..]);
            } else {
                hidden.push_str(word);
            }
        }
        hidden
    }

    /// Whether a secret stands in something that would be passed on as it is.
    pub(super) fn is_betrayed_by(&self, bytes: &[u8]) -> bool {
        let is_masked = matches!(secret_values::mask_bytes(bytes), Cow::Owned(_));
        let has_part = || {
            let text = String::from_utf8_lossy(bytes).into_owned();
            self.without_parts(text.clone()) != text
        };
        is_masked
            || has_part()
            || self.secrets.iter().any(|secret| {
                let secret = secret.reveal().as_bytes();
                bytes.windows(secret.len()).any(|window| window == secret)
            })
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::secret::Secret;

    use super::Label;

    #[test]
    fn secrets_are_hidden_whole_and_cut() {
        let secrets = vec![Secret::new("sk-0123456789"), Secret::new("header-value")];
        let label = Label { provider: "p".to_owned(), model: "m".to_owned(), secrets };
        for (words, expected) in [
            ("plain", "plain"),
            ("key sk-0123456789 and header-value", "key <secret> and <secret>"),
            ("cut sk-01234567", "cut <secret>"),
            ("too short sk-0123", "too short sk-0123"),
            (
                "Incorrect API key provided: sk-01****6789. See",
                "Incorrect API key provided: <secret>. See",
            ),
            ("other *** stars xy***z", "other *** stars xy***z"),
            (" many\n\tlines\u{0} ", "many lines"),
        ] {
            assert_eq!(label.quoted(words), expected);
        }
        let long = label.quoted(&"x".repeat(300));
        assert_eq!(long.chars().count(), 201, "{long}");
        assert!(label.is_betrayed_by(b"... header-value ..."));
        assert!(label.is_betrayed_by(br#"{"error":"bad key sk-0**************789"}"#));
        assert!(!label.is_betrayed_by(b"header"));
    }
}
