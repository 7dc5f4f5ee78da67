//! How a model and its provider are called in failures, and what of a provider's words is repeated.

use tollgate_core::secret::Secret;
use tollgate_core::text::shortened;

/// Characters of what a provider said that are worth repeating.
const MOST_SHOWN: usize = 200;

/// Names for people. Knows the key, to keep it out of all that is said.
#[derive(Debug, Clone)]
pub(super) struct Label {
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) key: Option<Secret>,
}

impl Label {
    /// Something about the provider as such.
    pub(super) fn of_provider(&self, what: &str) -> String {
        format!("provider `{}` {what}", self.provider)
    }

    /// Something about the model.
    pub(super) fn of_model(&self, what: &str) -> String {
        format!("model `{}` of provider `{}` {what}", self.model, self.provider)
    }

    /// The provider's own words: one line, not too long, without the key.
    pub(super) fn quoted(&self, words: &str) -> String {
        let hidden = self.hide_key(words);
        let line: Vec<&str> = hidden
            .split(|c: char| c.is_whitespace() || c.is_control())
            .filter(|word| !word.is_empty())
            .collect();
        shortened(&line.join(" "), MOST_SHOWN)
    }

    fn hide_key(&self, words: &str) -> String {
        match &self.key {
            Some(key) if !key.reveal().is_empty() => words.replace(key.reveal(), "<secret>"),
            _ => words.to_owned(),
        }
    }

    /// Whether the key stands in something that would be passed on as it is.
    pub(super) fn is_betrayed_by(&self, bytes: &[u8]) -> bool {
        let key = self.key.as_ref().map_or("", |key| key.reveal()).as_bytes();
        !key.is_empty() && bytes.windows(key.len()).any(|window| window == key)
    }
}
