//! `GET /v1/code`: what a model reads before it writes a program, for whoever wants to see it or writes
//! one by hand. Whether the agent has code mode makes no difference.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tollgate_core::code::Means;

use crate::fields::{self, check_query};
use crate::mcp::Front;
use crate::problem::{Problem, Style};
use crate::who::{Who, Wishes};

const PARAMETERS: &[&str] = &["agent", "tier", "read", "docs", "search"];

#[derive(Debug, Deserialize)]
struct Asked {
    agent: Option<String>,
    tier: Option<String>,
    read: Option<String>,
    docs: Option<String>,
    search: Option<String>,
}

pub(crate) async fn code_files(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let asked = check_query(&sent.uri, PARAMETERS).and_then(|()| {
        let malformed = |_| bad_query("the query is malformed");
        Query::<Asked>::try_from_uri(&sent.uri).map_err(malformed)
    });
    let read = match asked {
        Ok(Query(asked)) => look(&front, asked, &sent).await,
        Err(problem) => Err(problem),
    };
    read.unwrap_or_else(|problem| problem.response(Style::OpenAi))
}

async fn look(front: &Front, asked: Asked, sent: &Parts) -> Result<Response, Problem> {
    let (means, arguments) = wanted(&asked)?;
    let tier = asked.tier.map(|text| fields::tier("tier", &text)).transpose()?;
    let who = Who::read(&front.keys, sent, Wishes { agent: asked.agent, tier })?;
    let turn = who.turn::<Problem>(&front.gate)?;
    let text = front
        .gate
        .look(&turn, means, arguments)
        .await
        .map_err(|why| Problem::told(StatusCode::NOT_FOUND, "not_found", why))?;
    Ok(Json(json!({ "agent": turn.view.agent.as_str(), "text": text })).into_response())
}

/// The list, unless one of the others is asked for.
fn wanted(asked: &Asked) -> Result<(Means, Map<String, Value>), Problem> {
    let arguments = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect()
    };
    match (asked.read.as_deref(), asked.docs.as_deref(), asked.search.as_deref()) {
        (None, None, None) => Ok((Means::ListFiles, Map::new())),
        (Some(file), None, None) => Ok((Means::ReadFile, arguments(&[("fileName", file)]))),
        (None, Some(name), None) => {
            let (server, tool) =
                name.split_once('.').ok_or_else(|| bad_query("`docs` is `SERVER.TOOL`"))?;
            Ok((Means::Docs, arguments(&[("server", server), ("tool", tool)])))
        }
        (None, None, Some(words)) => Ok((Means::Search, arguments(&[("query", words)]))),
        _ => Err(bad_query("`read`, `docs` and `search` exclude each other")),
    }
}

fn bad_query(detail: &'static str) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "bad_query", detail)
}
