//! `search`: asks the search service of the operator's.

use async_trait::async_trait;
use http::{HeaderValue, Request, StatusCode};
use http_body_util::Full;
use serde_json::{Map, Value, json};
use tollgate_core::json as raw_json;

use super::FOREIGN;
use super::backend::{self, Found};
use crate::builtin::{Asker, Failure, Reply, Tool, latency_outside, text_argument};
use crate::clock::{Clock as _, SystemClock};
use crate::settings::{self, Searcher};
use crate::web::fetch::{Bounds, Fetch};

const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
const MOST_BYTES: usize = 1 << 20;
/// What the services take.
const LONGEST_QUERY: usize = 400;

pub(super) struct Search {
    settings: settings::Search,
}

impl Search {
    pub(super) fn new(settings: &settings::Search) -> Self {
        Self { settings: settings.clone() }
    }

    async fn ask(&self, query: &str, asker: &Asker) -> Result<Vec<Found>, String> {
        let url = backend::url(&self.settings, query);
        let fetch = Fetch::new(&self.settings.url)?;
        let latest = SystemClock.now() + PATIENCE;
        let until = asker.until.map_or(latest, |until| until.min(latest));
        let bounds = Bounds { until, most_bytes: MOST_BYTES };
        let response = fetch
            .exchange_within(&url, self.request()?, bounds)
            .await
            .map_err(|refused| format!("the search service cannot be asked: {refused}"))?;
        self.judge(response.status())?;
        let text = std::str::from_utf8(response.body()).unwrap_or_default();
        let body = raw_json::value(text).map_err(|_| self.no_json())?;
        backend::read(self.settings.searcher, &body).ok_or_else(|| self.no_json())
    }

    fn request(&self) -> Result<Request<Full<bytes::Bytes>>, String> {
        let mut request = Request::new(Full::default());
        let headers = request.headers_mut();
        headers.insert("accept", HeaderValue::from_static("application/json"));
        if let Some(key) = &self.settings.key {
            let (name, text) = match self.settings.searcher {
                Searcher::Brave => ("x-subscription-token", key.reveal().trim().to_owned()),
                Searcher::Searxng => ("authorization", format!("Bearer {}", key.reveal().trim())),
            };
            let mut value = HeaderValue::try_from(text)
                .map_err(|_| "`builtin.web.api_key` has characters that no header may hold")?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(request)
    }

    fn judge(&self, status: StatusCode) -> Result<(), String> {
        let words = match status.as_u16() {
            200..=299 => return Ok(()),
            401 => "refuses the key; whoever runs the gateway must check `builtin.web.api_key`",
            403 if self.settings.searcher == Searcher::Searxng => {
                "refuses to answer; `json` must be among its `search.formats`, and its limiter \
                 must let the gateway in"
            }
            403 | 422 => {
                "refuses the request; whoever runs the gateway must check \
                          `builtin.web.api_key` and its plan"
            }
            429 => "wants fewer questions; try again later",
            300..=399 => "has moved; whoever runs the gateway must set `builtin.web.url` anew",
            status => return Err(format!("the search service answered with status {status}")),
        };
        Err(format!("the search service {words}"))
    }

    fn no_json(&self) -> String {
        match self.settings.searcher {
            Searcher::Searxng => "the search service did not answer in JSON; `json` must be among \
                                  its `search.formats`"
                .to_owned(),
            Searcher::Brave => "the search service did not answer in JSON".to_owned(),
        }
    }
}

#[async_trait]
impl Tool for Search {
    fn definition(&self) -> Value {
        let found = json!({
            "type": "object",
            "properties": {
                "title": { "type": "string" },
                "url": { "type": "string" },
                "snippet": { "type": "string", "description": "Written by others" },
            },
            "required": ["title", "url", "snippet"],
        });
        json!({
            "name": "search",
            "title": "Search the web",
            "description": "Searches the web and gives titles, addresses and a few words of the \
                best results. `fetch_page` reads one of them.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": {
                        "type": "string",
                        "description": "What to look for, in a few words",
                        "minLength": 1,
                        "maxLength": LONGEST_QUERY,
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

    async fn call(&self, arguments: &Map<String, Value>, asker: &Asker) -> Result<Reply, Failure> {
        let query = text_argument(arguments, "query")?.trim();
        if query.is_empty() {
            return Err(Failure::new("`query` is empty: say what to look for"));
        }
        let found = self.ask(query, asker).await.map_err(Failure::new)?;
        let results: Vec<Value> = found
            .iter()
            .map(|it| json!({ "title": it.title, "url": it.url, "snippet": it.snippet }))
            .collect();
        Ok(Reply {
            text: said(query, &found),
            structured: Some(json!({ "query": query, "results": results })),
        })
    }
}

fn said(query: &str, found: &[Found]) -> String {
    if found.is_empty() {
        return format!("Nothing was found for `{query}`.");
    }
    let mut text = FOREIGN.to_owned();
    for (nth, it) in found.iter().enumerate() {
        text.push_str(&format!("\n\n{}. {}\n{}", nth + 1, it.title, it.url));
        if !it.snippet.is_empty() {
            text.push('\n');
            text.push_str(&it.snippet);
        }
    }
    text
}
