//! `/api/audit`: the audit ledger, page by page, as one export, or as a live tail.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::Serialize;
use tollgate_core::{date, digest};
use tollgate_engine::audit::{AuditLoss, AuditQuery, StoreError, VerifiedTrail};

use crate::api_error::{ApiError, ApiErrorFormat};
use crate::app_state::AppState;
use crate::fields::check_query;
use crate::ops::for_admins;
use crate::wire_schema::{LossWord, Time};

pub mod csv;
mod query_params;
pub(crate) mod row;
mod tail;

use query_params::{AuditExportFormat, AuditQueryParams};
use row::AuditRowJson;
pub(crate) use tail::tail;

/// `GET /api/audit`
pub(crate) async fn audit(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let params = for_admins(&front, &sent).and_then(|()| AuditQueryParams::read(&sent.uri));
    let answer = match params {
        Ok(AuditQueryParams { format: AuditExportFormat::Json, query, .. }) => {
            page(&front, query).await
        }
        Ok(params) => Ok(export(front, params)),
        Err(problem) => Err(problem),
    };
    answer.unwrap_or_else(|problem| problem.response(ApiErrorFormat::ProblemDetails))
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct AuditPageJson<'a> {
    rows: Vec<AuditRowJson<'a>>,
    /// the `after` of the next page
    next: Option<u64>,
    last: u64,
}

async fn page(front: &AppState, query: AuditQuery) -> Result<Response, ApiError> {
    let page = front.gate.ledger().page(query).await.map_err(|error| unreadable(&error))?;
    let rows = page.rows.iter().map(AuditRowJson::from).collect();
    Ok(Json(AuditPageJson { rows, next: page.next, last: page.last }).into_response())
}

/// Streams one page after the other, so an export needs memory for one page only. If the ledger
/// becomes unreadable, the response is aborted: it must not look complete.
fn export(front: Arc<AppState>, query: AuditQueryParams) -> Response {
    let (media, file, head) = match query.format {
        AuditExportFormat::Csv => ("text/csv; charset=utf-8", "audit.csv", csv::head()),
        AuditExportFormat::Json | AuditExportFormat::Lines => {
            ("application/x-ndjson", "audit.jsonl", String::new())
        }
    };
    let format = query.format;
    let state = Some((front, query, head));
    let pages = stream::try_unfold(state, move |state| async move {
        let Some((front, mut query, mut text)) = state else { return Ok(None) };
        if front.stop.is_cancelled() {
            return Err(StoreError::Failed("the gateway is stopping".to_owned()));
        }
        let limit = query
            .left
            .map_or(AuditQuery::MAX_PAGE_ROWS, |left| left.min(AuditQuery::MAX_PAGE_ROWS));
        query.query.limit = limit;
        let page = front.gate.ledger().page(query.query.clone()).await?;
        for row in &page.rows {
            let row = serde_json::to_value(AuditRowJson::from(row)).unwrap_or_default();
            match format {
                AuditExportFormat::Csv => text.push_str(&csv::line(&row)),
                AuditExportFormat::Json | AuditExportFormat::Lines => {
                    text.push_str(&row.to_string());
                    text.push('\n');
                }
            }
        }
        query.left = query.left.map(|left| left.saturating_sub(page.rows.len()));
        query.query.after = page.next;
        let is_over = page.next.is_none() || query.left == Some(0);
        let next = (!is_over).then(|| (front, query, String::new()));
        Ok::<_, StoreError>(Some((Bytes::from(text), next)))
    });
    let mut response = Response::new(Body::from_stream(pages));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let named = format!("attachment; filename=\"{file}\"");
    if let Ok(named) = HeaderValue::from_str(&named) {
        headers.insert(header::CONTENT_DISPOSITION, named);
    }
    response
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct AuditVerificationJson {
    ok: bool,
    rows: u64,
    removed: u64,
    last: u64,
    head: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    broken: Option<AuditBreakJson>,
    /// rows missing from the end or the beginning
    losses: Vec<AuditLossJson>,
}

#[derive(JsonSchema, Serialize)]
struct AuditBreakJson {
    sequence: u64,
    problem: String,
}

#[derive(JsonSchema, Serialize)]
struct AuditLossJson {
    /// `null`: not yet known
    #[schemars(with = "Option<Time>")]
    found: Option<String>,
    #[schemars(with = "LossWord")]
    kind: &'static str,
    problem: String,
}

impl From<&AuditLoss> for AuditLossJson {
    fn from(loss: &AuditLoss) -> Self {
        let found = loss.found.map(date::format_rfc3339);
        Self { found, kind: loss.kind.as_str(), problem: loss.to_string() }
    }
}

impl From<VerifiedTrail> for AuditVerificationJson {
    fn from(found: VerifiedTrail) -> Self {
        let ok = found.is_whole();
        let losses = found.losses.iter().map(AuditLossJson::from).collect();
        let broken = found.broken.map(|broken| AuditBreakJson {
            sequence: broken.sequence,
            problem: broken.to_string(),
        });
        Self {
            ok,
            rows: found.rows,
            removed: found.cut,
            last: found.last,
            head: digest::hex(&found.head),
            broken,
            losses,
        }
    }
}

/// `GET /api/audit/verify`
pub(crate) async fn verify(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let allowed = for_admins(&front, &sent).and_then(|()| check_query(&sent.uri, &[]));
    if let Err(problem) = allowed {
        return problem.response(ApiErrorFormat::ProblemDetails);
    }
    match front.gate.ledger().verify().await {
        Ok(Some(found)) => Json(AuditVerificationJson::from(found)).into_response(),
        Ok(None) => NO_AUDIT.response(ApiErrorFormat::ProblemDetails),
        Err(error) => unreadable(&error).response(ApiErrorFormat::ProblemDetails),
    }
}

const NO_AUDIT: ApiError =
    ApiError::new(StatusCode::NOT_FOUND, "no_audit", "this gateway has no audit trail");

fn unreadable(error: &StoreError) -> ApiError {
    let detail = format!("the audit trail cannot be read: {error}; {}", error.remedy());
    ApiError::with_detail(StatusCode::SERVICE_UNAVAILABLE, "audit_unreadable", detail)
}

#[cfg(test)]
mod tests;
