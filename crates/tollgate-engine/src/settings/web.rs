//! Settings of the web tools, with the allowlist of private hosts for the SSRF guard.

use tollgate_core::secret::Secret;

use crate::web::AllowedHost;

/// For `search` and `fetch_page`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSettings {
    /// `None`: no `search` tool; pages can still be fetched.
    pub search: Option<WebSearchSettings>,
    /// Hosts that pages may be fetched from although they are not public.
    pub allow_private: Vec<AllowedHost>,
}

/// A search service. Its URL is set by the operator, so it may be a private address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSearchSettings {
    pub searcher: SearchProvider,
    pub url: String,
    pub key: Option<Secret>,
}

/// The JSON dialect of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchProvider {
    Searxng,
    Brave,
}
