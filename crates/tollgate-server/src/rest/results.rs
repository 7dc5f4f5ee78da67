//! `GET /v1/results/{handle}`: a large result that did not fit into its answer, or a late result,
//! page by page.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, Query, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tollgate_core::shaping::pages::{self, NoSuchPageError, Page, PageContent};
use tollgate_engine::results::{ResultLookup, StoredResult};
use tollgate_engine::settings::ResultForm;
use tollgate_mcp::offload::offload_if_large;

use crate::api_error::{ApiError, ApiErrorFormat};
use crate::app_state::AppState;
use crate::fields::check_query;
use crate::request_context::RequestLink;
use crate::wire_schema::{PageKindWord, PendingWord, ReadyWord, StatusWord};

/// The same for expired, foreign and invalid handles.
const UNKNOWN: ApiError = ApiError::new(
    StatusCode::NOT_FOUND,
    "unknown_result",
    "there is no such result, or it has expired; results are kept for some minutes",
);

const MALFORMED_QUERY: ApiError =
    ApiError::new(StatusCode::BAD_REQUEST, "bad_query", "the query is malformed");

#[derive(Debug, Deserialize)]
struct ResultPageParams {
    page: Option<String>,
    /// `raw`: as the server sent it.
    form: Option<String>,
}

pub(crate) async fn results(
    State(front): State<Arc<AppState>>,
    Path(handle): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    let query = check_query(&sent.uri, &["page", "form"]).and_then(|()| {
        Query::<ResultPageParams>::try_from_uri(&sent.uri).map_err(|_| MALFORMED_QUERY)
    });
    let read = match query {
        Ok(Query(query)) => read(&front, &sent, handle, query).await,
        Err(problem) => Err(problem),
    };
    read.unwrap_or_else(|problem| problem.response(ApiErrorFormat::OpenAi))
}

async fn read(
    front: &AppState,
    sent: &Parts,
    handle: String,
    query: ResultPageParams,
) -> Result<Response, ApiError> {
    let principal = front.keys.visitor(sent)?.principal;
    let link = RequestLink::read(sent)?;
    let form = match query.form.as_deref() {
        None | Some("clean") => ResultForm::Clean,
        Some("raw") => ResultForm::Raw,
        Some(_) => return Err(NO_FORM),
    };
    let number = match query.page {
        None => 1,
        Some(text) => text.parse().ok().filter(|number| *number > 0).ok_or(NO_PAGE)?,
    };
    match front.gate.result(&principal, &handle) {
        ResultLookup::Unknown => Err(UNKNOWN),
        ResultLookup::Pending { since } => {
            Ok(Json(PendingResultJson::new(&handle, since)).into_response())
        }
        // Every page reads the whole result.
        ResultLookup::Ready(stored) => {
            if let Some(link) = link.as_turn_link() {
                front.gate.note_linked(&principal, link, &stored.outcome);
            }
            offload_if_large(stored.outcome.result.get().len(), move || {
                let page = page(&stored, form, number)?;
                Ok(Json(ResultPageJson::new(&handle, &stored, &page)).into_response())
            })
            .await
        }
    }
}

const NO_PAGE: ApiError =
    ApiError::new(StatusCode::BAD_REQUEST, "bad_page", "`page` must be at least 1");

const NO_FORM: ApiError =
    ApiError::new(StatusCode::BAD_REQUEST, "bad_query", "`form` is `clean` or `raw`");

fn page(stored: &StoredResult, form: ResultForm, number: u32) -> Result<Page, ApiError> {
    let result = match (form, &stored.raw) {
        (ResultForm::Raw, Some(raw)) => raw,
        (ResultForm::Raw, None) | (ResultForm::Clean, _) => &stored.outcome.result,
    };
    pages::page(result, number, stored.page_bytes).map_err(|NoSuchPageError { pages }| {
        let detail = format!("there is no page {number}; the pages are 1 to {pages}");
        ApiError::with_detail(StatusCode::NOT_FOUND, "unknown_page", detail)
    })
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct PendingResultJson<'a> {
    handle: &'a str,
    #[schemars(with = "PendingWord")]
    status: &'static str,
    since_ms: u128,
}

impl<'a> PendingResultJson<'a> {
    fn new(handle: &'a str, since: Duration) -> Self {
        Self { handle, status: "pending", since_ms: since.as_millis() }
    }
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct ResultPageJson<'a> {
    handle: &'a str,
    #[schemars(with = "ReadyWord")]
    status: &'static str,
    /// final status of the call
    #[schemars(with = "StatusWord")]
    outcome: &'static str,
    name: &'a str,
    page: u32,
    pages: u32,
    next: Option<u32>,
    holds: PageContentJson<'a>,
    data: &'a RawValue,
}

/// Which part of the whole result a page contains.
#[derive(JsonSchema, Serialize)]
struct PageContentJson<'a> {
    #[schemars(with = "PageKindWord")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<&'a str>,
}

impl<'a> ResultPageJson<'a> {
    fn new(handle: &'a str, stored: &'a StoredResult, page: &'a Page) -> Self {
        Self {
            handle,
            status: "ready",
            outcome: stored.outcome.status.as_str(),
            name: &stored.tool,
            page: page.number,
            pages: page.pages,
            next: page.next,
            holds: PageContentJson::from(&page.holds),
            data: &page.data,
        }
    }
}

impl<'a> From<&'a PageContent> for PageContentJson<'a> {
    fn from(holds: &'a PageContent) -> Self {
        let of_kind = |kind| Self { kind, first: None, of: None, part: None };
        match holds {
            PageContent::Whole => of_kind("whole"),
            PageContent::Items { first, of } => {
                Self { first: Some(*first), of: Some(*of), ..of_kind("items") }
            }
            PageContent::Fields => of_kind("fields"),
            PageContent::Text { part } => Self { part: part.as_deref(), ..of_kind("text") },
            PageContent::Source { part } => Self { part: part.as_deref(), ..of_kind("source") },
        }
    }
}
