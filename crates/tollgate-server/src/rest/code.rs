//! `POST /v1/code`: runs a program written by a person under the same rules as those of models,
//! whether or not the agent has code mode.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use serde::Serialize;
use serde_json::value::RawValue;
use tollgate_core::turn::Turn;
use tollgate_engine::caller::{CacheFreshness, Caller};
use tollgate_engine::gate::ProgramNotRunError;
use tollgate_mcp::meta::ClientFacts;
use tollgate_mcp::offload::offload_if_large;
use tollgate_sandbox::frames::ProgramError;
use tollgate_sandbox::sandbox::{ProgramOutcome, SandboxUnavailableError};

use super::execute::freshness;
use crate::api_error::{ApiError, ApiErrorFormat};
use crate::app_state::AppState;
use crate::auth::Right;
use crate::body;
use crate::fields::{BodyFields, check_query};
use crate::request_context::{RequestContext, RequestOverrides};

const KEYS: &[&str] = &["code", "agent", "tier"];

/// A client that disconnects ends the program.
pub(crate) async fn code(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let run = async {
        check_query(&sent.uri, &[])?;
        let body = body::json(&sent, body, &front.limits).await?;
        RunCodeRequest::read(&front, &sent, &body)?.run(&front).await
    };
    match run.await {
        Ok(text) => ([(CONTENT_TYPE, "application/json")], text).into_response(),
        Err(problem) => problem.response(ApiErrorFormat::OpenAi),
    }
}

/// An authorized request to run a program.
struct RunCodeRequest {
    turn: Turn,
    source: String,
    freshness: CacheFreshness,
}

impl RunCodeRequest {
    fn read(front: &AppState, sent: &Parts, body: &[u8]) -> Result<Self, ApiError> {
        let fields = BodyFields::read(body, KEYS)?;
        let source = fields.needed_text("code")?;
        let wishes = RequestOverrides { agent: fields.text("agent")?, tier: fields.tier("tier")? };
        let who = RequestContext::read(&front.keys, sent, wishes)?;
        let turn = who.turn::<ApiError>(&front.gate)?;
        who.rights.need(Right::Execute)?;
        Ok(Self { turn, source, freshness: freshness(sent) })
    }

    async fn run(self, front: &AppState) -> Result<String, ApiError> {
        let Self { turn, source, freshness } = self;
        let client = ClientFacts::default();
        let caller = Caller { freshness, ..Caller::silent(&client) };
        let ended = front.gate.code(&turn, &source, caller).await.map_err(|why| not_run(&why))?;
        let size = ended.prints.len();
        Ok(offload_if_large(size, move || ProgramOutcomeJson::from(&ended).to_text()).await)
    }
}

/// The program is not the cause of these errors.
fn not_run(why: &ProgramNotRunError) -> ApiError {
    match why {
        ProgramNotRunError::Unavailable(why) => unavailable(why),
        ProgramNotRunError::Revoked(why) => ApiError::from_revocation(why),
        ProgramNotRunError::Exceeded(exceeded) => {
            let status = StatusCode::TOO_MANY_REQUESTS;
            let problem = ApiError::with_detail(status, "rate_limited", exceeded.to_string());
            problem.later(exceeded.retry_after())
        }
    }
}

fn unavailable(why: &SandboxUnavailableError) -> ApiError {
    let code = match why {
        SandboxUnavailableError::Broken(_) => "no_worker",
        SandboxUnavailableError::Busy { .. } | SandboxUnavailableError::OwnerBusy { .. } => {
            "too_many_programs"
        }
        SandboxUnavailableError::NotReady | SandboxUnavailableError::NotTaken => "no_worker_ready",
        SandboxUnavailableError::Shut => "stopping",
        SandboxUnavailableError::TooManyNames(_) => "too_many_tools",
    };
    let problem = ApiError::with_detail(StatusCode::SERVICE_UNAVAILABLE, code, why.to_string());
    match why {
        SandboxUnavailableError::Busy { .. }
        | SandboxUnavailableError::OwnerBusy { .. }
        | SandboxUnavailableError::NotReady
        | SandboxUnavailableError::NotTaken
        | SandboxUnavailableError::Shut => problem.later(SandboxUnavailableError::RETRY_AFTER),
        SandboxUnavailableError::Broken(_) | SandboxUnavailableError::TooManyNames(_) => problem,
    }
}

/// Outcome of a program. A program that failed is still a successful response.
#[derive(Serialize)]
struct ProgramOutcomeJson<'a> {
    status: &'static str,
    prints: &'a str,
    /// Absent if the program set none.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ProgramError>,
    calls: u32,
    duration_ms: u128,
}

impl<'a> From<&'a ProgramOutcome> for ProgramOutcomeJson<'a> {
    fn from(ended: &'a ProgramOutcome) -> Self {
        let (status, result, error) = match &ended.result {
            Ok(result) => ("ok", result.as_deref(), None),
            Err(failed) => ("error", None, Some(failed)),
        };
        let duration_ms = ended.took.as_millis();
        Self { status, prints: &ended.prints, result, error, calls: ended.calls, duration_ms }
    }
}

impl ProgramOutcomeJson<'_> {
    fn to_text(&self) -> String {
        serde_json::to_string(self).expect("texts, numbers and sound JSON")
    }
}
