//! Requests and responses of search services (JSON). Pure.

use serde_json::Value;
use tollgate_core::text::truncate_chars;
use url::Url;

use super::{readable, strip_invisible};
use crate::settings::{SearchProvider, WebSearchSettings};
use crate::web::fetch::form;

const MAX_RESULTS: usize = 10;
const MAX_TITLE_CHARS: usize = 200;
const MAX_SNIPPET_CHARS: usize = 400;
const MAX_URL_LEN: usize = 2_048;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WebSearchResult {
    pub(super) title: String,
    pub(super) url: String,
    pub(super) snippet: String,
}

/// The request URL. For a bare service address the provider's search path is appended.
pub(super) fn url(search: &WebSearchSettings, query: &str) -> String {
    let base = search.url.trim_end_matches(['/', '?']);
    let rooted = Url::parse(base).is_ok_and(|url| url.path() == "/" && url.query().is_none());
    let fields = match search.searcher {
        SearchProvider::Searxng => form(&[("q", query), ("format", "json")]),
        SearchProvider::Brave => form(&[("q", query), ("count", &MAX_RESULTS.to_string())]),
    };
    let path = match search.searcher {
        SearchProvider::Searxng if rooted => "/search",
        SearchProvider::Brave if rooted => "/res/v1/web/search",
        SearchProvider::Searxng | SearchProvider::Brave => "",
    };
    let joint = if base.contains('?') { '&' } else { '?' };
    format!("{base}{path}{joint}{fields}")
}

/// `None`: not a response of such a service.
pub(super) fn read(searcher: SearchProvider, body: &Value) -> Option<Vec<WebSearchResult>> {
    let (results, snippet) = match searcher {
        SearchProvider::Searxng => (body.get("results")?.as_array()?.as_slice(), "content"),
        // Brave omits `web` if there are no results.
        SearchProvider::Brave => match body.get("web") {
            Some(web) => (web.get("results")?.as_array()?.as_slice(), "description"),
            None if body.get("type").and_then(Value::as_str) == Some("search") => (&[][..], ""),
            None => return None,
        },
    };
    let mut found: Vec<WebSearchResult> = Vec::new();
    for result in results {
        let Some(next) = read_result(result, snippet) else { continue };
        if found.len() < MAX_RESULTS && found.iter().all(|known| known.url != next.url) {
            found.push(next);
        }
    }
    Some(found)
}

fn read_result(result: &Value, snippet: &str) -> Option<WebSearchResult> {
    let text = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or_default();
    let url =
        Url::parse(text("url")).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    if url.as_str().len() > MAX_URL_LEN {
        return None;
    }
    let line = |key: &str, longest| {
        // Many more characters than are shown, because tags and entities are removed.
        let start: String = text(key).chars().take(longest * 10).collect();
        truncate_chars(&strip_invisible(&readable::line(&start)), longest)
    };
    let title = line("title", MAX_TITLE_CHARS);
    Some(WebSearchResult {
        title: if title.is_empty() { url.as_str().to_owned() } else { title },
        snippet: line(snippet, MAX_SNIPPET_CHARS),
        url: url.into(),
    })
}
