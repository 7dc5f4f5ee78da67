//! `GET /v1/tools`: what an agent would see now.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use serde::Deserialize;

use super::Wishes;
use super::shown::{self, ViewJson};
use crate::fields;
use crate::mcp::Front;
use crate::problem::{Problem, Style};

#[derive(Debug, Deserialize)]
struct Asked {
    agent: Option<String>,
    tier: Option<String>,
    format: Option<String>,
}

pub(crate) async fn tools(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let listed = Query::<Asked>::try_from_uri(&sent.uri)
        .map_err(|_| Problem::new(StatusCode::BAD_REQUEST, "bad_query", "the query is malformed"))
        .and_then(|Query(asked)| list(&front, asked, &sent));
    listed.unwrap_or_else(|problem| problem.response(Style::OpenAi))
}

fn list(front: &Front, asked: Asked, sent: &Parts) -> Result<Response, Problem> {
    let tier = asked.tier.map(|text| fields::tier("tier", &text)).transpose()?;
    let wishes = Wishes { agent: asked.agent, tier };
    let (turn, rights) = wishes.turn(front, sent)?;
    match asked.format.as_deref() {
        None => {
            let catalog = front.gate.catalog();
            let problems = shown::problems(rights, &catalog.problems);
            Ok(Json(ViewJson::new(&front.gate, &turn, problems)).into_response())
        }
        Some("mcp") => {
            let tools: Vec<&str> =
                turn.view.tools().iter().map(|tool| &*tool.listed.modern).collect();
            let text = format!("{{\"tools\":[{}]}}", tools.join(","));
            Ok(([(http::header::CONTENT_TYPE, "application/json")], text).into_response())
        }
        Some(_) => Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "unknown_format",
            "`format` is `mcp`, or left out",
        )),
    }
}
