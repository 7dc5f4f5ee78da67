//! Labels for models and providers in error messages, and redaction of secrets in quoted provider
//! messages.

use std::borrow::Cow;

use tollgate_core::secret::Secret;
use tollgate_core::secret_values;
use tollgate_core::text::truncate_chars;

use crate::settings::{AzureSettings, CloudSettings, ProviderSettings};

/// Maximum characters quoted from a provider.
const MAX_QUOTED_CHARS: usize = 200;

/// Shorter secrets are placeholders that would match ordinary words.
const MIN_SECRET_CHARS: usize = 8;
/// This many first characters of a key followed by asterisks count as a part of it.
const MIN_SECRET_PREFIX_CHARS: usize = 3;

/// Names for error messages. Knows the provider's secrets, to redact them in all messages.
#[derive(Debug, Clone)]
pub(super) struct ModelLabel {
    pub(super) provider: String,
    pub(super) model: String,
    /// Where the key is in the config.
    pub(super) key_path: String,
    /// The key, and configured header values.
    secrets: Vec<Secret>,
}

/// The section of the config with the credentials, if the cloud has its own.
fn credentials_section(provider: &ProviderSettings) -> Option<&'static str> {
    match provider.cloud.as_ref()? {
        CloudSettings::Azure(AzureSettings { entra: None, .. }) => None,
        cloud => Some(cloud.key()),
    }
}

impl ModelLabel {
    /// `endpoint` is named if the provider has several.
    pub(super) fn new(provider: &ProviderSettings, endpoint: Option<&str>, model: &str) -> Self {
        let headers = provider.headers.iter().map(|(_, value)| value);
        let of_cloud = provider.cloud.iter().flat_map(CloudSettings::secrets);
        let secrets = provider.api_key.iter().chain(headers).chain(of_cloud);
        let secrets = secrets.filter(|secret| secret.reveal().len() >= MIN_SECRET_CHARS);
        let name = &provider.name;
        Self {
            provider: endpoint.map_or_else(|| name.clone(), |it| format!("{name}/{it}")),
            key_path: match (credentials_section(provider), endpoint) {
                (Some(section), _) => format!("providers.{name}.{section}"),
                (None, Some(_)) => format!("providers.{name}.endpoints"),
                (None, None) => format!("providers.{name}.api_key"),
            },
            model: model.to_owned(),
            secrets: secrets.cloned().collect(),
        }
    }

    /// A message about the provider itself.
    pub(super) fn of_provider(&self, what: &str) -> String {
        format!("provider `{}` {what}", self.provider)
    }

    /// A message about the model.
    pub(super) fn of_model(&self, what: &str) -> String {
        format!("model `{}` of provider `{}` {what}", self.model, self.provider)
    }

    /// Quotes a provider's message: one line, truncated, without secrets.
    pub(super) fn quote(&self, words: &str) -> String {
        let hidden = self.hide(words);
        let line: Vec<&str> = hidden
            .split(|c: char| c.is_whitespace() || c.is_control())
            .filter(|word| !word.is_empty())
            .collect();
        truncate_chars(&line.join(" "), MAX_QUOTED_CHARS)
    }

    fn hide(&self, words: &str) -> String {
        let words = secret_values::mask(words).into_owned();
        self.secrets.iter().fold(self.hide_partial_secrets(words), |words, secret| {
            let words = words.replace(secret.reveal(), "<secret>");
            // The message may have been truncated upstream, in the middle of a secret.
            let heads = (MIN_SECRET_CHARS..secret.reveal().len()).rev();
            let mut heads = heads.filter_map(|end| secret.reveal().get(..end));
            match heads.find_map(|head| words.strip_suffix(head)) {
                Some(before) => format!("{before}<secret>"),
                None => words,
            }
        })
    }

    /// Removes masked keys such as `sk-abc***wxyz`, which providers like to quote: both ends reveal
    /// something.
    fn hide_partial_secrets(&self, words: String) -> String {
        if !words.contains("***") {
            return words;
        }
        let is_part = |word: &str| {
            let head = word.split('*').next().unwrap_or_default();
            let starts = |secret: &Secret| secret.reveal().starts_with(head);
            word.contains("***")
                && head.len() >= MIN_SECRET_PREFIX_CHARS
                && self.secrets.iter().any(starts)
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

    /// Whether bytes that would be passed on unchanged contain a secret.
    pub(super) fn has_secret_in(&self, bytes: &[u8]) -> bool {
        let is_masked = matches!(secret_values::mask_bytes(bytes), Cow::Owned(_));
        let has_part = || {
            let text = String::from_utf8_lossy(bytes).into_owned();
            self.hide_partial_secrets(text.clone()) != text
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

    use super::ModelLabel;

    #[test]
    fn secrets_are_hidden_whole_and_cut() {
        let secrets = vec![Secret::new("sk-0123456789"), Secret::new("header-value")];
        let label = ModelLabel {
            provider: "p".to_owned(),
            model: "m".to_owned(),
            key_path: "providers.p.api_key".to_owned(),
            secrets,
        };
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
            assert_eq!(label.quote(words), expected);
        }
        let long = label.quote(&"x".repeat(300));
        assert_eq!(long.chars().count(), 201, "{long}");
        assert!(label.has_secret_in(b"... header-value ..."));
        assert!(label.has_secret_in(br#"{"error":"bad key sk-0**************789"}"#));
        assert!(!label.has_secret_in(b"header"));
    }
}
