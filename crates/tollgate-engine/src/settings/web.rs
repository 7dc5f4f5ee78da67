//! The web, as far as built-in tools may go there, and the allowlist of private hosts for the SSRF
//! guard.

use tollgate_core::secret::Secret;

use crate::web::AllowedHost;

/// For `search` and `fetch_page`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSettings {
    /// `None`: there is nothing to search with, and pages can be read all the same.
    pub search: Option<WebSearchSettings>,
    /// Places that pages may be fetched from although they are not on the public web.
    pub allow_private: Vec<AllowedHost>,
}

/// A search service. Its URL is the operator's word, and may be private.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSearchSettings {
    pub searcher: SearchProvider,
    pub url: String,
    pub key: Option<Secret>,
}

/// Whose JSON it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchProvider {
    Searxng,
    Brave,
}
