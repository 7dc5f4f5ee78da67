//! `GET /v1/code`: the files that a model reads before it writes a program, for people. It does not
//! depend on whether the agent has code mode.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tollgate_core::code_mode::MetaTool;

use crate::api_error::{ApiError, ApiErrorFormat};
use crate::app_state::AppState;
use crate::fields::{self, check_query};
use crate::request_context::{RequestContext, RequestOverrides};

const PARAMETERS: &[&str] = &["agent", "tier", "read", "docs", "search"];

#[derive(Debug, Deserialize)]
struct CodeFilesParams {
    agent: Option<String>,
    tier: Option<String>,
    read: Option<String>,
    docs: Option<String>,
    search: Option<String>,
}

pub(crate) async fn code_files(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let query = check_query(&sent.uri, PARAMETERS).and_then(|()| {
        let malformed = |_| bad_query("the query is malformed");
        Query::<CodeFilesParams>::try_from_uri(&sent.uri).map_err(malformed)
    });
    let read = match query {
        Ok(Query(query)) => look(&front, query, &sent).await,
        Err(problem) => Err(problem),
    };
    read.unwrap_or_else(|problem| problem.response(ApiErrorFormat::OpenAi))
}

async fn look(
    front: &AppState,
    query: CodeFilesParams,
    sent: &Parts,
) -> Result<Response, ApiError> {
    let (means, arguments) = choose_meta_tool(&query)?;
    let tier = query.tier.map(|text| fields::tier("tier", &text)).transpose()?;
    let who =
        RequestContext::read(&front.keys, sent, RequestOverrides { agent: query.agent, tier })?;
    let turn = who.turn::<ApiError>(&front.gate)?;
    let text = front.gate.look(&turn, means, arguments).await.map_err(|why| {
        ApiError::with_detail(StatusCode::NOT_FOUND, "not_found", why.to_string())
    })?;
    Ok(Json(json!({ "agent": turn.view.agent.as_str(), "text": text })).into_response())
}

/// Lists the files, unless another operation is requested.
fn choose_meta_tool(query: &CodeFilesParams) -> Result<(MetaTool, Map<String, Value>), ApiError> {
    let arguments = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect()
    };
    match (query.read.as_deref(), query.docs.as_deref(), query.search.as_deref()) {
        (None, None, None) => Ok((MetaTool::ListFiles, Map::new())),
        (Some(file), None, None) => Ok((MetaTool::ReadFile, arguments(&[("fileName", file)]))),
        (None, Some(name), None) => {
            let (server, tool) =
                name.split_once('.').ok_or_else(|| bad_query("`docs` is `SERVER.TOOL`"))?;
            Ok((MetaTool::Docs, arguments(&[("server", server), ("tool", tool)])))
        }
        (None, None, Some(words)) => Ok((MetaTool::Search, arguments(&[("query", words)]))),
        _ => Err(bad_query("`read`, `docs` and `search` exclude each other")),
    }
}

fn bad_query(detail: &'static str) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, "bad_query", detail)
}
