//! The plain HTTP API: what an agent sees, and one call at a time.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Query, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use serde::Deserialize;
use tollgate_core::agent::Wish;
use tollgate_core::budget::Tier;
use tollgate_core::call::{self, Kind};
use tollgate_core::json::Object;
use tollgate_core::shaping;
use tollgate_core::turn::Turn;
use tollgate_engine::caller::{Caller, Reply};
use tollgate_engine::gate::{self, Asked};
use tollgate_mcp::meta::ClientFacts;

use crate::auth::{Identity, Right, Rights};
use crate::body;
use crate::mcp::Front;
use crate::problem::{Problem, Style};
use crate::refusal::{self, Plain};

mod shown;

use shown::{OutcomeJson, ViewJson};

#[derive(Debug, Deserialize)]
pub(crate) struct ViewQuery {
    agent: Option<String>,
    tier: Option<String>,
    format: Option<String>,
}

/// `GET /v1/tools`: what the agent would see now.
pub(crate) async fn tools(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (request, _) = request.into_parts();
    let listed = Query::<ViewQuery>::try_from_uri(&request.uri)
        .map_err(|_| Problem::new(StatusCode::BAD_REQUEST, "bad_query", "the query is malformed"))
        .and_then(|Query(query)| list(&front, query, &request));
    listed.unwrap_or_else(|problem| problem.response(Style::OpenAi))
}

fn list(front: &Front, query: ViewQuery, request: &Parts) -> Result<Response, Problem> {
    let wishes = Wishes { agent: query.agent, tier: query.tier };
    let (turn, rights) = wishes.turn(front, request)?;
    match query.format.as_deref() {
        None => {
            let catalog = front.gate.catalog();
            let problems = shown::problems(rights, &catalog.problems);
            Ok(Json(ViewJson::new(&turn.view, problems)).into_response())
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

/// `POST /v1/tools/execute`: one call, and its outcome.
pub(crate) async fn execute(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let run = async {
        let body = body::json(&parts.headers, body, &front.limits).await?;
        call(&front, &parts, &body).await
    };
    run.await.unwrap_or_else(|problem| problem.response(Style::OpenAi))
}

async fn call(front: &Front, sent: &Parts, body: &[u8]) -> Result<Response, Problem> {
    let bad = |detail: String| Problem::told(StatusCode::BAD_REQUEST, "bad_request", detail);
    let asked = Object::parse_bytes(body).map_err(|error| bad(format!("not JSON: {error}")))?;
    if let Some(key) = asked.twin_of(&["name", "arguments", "agent", "tier"]) {
        return Err(bad(format!("a key looks like `{key}` but is not")));
    }
    let text = |key: &str| match (asked.contains(key), asked.string(key)) {
        (true, None) => Err(bad(format!("`{key}` must be a string"))),
        (_, text) => Ok(text.map(std::borrow::Cow::into_owned)),
    };
    let name = text("name")?.ok_or_else(|| bad("`name` is missing".to_owned()))?;
    let wishes = Wishes { agent: text("agent")?, tier: text("tier")? };
    let (turn, rights) = wishes.turn(front, sent)?;
    rights.need(Right::Execute)?;
    let mut params = Object::new();
    params.set_string("name", &name);
    if let Some(arguments) = asked.get("arguments") {
        params.set("arguments", arguments.to_owned());
    }
    let client = ClientFacts::default();
    let request = call::Request { kind: Kind::CallTool, params };
    let outcome = match front.gate.call(&turn, request, Caller::silent(&client)).await {
        Ok(Reply::Tool(outcome)) => outcome,
        Ok(Reply::Result(_) | Reply::InputRequired(_) | Reply::Task(_)) => {
            let message = "the tool needs a conversation, and this is a single call";
            shaping::failure(call::Status::Error, message, Duration::ZERO)
        }
        Err(error) => match refusal::plain(&error) {
            Plain::Outcome { status, message } => {
                shaping::failure(status, &message, Duration::ZERO)
            }
            Plain::Problem(problem) => return Err(problem),
        },
    };
    let spoken = gate::spoken(&turn, &name, &outcome);
    Ok(Json(OutcomeJson::new(&outcome, &spoken)).into_response())
}

/// Which agent, within which budget: the request's own words first, then its headers.
struct Wishes {
    agent: Option<String>,
    tier: Option<String>,
}

impl Wishes {
    fn turn(self, front: &Front, sent: &Parts) -> Result<(Turn, Rights), Problem> {
        let header = |name: &str| {
            let value = sent.headers.get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let agent = self.agent.or_else(|| header("x-tollgate-agent"));
        let tier = match self.tier.or_else(|| header("x-tollgate-tier")) {
            None => None,
            Some(text) => Some(Tier::parse(&text).ok_or(BAD_TIER)?),
        };
        let Identity { principal, agent, rights } = front.keys.visitor(sent)?.identify(agent)?;
        if tier.is_some() {
            rights.need(Right::OverrideTier)?;
        }
        let budget = tier.map_or(Wish::Ceiling, Wish::Override);
        let asked = Asked { principal, agent: agent.as_deref(), budget };
        let turn = front.gate.turn(asked).map_err(|unknown| {
            Problem::told(StatusCode::NOT_FOUND, "unknown_agent", unknown.to_string())
        })?;
        Ok((turn, rights))
    }
}

const BAD_TIER: Problem =
    Problem::new(StatusCode::BAD_REQUEST, "bad_tier", "`tier` is fast, standard or deep");
