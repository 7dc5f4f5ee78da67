//! Settings of image generation.

use tollgate_core::secret::Secret;

/// Any API that takes `POST {base_url}/images/generations`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSettings {
    /// Without a trailing `/`. Set by the operator, so it may be a private address.
    pub base_url: String,
    pub key: Option<Secret>,
    /// Additional headers, with lower-case names.
    pub headers: Vec<(String, Secret)>,
    pub model: String,
    /// For example `1024x1024`; `None`: the service's default.
    pub size: Option<String>,
}
