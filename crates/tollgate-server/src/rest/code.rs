//! `POST /v1/code`: a program that somebody wrote by hand, run as those of models are, whether or not
//! there is code mode.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use serde::Serialize;
use serde_json::value::RawValue;
use tollgate_core::turn::Turn;
use tollgate_engine::caller::{Caller, Freshness};
use tollgate_engine::gate::NotRun;
use tollgate_mcp::large::aside;
use tollgate_mcp::meta::ClientFacts;
use tollgate_sandbox::frames::Failed;
use tollgate_sandbox::sandbox::{Ended, Unavailable};

use super::execute::freshness;
use crate::auth::Right;
use crate::body;
use crate::fields::{Fields, check_query};
use crate::mcp::Front;
use crate::problem::{Problem, Style};
use crate::who::{Who, Wishes};

const KEYS: &[&str] = &["code", "agent", "tier"];

/// Going away ends the program.
pub(crate) async fn code(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let ran = async {
        check_query(&sent.uri, &[])?;
        let body = body::json(&sent, body, &front.limits).await?;
        Order::read(&front, &sent, &body)?.run(&front).await
    };
    match ran.await {
        Ok(text) => ([(CONTENT_TYPE, "application/json")], text).into_response(),
        Err(problem) => problem.response(Style::OpenAi),
    }
}

/// A program of someone who may run it.
struct Order {
    turn: Turn,
    source: String,
    freshness: Freshness,
}

impl Order {
    fn read(front: &Front, sent: &Parts, body: &[u8]) -> Result<Self, Problem> {
        let asked = Fields::read(body, KEYS)?;
        let source = asked.needed_text("code")?;
        let wishes = Wishes { agent: asked.text("agent")?, tier: asked.tier("tier")? };
        let who = Who::read(&front.keys, sent, wishes)?;
        let turn = who.turn::<Problem>(&front.gate)?;
        who.rights.need(Right::Execute)?;
        Ok(Self { turn, source, freshness: freshness(sent) })
    }

    async fn run(self, front: &Front) -> Result<String, Problem> {
        let Self { turn, source, freshness } = self;
        let client = ClientFacts::default();
        let caller = Caller { freshness, ..Caller::silent(&client) };
        let ended = front.gate.code(&turn, &source, caller).await.map_err(|why| not_run(&why))?;
        let size = ended.prints.len();
        Ok(aside(size, move || RanJson::from(&ended).to_text()).await)
    }
}

/// The program is not to blame.
fn not_run(why: &NotRun) -> Problem {
    match why {
        NotRun::Unavailable(why) => unavailable(why),
        NotRun::Revoked(why) => Problem::revoked(why),
        NotRun::Exceeded(exceeded) => {
            let status = StatusCode::TOO_MANY_REQUESTS;
            let problem = Problem::told(status, "rate_limited", exceeded.to_string());
            problem.later(exceeded.retry_after())
        }
    }
}

fn unavailable(why: &Unavailable) -> Problem {
    let code = match why {
        Unavailable::Broken(_) => "no_worker",
        Unavailable::Busy { .. } => "too_many_programs",
        Unavailable::NotReady | Unavailable::NotTaken => "no_worker_ready",
        Unavailable::Shut => "stopping",
        Unavailable::TooManyNames(_) => "too_many_tools",
    };
    let problem = Problem::told(StatusCode::SERVICE_UNAVAILABLE, code, why.to_string());
    match why {
        Unavailable::Busy { .. }
        | Unavailable::NotReady
        | Unavailable::NotTaken
        | Unavailable::Shut => problem.later(Unavailable::SOON),
        Unavailable::Broken(_) | Unavailable::TooManyNames(_) => problem,
    }
}

/// What became of a program. A program that failed is an answer.
#[derive(Serialize)]
struct RanJson<'a> {
    status: &'static str,
    prints: &'a str,
    /// Left out if the program set none.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Failed>,
    calls: u32,
    duration_ms: u128,
}

impl<'a> From<&'a Ended> for RanJson<'a> {
    fn from(ended: &'a Ended) -> Self {
        let (status, result, error) = match &ended.result {
            Ok(result) => ("ok", result.as_deref(), None),
            Err(failed) => ("error", None, Some(failed)),
        };
        let duration_ms = ended.took.as_millis();
        Self { status, prints: &ended.prints, result, error, calls: ended.calls, duration_ms }
    }
}

impl RanJson<'_> {
    fn to_text(&self) -> String {
        serde_json::to_string(self).expect("texts, numbers and sound JSON")
    }
}
