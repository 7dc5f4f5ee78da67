//! `GET /api/memory/export`: one namespace, or all of them, as JSON Lines.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, header};
use tokio_util::sync::CancellationToken;
use tollgate_core::memory::MemoryScope;
use tollgate_store::memory::{ExportCursor, MemoryError};

use super::{MemoryAdminRequest, api_response, json_lines};
use crate::app_state::AppState;

/// Progress of an export.
struct MemoryExportState {
    admin: MemoryAdminRequest,
    /// The last one is being written.
    scopes: Vec<MemoryScope>,
    from: Option<ExportCursor>,
    stop: CancellationToken,
}

pub(crate) async fn export(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        let admin = MemoryAdminRequest::open(&front, &sent, &[])?;
        let mut scopes = match (admin.query.text("namespace")?, &admin.agent) {
            (None, None) => {
                let all = admin.memory.store().namespaces().await?;
                all.into_iter().map(|(namespace, _)| MemoryScope::of_operator(namespace)).collect()
            }
            _ => vec![admin.scope()],
        };
        scopes.reverse();
        Ok(response(MemoryExportState { admin, scopes, from: None, stop: front.stop.clone() }))
    };
    api_response(answered.await)
}

/// Streams one part after the other, so it needs memory for one part only. If the memory becomes
/// unreadable, the response is aborted: it must not look complete.
fn response(going: MemoryExportState) -> Response {
    let parts = stream::try_unfold(going, |going| async move {
        if going.stop.is_cancelled() {
            Err(MemoryError::Away("the gateway is stopping".to_owned()))
        } else {
            going.part().await
        }
    });
    let mut response = Response::new(Body::from_stream(parts));
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "application/x-ndjson"),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"memory.jsonl\""),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

impl MemoryExportState {
    async fn part(mut self) -> Result<Option<(Bytes, Self)>, MemoryError> {
        let mut text = String::new();
        while text.is_empty() {
            let Some(scope) = self.scopes.last() else { return Ok(None) };
            let (records, next) = self.admin.memory.store().export(scope, self.from).await?;
            for record in &records {
                text.push_str(&json_lines::encode(&scope.namespace, record));
                text.push('\n');
            }
            self.from = next;
            if next.is_none() {
                self.scopes.pop();
            }
        }
        Ok(Some((Bytes::from(text), self)))
    }
}
