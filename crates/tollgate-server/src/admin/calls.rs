//! `GET /api/calls`: running and recent calls, from memory. Older calls are in the audit ledger.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{StatusCode, Uri};
use schemars::JsonSchema;
use serde::Serialize;
use tollgate_core::glob::Glob;
use tollgate_engine::calls::{CallProgress, CallReason};

use super::api_response;
use crate::api_error::ApiError;
use crate::app_state::AppState;
use crate::fields::{check_query, parameter};
use crate::ops::for_observers;

pub(crate) mod call_json;

use call_json::CallJson;
pub(super) use call_json::event;

const KEYS: &[&str] = &[
    "turn",
    "agent",
    "server",
    "tool",
    "name",
    "principal",
    "outcome",
    "probes",
    "after",
    "limit",
];
/// Default page size.
const DEFAULT_PAGE_CALLS: usize = 100;
const MAX_PAGE_CALLS: usize = 500;
/// Limit on a filter, in characters.
const MAX_FILTER_CHARS: usize = 256;

/// `GET /api/calls`
pub(crate) async fn calls(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let query = for_observers(&front, &sent).and_then(|()| CallQueryParams::read(&sent.uri));
    api_response(query.map(|query| page(&front, &query)))
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct CallPageJson<'a> {
    /// oldest first
    running: Vec<CallJson<'a>>,
    /// newest first
    calls: Vec<CallJson<'a>>,
    /// the `after` of the next page
    next: Option<u64>,
}

fn page(front: &AppState, query: &CallQueryParams) -> Response {
    let calls = front.gate.calls();
    let now = calls.now();
    // Running calls are on the first page only, and have no outcome yet.
    let is_first = query.after.is_none() && query.outcome.is_none();
    let mut running = if is_first { calls.running() } else { Vec::new() };
    running.retain(|course| query.wants(course));
    let page = calls.list_finished(query.after, query.limit, |course| query.wants(course));
    Json(CallPageJson {
        running: running.iter().map(|course| CallJson::new(course, now)).collect(),
        calls: page.calls.iter().map(|course| CallJson::new(course, now)).collect(),
        next: page.next,
    })
    .into_response()
}

/// Whether the gateway's own probe calls are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProbeVisibility {
    Shown,
    LeftOut,
}

/// Query parameters of the request.
struct CallQueryParams {
    turn: Option<String>,
    agent: Option<String>,
    server: Option<String>,
    tool: Option<String>,
    name: Option<Glob>,
    principal: Option<String>,
    outcome: Option<String>,
    probes: ProbeVisibility,
    after: Option<u64>,
    limit: usize,
}

impl CallQueryParams {
    fn read(uri: &Uri) -> Result<Self, ApiError> {
        check_query(uri, KEYS)?;
        let text = |key| text(uri, key);
        let limit = number(uri, "limit")?
            .map_or(DEFAULT_PAGE_CALLS, |it| usize::try_from(it).unwrap_or(MAX_PAGE_CALLS + 1));
        if limit == 0 || limit > MAX_PAGE_CALLS {
            return Err(bad(format!("`limit` must be a number from 1 to {MAX_PAGE_CALLS}")));
        }
        Ok(Self {
            turn: text("turn")?,
            agent: text("agent")?,
            server: text("server")?,
            tool: text("tool")?,
            name: text("name")?.map(Glob::new),
            principal: text("principal")?,
            outcome: text("outcome")?,
            probes: match text("probes")?.as_deref() {
                None | Some("true") => ProbeVisibility::Shown,
                Some("false") => ProbeVisibility::LeftOut,
                Some(_) => return Err(bad("`probes` is `true` or `false`".to_owned())),
            },
            after: number(uri, "after")?,
            limit,
        })
    }

    fn wants(&self, course: &CallProgress) -> bool {
        let target = course.target();
        let server = target.map(|target| target.server.as_str());
        let tool = target.and_then(|target| target.tool.as_ref()).map(|tool| tool.as_str());
        let outcome = course.summary().map(|ended| ended.end.as_str());
        let is = |requested: &Option<String>, is: Option<&str>| {
            requested.as_deref().is_none_or(|requested| is == Some(requested))
        };
        is(&self.turn, Some(course.turn.as_str()))
            && is(&self.agent, Some(course.agent.as_str()))
            && is(&self.server, server)
            && is(&self.tool, tool)
            && is(&self.principal, Some(course.principal.as_str()))
            && is(&self.outcome, outcome)
            && (self.probes == ProbeVisibility::Shown || course.made == CallReason::Caller)
            && self.name.as_ref().is_none_or(|glob| glob.matches(&course.name))
    }
}

/// An empty value counts as absent.
fn text(uri: &Uri, key: &str) -> Result<Option<String>, ApiError> {
    match parameter(uri, key).filter(|value| !value.is_empty()) {
        Some(value) if value.chars().count() > MAX_FILTER_CHARS => {
            Err(bad(format!("`{key}` is longer than {MAX_FILTER_CHARS} characters")))
        }
        value => Ok(value),
    }
}

fn number(uri: &Uri, key: &str) -> Result<Option<u64>, ApiError> {
    let number = |text: String| text.parse().map_err(|_| bad(format!("`{key}` must be a number")));
    text(uri, key)?.map(number).transpose()
}

fn bad(detail: String) -> ApiError {
    ApiError::with_detail(StatusCode::BAD_REQUEST, "bad_query", detail)
}
