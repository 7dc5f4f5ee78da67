//! What a gateway is asked about the memory.

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use serde_json::Value;
use tollgate_core::text::percent_encoded;

use super::{Gateway, complaint, joined, request, understood};
use crate::failure::Failure;

/// Parameters of a query.
pub type Query<'q> = [(&'q str, String)];

/// Lines that were not taken.
pub struct Untaken {
    /// From 1; `None`: it was about none of them.
    pub line: Option<u64>,
    pub why: String,
}

impl Gateway {
    /// `GET /api/memory…`
    pub async fn remembered(&self, path: &str, query: &Query<'_>) -> Result<Value, Failure> {
        self.ask(request(Method::GET, &address(path, query), None)?).await
    }

    /// The same; `None` for what is not there.
    pub async fn recall(&self, path: &str, query: &Query<'_>) -> Result<Option<Value>, Failure> {
        let response = self.exchange(request(Method::GET, &address(path, query), None)?).await?;
        match response.status() {
            StatusCode::NOT_FOUND => Ok(None),
            _ => understood(&response).map(Some),
        }
    }

    /// `POST` and `PUT /api/memory…`
    pub async fn remember(
        &self,
        method: Method,
        (path, query): (&str, &Query<'_>),
        body: &Value,
    ) -> Result<Value, Failure> {
        self.ask(request(method, &address(path, query), Some(body))?).await
    }

    /// `DELETE /api/memory…`
    pub async fn forget(&self, path: &str, query: &Query<'_>) -> Result<Value, Failure> {
        self.ask(request(Method::DELETE, &address(path, query), None)?).await
    }

    /// `POST /api/memory/import`: whole lines, as many as fit into one request.
    pub async fn import(
        &self,
        query: &Query<'_>,
        lines: Bytes,
    ) -> Result<Result<Value, Untaken>, Failure> {
        let request = Request::builder()
            .method(Method::POST)
            .uri(address("/import", query))
            .header(header::CONTENT_TYPE, "application/x-ndjson")
            .body(lines)
            .map_err(|error| Failure::Usage(format!("not a request: {error}")))?;
        let response = self.exchange(request).await?;
        match response.status().is_success() {
            true => understood(&response).map(Ok),
            false => Ok(Err(untaken(&response))),
        }
    }

    /// `GET /api/memory/export`: gives the parts to `each` as they come.
    pub async fn export(
        &self,
        query: &Query<'_>,
        each: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<(), Failure> {
        let request = request(Method::GET, &address("/export", query), None)?;
        let response = match self {
            Self::Remote(remote) => remote.follow(request, each).await?,
            Self::Local(local) => local.follow(request, each).await?,
        };
        match response.status().is_success() {
            true => Ok(()),
            false => understood(&response).map(drop),
        }
    }
}

/// `/session/a%20b` for the parts of a path that somebody typed.
pub fn path(collection: &str, id: &str) -> String {
    format!("/{collection}/{}", percent_encoded(id))
}

fn address(path: &str, query: &Query<'_>) -> String {
    match query.is_empty() {
        true => format!("/api/memory{path}"),
        false => format!("/api/memory{path}?{}", joined(query)),
    }
}

fn untaken(response: &Response<Bytes>) -> Untaken {
    let body: Value = serde_json::from_slice(response.body()).unwrap_or_default();
    let silent = || format!("the gateway answered {}", response.status());
    let why = complaint(&body).map_or_else(silent, str::to_owned);
    let line = body["line"].as_u64();
    // Which line it is is said by whoever knows the file.
    let prefix = line.map(|line| format!("line {line}: ")).unwrap_or_default();
    Untaken { line, why: why.strip_prefix(&prefix).unwrap_or(&why).to_owned() }
}
