//! `GET /v1/tools`: the current view of an agent.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use serde::Deserialize;
use serde_json::json;
use tollgate_core::tool::Tool;
use tollgate_llm::tools::{self, DocumentExtent};

use super::explain::ExplanationJson;
use super::leaderboard::LeaderboardJson;
use super::rest_json::{self, ViewJson};
use crate::api_error::{ApiError, ApiErrorFormat};
use crate::app_state::AppState;
use crate::fields;
use crate::ops::for_admins;
use crate::request_context::{RequestContext, RequestOverrides};

const PARAMETERS: &[&str] = &["agent", "tier", "format", "leaderboard", "explain"];
const MALFORMED_QUERY: ApiError =
    ApiError::new(StatusCode::BAD_REQUEST, "bad_query", "the query is malformed");

#[derive(Debug, Deserialize)]
struct ViewParams {
    agent: Option<String>,
    tier: Option<String>,
    format: Option<String>,
    leaderboard: Option<String>,
    explain: Option<String>,
}

pub(crate) async fn tools(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let listed = fields::check_query(&sent.uri, PARAMETERS)
        .and_then(|()| Query::<ViewParams>::try_from_uri(&sent.uri).map_err(|_| MALFORMED_QUERY))
        .and_then(|Query(query)| list(&front, query, &sent));
    listed.unwrap_or_else(|problem| problem.response(ApiErrorFormat::OpenAi))
}

/// Output format of the view.
#[derive(Debug, Clone, Copy)]
enum ViewFormat {
    Plain,
    /// A tool format of a model API.
    Tools(tools::ToolFormat),
    Leaderboard,
    Explained,
}

impl ViewFormat {
    fn of(query: &ViewParams) -> Result<Self, ApiError> {
        let format = query.format.as_deref().map(tools::ToolFormat::parse).transpose();
        let format = format.map_err(|unknown| {
            ApiError::with_detail(StatusCode::BAD_REQUEST, "unknown_format", unknown.to_string())
        })?;
        let format = format.map(Self::Tools);
        let leaderboard = flag("leaderboard", query.leaderboard.as_deref(), Self::Leaderboard)?;
        let explained = flag("explain", query.explain.as_deref(), Self::Explained)?;
        let mut conflicting = [format, leaderboard, explained].into_iter().flatten();
        match (conflicting.next(), conflicting.next()) {
            (form, None) => Ok(form.unwrap_or(Self::Plain)),
            (_, Some(_)) => {
                Err(bad_query("`format`, `leaderboard` and `explain` exclude each other"))
            }
        }
    }
}

fn flag(name: &str, value: Option<&str>, form: ViewFormat) -> Result<Option<ViewFormat>, ApiError> {
    match value {
        None | Some("false") => Ok(None),
        Some("true") => Ok(Some(form)),
        Some(_) => Err(bad_query(&format!("`{name}` is `true` or `false`"))),
    }
}

fn bad_query(detail: &str) -> ApiError {
    ApiError::with_detail(StatusCode::BAD_REQUEST, "bad_query", detail.to_owned())
}

fn list(front: &AppState, query: ViewParams, sent: &Parts) -> Result<Response, ApiError> {
    let form = ViewFormat::of(&query)?;
    let tier = query.tier.map(|text| fields::tier("tier", &text)).transpose()?;
    let who =
        RequestContext::read(&front.keys, sent, RequestOverrides { agent: query.agent, tier })?;
    let turn = who.turn::<ApiError>(&front.gate)?;
    Ok(match form {
        ViewFormat::Plain => {
            let catalog = front.gate.catalog();
            let problems = rest_json::problems(who.rights, &catalog.problems);
            Json(ViewJson::new(&front.gate, &turn, problems)).into_response()
        }
        ViewFormat::Tools(tools::ToolFormat::Mcp) => {
            let tools: Vec<&str> =
                turn.view.tools().iter().map(|tool| &*tool.listed.modern).collect();
            let text = format!("{{\"tools\":[{}]}}", tools.join(","));
            ([(http::header::CONTENT_TYPE, "application/json")], text).into_response()
        }
        ViewFormat::Tools(form) => {
            let offered = |tool: &Arc<Tool>| tools::format_tool(tool, form).definition(form);
            let all = turn.view.tools().iter().map(offered).collect();
            Json(json!({"tools": tools::wrap_definitions(all, form, DocumentExtent::Many)}))
                .into_response()
        }
        ViewFormat::Explained => {
            for_admins(front, sent)?;
            let all = front.gate.explain(&who.turn_request(who.wish()))?;
            Json(ExplanationJson::new(&turn, &all)).into_response()
        }
        ViewFormat::Leaderboard => Json(LeaderboardJson::new(&front.gate, &turn)).into_response(),
    })
}
