//! `GET /v1/tools`: what an agent would see now.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use serde::Deserialize;

use super::Wishes;
use super::leaderboard::LeaderboardJson;
use super::shown::{self, ViewJson};
use crate::fields;
use crate::mcp::Front;
use crate::problem::{Problem, Style};

const PARAMETERS: &[&str] = &["agent", "tier", "format", "leaderboard"];
const MALFORMED: Problem =
    Problem::new(StatusCode::BAD_REQUEST, "bad_query", "the query is malformed");

#[derive(Debug, Deserialize)]
struct Asked {
    agent: Option<String>,
    tier: Option<String>,
    format: Option<String>,
    leaderboard: Option<String>,
}

pub(crate) async fn tools(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let listed = fields::check_query(&sent.uri, PARAMETERS)
        .and_then(|()| Query::<Asked>::try_from_uri(&sent.uri).map_err(|_| MALFORMED))
        .and_then(|Query(asked)| list(&front, asked, &sent));
    listed.unwrap_or_else(|problem| problem.response(Style::OpenAi))
}

/// In which form the view is shown.
#[derive(Debug, Clone, Copy)]
enum Form {
    Plain,
    Mcp,
    Leaderboard,
}

impl Form {
    fn of(asked: &Asked) -> Result<Self, Problem> {
        let bad = |code, detail| Err(Problem::new(StatusCode::BAD_REQUEST, code, detail));
        match (asked.format.as_deref(), asked.leaderboard.as_deref()) {
            (None, None | Some("false")) => Ok(Self::Plain),
            (None, Some("true")) => Ok(Self::Leaderboard),
            (Some("mcp"), None | Some("false")) => Ok(Self::Mcp),
            (None | Some("mcp"), Some(_)) => {
                bad("bad_query", "`leaderboard` is `true` or `false`, and has no `format`")
            }
            (Some(_), _) => bad("unknown_format", "`format` is `mcp`, or left out"),
        }
    }
}

fn list(front: &Front, asked: Asked, sent: &Parts) -> Result<Response, Problem> {
    let form = Form::of(&asked)?;
    let tier = asked.tier.map(|text| fields::tier("tier", &text)).transpose()?;
    let (turn, rights) = Wishes { agent: asked.agent, tier }.turn(front, sent)?;
    Ok(match form {
        Form::Plain => {
            let catalog = front.gate.catalog();
            let problems = shown::problems(rights, &catalog.problems);
            Json(ViewJson::new(&front.gate, &turn, problems)).into_response()
        }
        Form::Mcp => {
            let tools: Vec<&str> =
                turn.view.tools().iter().map(|tool| &*tool.listed.modern).collect();
            let text = format!("{{\"tools\":[{}]}}", tools.join(","));
            ([(http::header::CONTENT_TYPE, "application/json")], text).into_response()
        }
        Form::Leaderboard => Json(LeaderboardJson::new(&front.gate, &turn)).into_response(),
    })
}
