//! How a model and its provider are called in failures, and what of a provider's words is repeated.

use tollgate_core::secret::Secret;
use tollgate_core::text::shortened;

use crate::settings::Provider;

/// Characters of what a provider said that are worth repeating.
const MOST_SHOWN: usize = 200;

/// Shorter ones are placeholders, and would be found in every other word.
const SHORTEST_SECRET: usize = 8;

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
        self.secrets.iter().fold(words.to_owned(), |words, secret| {
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

    /// Whether a secret stands in something that would be passed on as it is.
    pub(super) fn is_betrayed_by(&self, bytes: &[u8]) -> bool {
        self.secrets.iter().any(|secret| {
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
            (" many\n\tlines\u{0} ", "many lines"),
        ] {
            assert_eq!(label.quoted(words), expected);
        }
        let long = label.quoted(&"x".repeat(300));
        assert_eq!(long.chars().count(), 201, "{long}");
        assert!(label.is_betrayed_by(b"... header-value ..."));
        assert!(!label.is_betrayed_by(b"header"));
    }
}
