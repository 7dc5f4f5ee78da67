//! Gateway requests about the memory.

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use serde_json::Value;
use tollgate_core::text::percent_encoded;

use super::{Gateway, complaint, decode_response, query_string, request};
use crate::command_error::CommandError;

/// Parameters of a query.
pub type QueryPairs<'q> = [(&'q str, String)];

/// Lines that were refused.
pub struct MemoryImportError {
    /// From 1. `None`: not about a single line.
    pub line: Option<u64>,
    pub why: String,
}

impl Gateway {
    /// `GET /api/memory…`
    pub async fn get_memory(
        &self,
        path: &str,
        query: &QueryPairs<'_>,
    ) -> Result<Value, CommandError> {
        self.ask(request(Method::GET, &address(path, query), None)?).await
    }

    /// The same. `None` for 404.
    pub async fn recall(
        &self,
        path: &str,
        query: &QueryPairs<'_>,
    ) -> Result<Option<Value>, CommandError> {
        let response = self.exchange(request(Method::GET, &address(path, query), None)?).await?;
        match response.status() {
            StatusCode::NOT_FOUND => Ok(None),
            _ => decode_response(&response).map(Some),
        }
    }

    /// `POST` and `PUT /api/memory…`
    pub async fn remember(
        &self,
        method: Method,
        path: &str,
        query: &QueryPairs<'_>,
        body: &Value,
    ) -> Result<Value, CommandError> {
        self.ask(request(method, &address(path, query), Some(body))?).await
    }

    /// `DELETE /api/memory…`
    pub async fn forget(&self, path: &str, query: &QueryPairs<'_>) -> Result<Value, CommandError> {
        self.ask(request(Method::DELETE, &address(path, query), None)?).await
    }

    /// `POST /api/memory/import`: complete lines, as many as fit into one request.
    pub async fn import(
        &self,
        query: &QueryPairs<'_>,
        lines: Bytes,
    ) -> Result<Result<Value, MemoryImportError>, CommandError> {
        let request = Request::builder()
            .method(Method::POST)
            .uri(address("/import", query))
            .header(header::CONTENT_TYPE, "application/x-ndjson")
            .body(lines)
            .map_err(|error| CommandError::Usage(format!("not a request: {error}")))?;
        let response = self.exchange(request).await?;
        if response.status().is_success() {
            decode_response(&response).map(Ok)
        } else {
            Ok(Err(import_error(&response)))
        }
    }

    /// `GET /api/memory/export`: passes the chunks to `each` as they arrive.
    pub async fn export(
        &self,
        query: &QueryPairs<'_>,
        each: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<(), CommandError> {
        let request = request(Method::GET, &address("/export", query), None)?;
        let response = match self {
            Self::Remote(remote) => remote.follow(request, each).await?,
            Self::Local(local) => local.follow(request, each).await?,
        };
        if response.status().is_success() { Ok(()) } else { decode_response(&response).map(drop) }
    }
}

/// `/session/a%20b`: a path with user input.
pub fn path(collection: &str, id: &str) -> String {
    format!("/{collection}/{}", percent_encoded(id))
}

fn address(path: &str, query: &QueryPairs<'_>) -> String {
    if query.is_empty() {
        format!("/api/memory{path}")
    } else {
        format!("/api/memory{path}?{}", query_string(query))
    }
}

fn import_error(response: &Response<Bytes>) -> MemoryImportError {
    let body: Value = serde_json::from_slice(response.body()).unwrap_or_default();
    let silent = || format!("the gateway answered {}", response.status());
    let why = complaint(&body).map_or_else(silent, str::to_owned);
    let line = body["line"].as_u64();
    // The caller, which knows the file, adds its own line number.
    let prefix = line.map(|line| format!("line {line}: ")).unwrap_or_default();
    MemoryImportError { line, why: why.strip_prefix(&prefix).unwrap_or(&why).to_owned() }
}
