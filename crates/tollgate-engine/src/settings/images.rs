//! Where pictures come from.

use tollgate_core::secret::Secret;

/// Any API that takes `POST {base_url}/images/generations`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSettings {
    /// Without a `/` at its end. The operator's word: may be private.
    pub base_url: String,
    pub key: Option<Secret>,
    /// Sent along, by lower-case names.
    pub headers: Vec<(String, Secret)>,
    pub model: String,
    /// Like `1024x1024`; `None`: what the service likes best.
    pub size: Option<String>,
}
