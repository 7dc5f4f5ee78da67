//! `search`: queries the operator's search service.

use async_trait::async_trait;
use http::{HeaderValue, Request, StatusCode};
use http_body_util::Full;
use serde_json::{Map, Value, json};
use tollgate_core::json as raw_json;

use super::UNTRUSTED_CONTENT_NOTICE;
use super::search_api::{self, WebSearchResult};
use crate::builtin::{
    BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError, latency_outside, text_argument,
};
use crate::clock::{Clock as _, SystemClock};
use crate::settings::{self, SearchProvider};
use crate::web::FetchError;
use crate::web::fetch::{ExchangeBounds, OperatorHttpClient};

const SEARCH_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);
const MAX_RESPONSE_BYTES: usize = 1 << 20;
/// Limit of the search services.
const MAX_QUERY_CHARS: usize = 400;

pub(super) struct WebSearch {
    settings: settings::WebSearchSettings,
}

/// Why there are no results. The message is for the model.
#[derive(Debug, thiserror::Error)]
enum WebSearchError {
    #[error(transparent)]
    Url(#[from] FetchError),
    #[error("`builtin.web.api_key` has characters that are not allowed in a header")]
    Key,
    #[error("the search service is unavailable: {0}")]
    Unavailable(FetchError),
    #[error("the search service {0}")]
    Refused(&'static str),
    #[error("the search service answered with status {0}")]
    Status(u16),
    #[error("the search service did not answer in JSON")]
    NoJson,
    #[error("the search service did not answer in JSON; `json` must be in its `search.formats`")]
    SearxngFormat,
}

impl WebSearch {
    pub(super) fn new(settings: &settings::WebSearchSettings) -> Self {
        Self { settings: settings.clone() }
    }

    async fn ask(
        &self,
        query: &str,
        asker: &BuiltinToolContext,
    ) -> Result<Vec<WebSearchResult>, WebSearchError> {
        let url = search_api::url(&self.settings, query);
        let fetch = OperatorHttpClient::new(&self.settings.url)?;
        let latest = SystemClock.now() + SEARCH_TIMEOUT;
        let until = asker.until.map_or(latest, |until| until.min(latest));
        let bounds = ExchangeBounds { until, most_bytes: MAX_RESPONSE_BYTES };
        let response = fetch
            .exchange_within(&url, self.request()?, bounds)
            .await
            .map_err(WebSearchError::Unavailable)?;
        self.judge(response.status())?;
        let text = std::str::from_utf8(response.body()).unwrap_or_default();
        let body = raw_json::value(text).map_err(|_| self.no_json())?;
        search_api::read(self.settings.searcher, &body).ok_or_else(|| self.no_json())
    }

    fn request(&self) -> Result<Request<Full<bytes::Bytes>>, WebSearchError> {
        let mut request = Request::new(Full::default());
        let headers = request.headers_mut();
        headers.insert("accept", HeaderValue::from_static("application/json"));
        if let Some(key) = &self.settings.key {
            let (name, text) = match self.settings.searcher {
                SearchProvider::Brave => ("x-subscription-token", key.reveal().trim().to_owned()),
                SearchProvider::Searxng => {
                    ("authorization", format!("Bearer {}", key.reveal().trim()))
                }
            };
            let mut value = HeaderValue::try_from(text).map_err(|_| WebSearchError::Key)?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(request)
    }

    fn judge(&self, status: StatusCode) -> Result<(), WebSearchError> {
        let words = match status.as_u16() {
            200..=299 => return Ok(()),
            401 => "rejected the key; the operator must check `builtin.web.api_key`",
            403 if self.settings.searcher == SearchProvider::Searxng => {
                "denied the request; `json` must be in its `search.formats`, and its limiter must \
                 allow the gateway"
            }
            403 | 422 => {
                "denied the request; the operator must check `builtin.web.api_key` and its plan"
            }
            429 => "is rate limiting; try again later",
            300..=399 => "redirected the request; the operator must correct `builtin.web.url`",
            status => return Err(WebSearchError::Status(status)),
        };
        Err(WebSearchError::Refused(words))
    }

    fn no_json(&self) -> WebSearchError {
        match self.settings.searcher {
            SearchProvider::Searxng => WebSearchError::SearxngFormat,
            SearchProvider::Brave => WebSearchError::NoJson,
        }
    }
}

#[async_trait]
impl BuiltinTool for WebSearch {
    fn definition(&self) -> Value {
        let found = json!({
            "type": "object",
            "properties": {
                "title": { "type": "string" },
                "url": { "type": "string" },
                "snippet": { "type": "string", "description": "Written by third parties" },
            },
            "required": ["title", "url", "snippet"],
        });
        json!({
            "name": "search",
            "title": "Search the web",
            "description": "Searches the web and returns titles, addresses and excerpts of the \
                            best results. `fetch_page` reads one of them.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": {
                        "type": "string",
                        "description": "What to look for, in a few words",
                        "minLength": 1,
                        "maxLength": MAX_QUERY_CHARS,
                    },
                },
                "required": ["query"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "query": { "type": "string" },
                    "results": { "type": "array", "items": found },
                },
                "required": ["query", "results"],
            },
            "annotations": {
                "title": "Search the web",
                "readOnlyHint": true,
                "destructiveHint": false,
                "idempotentHint": true,
                "openWorldHint": true,
            },
            "_meta": latency_outside(1500, 3000),
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        asker: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        let query = text_argument(arguments, "query")?.trim();
        if query.is_empty() {
            return Err(BuiltinToolError::new("`query` is empty: say what to look for"));
        }
        let found = self.ask(query, asker).await.map_err(super::failure)?;
        let results: Vec<Value> = found
            .iter()
            .map(|it| json!({ "title": it.title, "url": it.url, "snippet": it.snippet }))
            .collect();
        Ok(BuiltinReply {
            text: results_text(query, &found),
            structured: Some(json!({ "query": query, "results": results })),
        })
    }
}

fn results_text(query: &str, found: &[WebSearchResult]) -> String {
    if found.is_empty() {
        return format!("Nothing was found for `{query}`.");
    }
    let mut text = UNTRUSTED_CONTENT_NOTICE.to_owned();
    for (nth, it) in found.iter().enumerate() {
        text.push_str(&format!("\n\n{}. {}\n{}", nth + 1, it.title, it.url));
        if !it.snippet.is_empty() {
            text.push('\n');
            text.push_str(&it.snippet);
        }
    }
    text
}
