//! `GET /v1/tools`: what an agent would see now.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use serde::Deserialize;
use serde_json::json;
use tollgate_core::tool::Tool;
use tollgate_llm::tools::{self, Extent};

use super::explained::ExplainedJson;
use super::leaderboard::LeaderboardJson;
use super::shown::{self, ViewJson};
use crate::fields;
use crate::mcp::Front;
use crate::ops::for_admins;
use crate::problem::{Problem, Style};
use crate::who::{Who, Wishes};

const PARAMETERS: &[&str] = &["agent", "tier", "format", "leaderboard", "explain"];
const MALFORMED: Problem =
    Problem::new(StatusCode::BAD_REQUEST, "bad_query", "the query is malformed");

#[derive(Debug, Deserialize)]
struct Asked {
    agent: Option<String>,
    tier: Option<String>,
    format: Option<String>,
    leaderboard: Option<String>,
    explain: Option<String>,
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
    /// As models are offered tools.
    Tools(tools::Form),
    Leaderboard,
    Explained,
}

impl Form {
    fn of(asked: &Asked) -> Result<Self, Problem> {
        let format = asked.format.as_deref().map(tools::Form::parse).transpose();
        let format = format.map_err(|unknown| {
            Problem::told(StatusCode::BAD_REQUEST, "unknown_format", unknown.to_string())
        })?;
        let format = format.map(Self::Tools);
        let leaderboard = flag("leaderboard", asked.leaderboard.as_deref(), Self::Leaderboard)?;
        let explained = flag("explain", asked.explain.as_deref(), Self::Explained)?;
        let mut wanted = [format, leaderboard, explained].into_iter().flatten();
        match (wanted.next(), wanted.next()) {
            (form, None) => Ok(form.unwrap_or(Self::Plain)),
            (_, Some(_)) => {
                Err(bad_query("`format`, `leaderboard` and `explain` exclude each other"))
            }
        }
    }
}

fn flag(name: &str, value: Option<&str>, form: Form) -> Result<Option<Form>, Problem> {
    match value {
        None | Some("false") => Ok(None),
        Some("true") => Ok(Some(form)),
        Some(_) => Err(bad_query(&format!("`{name}` is `true` or `false`"))),
    }
}

fn bad_query(detail: &str) -> Problem {
    Problem::told(StatusCode::BAD_REQUEST, "bad_query", detail.to_owned())
}

fn list(front: &Front, asked: Asked, sent: &Parts) -> Result<Response, Problem> {
    let form = Form::of(&asked)?;
    let tier = asked.tier.map(|text| fields::tier("tier", &text)).transpose()?;
    let who = Who::read(&front.keys, sent, Wishes { agent: asked.agent, tier })?;
    let turn = who.turn::<Problem>(&front.gate)?;
    Ok(match form {
        Form::Plain => {
            let catalog = front.gate.catalog();
            let problems = shown::problems(who.rights, &catalog.problems);
            Json(ViewJson::new(&front.gate, &turn, problems)).into_response()
        }
        Form::Tools(tools::Form::Mcp) => {
            let tools: Vec<&str> =
                turn.view.tools().iter().map(|tool| &*tool.listed.modern).collect();
            let text = format!("{{\"tools\":[{}]}}", tools.join(","));
            ([(http::header::CONTENT_TYPE, "application/json")], text).into_response()
        }
        Form::Tools(form) => {
            let offered = |tool: &Arc<Tool>| tools::offered(tool, form).definition(form);
            let all = turn.view.tools().iter().map(offered).collect();
            Json(json!({"tools": tools::written(all, form, Extent::Many)})).into_response()
        }
        Form::Explained => {
            for_admins(front, sent)?;
            let all = front.gate.explain(&who.asked(who.wish()))?;
            Json(ExplainedJson::new(&turn, &all)).into_response()
        }
        Form::Leaderboard => Json(LeaderboardJson::new(&front.gate, &turn)).into_response(),
    })
}
