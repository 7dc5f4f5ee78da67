//! `POST /v1/tools/execute`: one call and its outcome. Clients that accept only events also get the
//! notifications during the call.

use std::iter;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use tokio::sync::mpsc;
use tollgate_core::call::{self, Outcome, RequestKind, Retryability};
use tollgate_core::json::{self, Object};
use tollgate_core::shaping::{self, ResultCaps};
use tollgate_core::turn::Turn;
use tollgate_engine::caller::{CacheFreshness, CallError, Caller, LateResultPolicy, Reply};
use tollgate_engine::gate;
use tollgate_mcp::client::{self, ProgressReporting};
use tollgate_mcp::meta::ClientFacts;
use tollgate_mcp::offload::offload_if_large;

use super::rest_json::{OutcomeJson, picture_delivery};
use crate::accept::Accepts;
use crate::api_error::{ApiError, ApiErrorFormat, retry_after};
use crate::app_state::AppState;
use crate::auth::Right;
use crate::body;
use crate::error_mapping::{self, RestErrorReply};
use crate::events::{self, ServerSentEvent};
use crate::fields::{BodyFields, bad, check_query};
use crate::request_context::{RequestContext, RequestOverrides};

/// Event queue length for a client that reads slowly.
const QUEUE: usize = 64;

pub(crate) async fn execute(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let read = async {
        check_query(&sent.uri, &[])?;
        let body = body::json(&sent, body, &front.limits).await?;
        ExecuteRequest::read(&front, &sent, &body)
    };
    let order = match read.await {
        Ok(order) => order,
        Err(problem) => return problem.response(ApiErrorFormat::OpenAi),
    };
    if Accepts::read(&sent.headers) == Accepts::OnlyEvents {
        return stream_call(front, order);
    }
    match order.run(&front, None).await {
        Ok(ended) => ended.response(),
        Err(problem) => problem.response(ApiErrorFormat::OpenAi),
    }
}

/// Dropping the response cancels the call.
fn stream_call(front: Arc<AppState>, order: ExecuteRequest) -> Response {
    let keep_alive = front.limits.keep_alive;
    let (sender, receiver) = mpsc::channel(QUEUE);
    let ended = async move {
        match order.run(&front, Some(sender)).await {
            Ok(ended) => ServerSentEvent { name: "outcome", id: None, data: ended.outcome },
            Err(problem) => ServerSentEvent { name: "error", id: None, data: problem.open_ai() },
        }
    };
    events::response(events::before(ended, receiver, encode_event), keep_alive)
}

fn encode_event(event: client::Event) -> Option<ServerSentEvent> {
    match event {
        client::Event::Progress(params) => {
            Some(ServerSentEvent { name: "progress", id: None, data: params.to_text() })
        }
        client::Event::Log(params) => {
            Some(ServerSentEvent { name: "log", id: None, data: params.get().to_owned() })
        }
        client::Event::Announcement(message) => {
            Some(ServerSentEvent::new("announcement", &serde_json::json!({ "message": &*message })))
        }
        // There is nobody to answer. Dropping the question reports that.
        client::Event::Question(_) => None,
    }
}

/// A finished call.
struct ExecuteOutcome {
    /// As JSON.
    outcome: String,
    /// Present if the call was not run for now.
    refusal: Option<CallRefusal>,
}

/// HTTP status of a call that was not run, and its `Retry-After`.
struct CallRefusal {
    status: StatusCode,
    retry_after: Duration,
}

impl CallRefusal {
    /// Rate limited, or its server is at capacity or its circuit breaker is open.
    fn of(outcome: &Outcome) -> Option<Self> {
        let status = match outcome.status {
            call::CallStatus::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            call::CallStatus::Offline => StatusCode::SERVICE_UNAVAILABLE,
            _ => return None,
        };
        match outcome.retry {
            Retryability::Sensible { after: Some(retry_after), .. } => {
                Some(Self { status, retry_after })
            }
            Retryability::Sensible { after: None, .. } | Retryability::Pointless => None,
        }
    }
}

impl ExecuteOutcome {
    fn response(self) -> Response {
        let mut response = ([(CONTENT_TYPE, "application/json")], self.outcome).into_response();
        if let Some(refusal) = self.refusal {
            *response.status_mut() = refusal.status;
            retry_after(response.headers_mut(), refusal.retry_after);
        }
        response
    }
}

const KEYS: &[&str] = &["name", "arguments", "agent", "tier", "late", "consumer", "also"];

/// An authorized call.
struct ExecuteRequest {
    turn: Turn,
    name: String,
    params: Object<'static>,
    caps: ResultCaps,
    /// Further consumers of the outcome of this one call.
    also: Vec<(&'static str, ResultCaps)>,
    freshness: CacheFreshness,
    late: LateResultPolicy,
}

impl ExecuteRequest {
    fn read(front: &AppState, sent: &Parts, body: &[u8]) -> Result<Self, ApiError> {
        let fields = BodyFields::read(body, KEYS)?;
        let name = fields.needed_text("name")?;
        let late = match fields.flag("late")? {
            Some(true) => LateResultPolicy::Delivered,
            Some(false) | None => LateResultPolicy::Dropped,
        };
        let caps = match fields.text("consumer")? {
            Some(name) => consumer("consumer", &name)?.1,
            None => ResultCaps::mcp(),
        };
        let also = others(fields.texts("also")?.unwrap_or_default())?;
        let wishes = RequestOverrides { agent: fields.text("agent")?, tier: fields.tier("tier")? };
        let who = RequestContext::read(&front.keys, sent, wishes)?;
        let turn = who.turn::<ApiError>(&front.gate)?;
        who.rights.need(Right::Execute)?;
        let mut params = Object::new();
        params.set_string("name", &name);
        if let Some(arguments) = fields.raw("arguments") {
            params.set("arguments", arguments.to_owned());
        }
        Ok(Self { turn, name, params, caps, also, freshness: freshness(sent), late })
    }

    async fn run(
        self,
        front: &AppState,
        events: Option<client::ServerEventSender>,
    ) -> Result<ExecuteOutcome, ApiError> {
        let Self { turn, name, params, caps, also, freshness, late } = self;
        let (progress, log_level) = match events {
            Some(_) => (ProgressReporting::Requested, Some("info".to_owned())),
            None => (ProgressReporting::Unwanted, None),
        };
        let client = ClientFacts { log_level, ..ClientFacts::default() };
        let taken = if also.is_empty() { caps } else { gate::whole(caps) };
        let silent = Caller::silent(&client);
        let caller = Caller { events, progress, caps: taken, freshness, late, ..silent };
        let request = call::GateRequest { kind: RequestKind::CallTool, params };
        let outcome = into_outcome(front.gate.call(&turn, request, caller).await)?;
        let refusal = CallRefusal::of(&outcome);
        let gate = Arc::clone(&front.gate);
        let outcome = offload_if_large(outcome.result.get().len(), move || {
            let written = |outcome: &Outcome, caps: ResultCaps| {
                let spoken = gate::render_speech(&turn, &name, outcome, caps.wording);
                let delivery = picture_delivery(caps.wording);
                let pictures = gate.link_pictures(&turn, &name, outcome, delivery);
                let written = OutcomeJson::new(outcome, &spoken, caps.wording);
                written.with_pictures(pictures).to_text()
            };
            if also.is_empty() {
                return written(&outcome, caps);
            }
            let consumers: Vec<ResultCaps> =
                iter::once(caps).chain(also.iter().map(|(_, caps)| *caps)).collect();
            let shaped = gate.reshape(&turn, &name, &outcome, &consumers);
            let mut all = shaped.iter().zip(&consumers).map(|(it, caps)| written(it, *caps));
            let first = all.next().unwrap_or_default();
            together(&first, also.iter().map(|(name, _)| *name).zip(all))
        });
        Ok(ExecuteOutcome { outcome: outcome.await, refusal })
    }
}

/// Whether a cached answer is acceptable.
pub(super) fn freshness(sent: &Parts) -> CacheFreshness {
    if sent.headers.contains_key("x-tollgate-no-cache") {
        CacheFreshness::Fresh
    } else {
        CacheFreshness::Any
    }
}

/// The outcome of a call, if the reply has one.
pub(crate) fn into_outcome(reply: Result<Reply, CallError>) -> Result<Outcome, ApiError> {
    match reply {
        Ok(Reply::Tool(outcome)) => Ok(outcome),
        Ok(Reply::Result(_) | Reply::InputRequired(_) | Reply::Task(_)) => {
            let message = "the tool requires user input, which a single call cannot give";
            Ok(shaping::failure(call::CallStatus::Error, message, Duration::ZERO))
        }
        Err(error) => match error_mapping::rest_reply(&error) {
            RestErrorReply::Outcome { status, message } => {
                Ok(shaping::failure(status, &message, Duration::ZERO))
            }
            RestErrorReply::Problem(problem) => Err(problem),
        },
    }
}

/// The consumer of the result, which decides how much of it is useful.
fn consumer(key: &str, name: &str) -> Result<(&'static str, ResultCaps), ApiError> {
    let found = ResultCaps::TABLE.iter().find(|(known, _)| *known == name);
    found.copied().ok_or_else(|| {
        let known: Vec<&str> = ResultCaps::TABLE.iter().map(|(name, _)| *name).collect();
        bad(format!("`{key}` is one of {}", known.join(", ")))
    })
}

/// Without duplicates, in the given order.
fn others(names: Vec<String>) -> Result<Vec<(&'static str, ResultCaps)>, ApiError> {
    let mut others: Vec<(&'static str, ResultCaps)> = Vec::new();
    for name in names {
        let other = consumer("also", &name)?;
        if !others.iter().any(|(known, _)| *known == other.0) {
            others.push(other);
        }
    }
    Ok(others)
}

/// Merges the outcomes of further consumers, by name, into the first. All are JSON objects.
fn together(first: &str, others: impl Iterator<Item = (&'static str, String)>) -> String {
    let mut also = Object::new();
    for (name, outcome) in others {
        also.set(name, json::raw(outcome));
    }
    let mut object = Object::parse(first).unwrap_or_default().into_owned();
    object.set("also", also.to_raw());
    object.to_text()
}
