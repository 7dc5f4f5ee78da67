//! The web, as far as built-in tools may go there.

use tollgate_core::secret::Secret;

use crate::web::Opened;

/// For `search` and `fetch_page`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Web {
    /// `None`: there is nothing to search with, and pages can be read all the same.
    pub search: Option<Search>,
    /// Places that pages may be fetched from although they are not on the public web.
    pub allow_private: Vec<Opened>,
}

/// A search service. Its URL is the operator's word, and may be private.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    pub searcher: Searcher,
    pub url: String,
    pub key: Option<Secret>,
}

/// Whose JSON it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Searcher {
    Searxng,
    Brave,
}
