//! Control of calls: accepts, rejects, refers and hangs up. The provider does it; the gateway checks
//! whose call it is, and holds the session of an accepted one.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use http::StatusCode;
use http::request::Parts;
use serde_json::{Map, Value, json};
use tollgate_core::turn::Principal;
use tollgate_llm::provider::ProviderCallError;
use tollgate_llm::realtime::{ProviderSessionTarget, RealtimeProtocol, SessionRequest};
use tollgate_mcp::tasks;

use super::super::session::PendingSession;
use super::super::{session_config, target};
use super::sideband::CallSession;
use super::{CallPath, enter};
use crate::api_error::{ApiError, FAULT, OpenAiApiError};
use crate::app_state::AppState;
use crate::call_registry::{LiveCall, NO_SUCH_CALL, ProviderCallId, to_call};
use crate::fields::{BodyFields, bad, check_query, parameter};
use crate::in_flight::InFlightPermit;

/// The caller declines.
const DEFAULT_REJECT_STATUS: u32 = 603;
const MAX_TARGET_BYTES: usize = 512;

/// `POST /v1/realtime/calls/{id}/accept`: answers an incoming SIP call with the agent.
pub(crate) async fn accept(
    State(front): State<Arc<AppState>>,
    Path(id): CallPath,
    request: Request,
) -> Result<StatusCode, OpenAiApiError> {
    let (sent, body) = request.into_parts();
    let id = ProviderCallId::parse(&id).ok_or(NO_SUCH_CALL)?;
    check_query(&sent.uri, &["agent", "model", "tier"])?;
    let body = session_config::read_body(&sent, body, &front.limits).await?;
    let session = session_config::parse(&body)?;
    let named = session_config::model(&session).map(str::to_owned);
    let named = named.or_else(|| parameter(&sent.uri, "model"));
    let who = target::who(&front, &sent, named.as_deref())?;
    let permit = enter(&front, &who)?;
    let protocol = RealtimeProtocol::OpenAiSideband;
    let pending = PendingSession::new(&front, &sent, who, protocol, ProviderSessionTarget::New)?;
    let request = pending.session_request(named.as_deref())?;
    accept_incoming(&front, IncomingCall { id, pending, request, permit, session }).await?;
    Ok(StatusCode::OK)
}

/// An incoming call, and the session that it is to have.
pub(super) struct IncomingCall {
    pub(super) id: ProviderCallId,
    pub(super) pending: PendingSession,
    pub(super) request: SessionRequest,
    pub(super) permit: InFlightPermit,
    pub(super) session: Map<String, Value>,
}

/// Accepts a call at the provider, with the agent's prompt and tools, and holds its session.
pub(super) async fn accept_incoming(
    front: &Arc<AppState>,
    incoming: IncomingCall,
) -> Result<(), ApiError> {
    let IncomingCall { id, pending, mut request, permit, session } = incoming;
    request.reserve(front.gate.model_usage()).map_err(target::problem)?;
    let config = front.realtime_sessions.configure_call(&mut request, session)?;
    let call = front.calls.claim(&id, &request.party.principal, &request.model)?;
    let front = Arc::clone(front);
    // A client that disconnects must not leave a call without its session.
    let accepting = async move {
        front.calls.keep(&call, front.clock.wall()).await;
        let body = Value::Object(config).to_string();
        let accepted = call.model.post_call(to_call(&id, "accept", body), None, front.clock.wall());
        accepted.await.map_err(problem)?;
        CallSession::new(&front, call, pending, request, permit).start()
    };
    tasks::run_to_completion("accepted call", accepting).await.unwrap_or(Err(FAULT))
}

/// `POST /v1/realtime/calls/{id}/reject`: declines an incoming SIP call.
pub(crate) async fn reject(
    State(front): State<Arc<AppState>>,
    Path(id): CallPath,
    request: Request,
) -> Result<StatusCode, OpenAiApiError> {
    let (sent, body) = request.into_parts();
    let id = ProviderCallId::parse(&id).ok_or(NO_SUCH_CALL)?;
    check_query(&sent.uri, &["agent", "model"])?;
    let body = session_config::read_body(&sent, body, &front.limits).await?;
    let fields = BodyFields::read(&body, &["status_code"])?;
    let status = fields.count("status_code")?.unwrap_or(DEFAULT_REJECT_STATUS);
    if !(300..=699).contains(&status) {
        return Err(bad("`status_code` is a SIP status, 300 to 699".to_owned()).into());
    }
    let named = parameter(&sent.uri, "model");
    let who = target::who(&front, &sent, named.as_deref())?;
    let protocol = RealtimeProtocol::OpenAiSideband;
    let pending = PendingSession::new(&front, &sent, who, protocol, ProviderSessionTarget::New)?;
    let request = pending.session_request(named.as_deref())?;
    let call = front.calls.claim(&id, &request.party.principal, &request.model)?;
    let body = json!({ "status_code": status }).to_string();
    relay(&front, &call, "reject", body).await
}

/// `POST /v1/realtime/calls/{id}/refer`: transfers a SIP call.
pub(crate) async fn refer(
    State(front): State<Arc<AppState>>,
    Path(id): CallPath,
    request: Request,
) -> Result<StatusCode, OpenAiApiError> {
    let (sent, body) = request.into_parts();
    check_query(&sent.uri, &[])?;
    let call = own_call(&front, &id, &principal(&front, &sent)?).await?;
    let body = session_config::read_body(&sent, body, &front.limits).await?;
    let target = BodyFields::read(&body, &["target_uri"])?.needed_text("target_uri")?;
    if !is_phone_uri(&target) {
        let detail = "`target_uri` must be a `tel:` or `sip:` URI of at most 512 characters";
        return Err(bad(detail.to_owned()).into());
    }
    relay(&front, &call, "refer", json!({ "target_uri": target }).to_string()).await
}

/// `POST /v1/realtime/calls/{id}/hangup`: ends a call.
pub(crate) async fn hangup(
    State(front): State<Arc<AppState>>,
    Path(id): CallPath,
    request: Request,
) -> Result<StatusCode, OpenAiApiError> {
    let (sent, _) = request.into_parts();
    check_query(&sent.uri, &[])?;
    let call = own_call(&front, &id, &principal(&front, &sent)?).await?;
    let hung_up = relay(&front, &call, "hangup", String::new()).await;
    let is_over = |problem: &OpenAiApiError| problem.code() == NO_SUCH_CALL.code;
    if hung_up.as_ref().err().is_none_or(is_over) {
        front.calls.forget_left(&call.id).await;
    }
    let done = hung_up?;
    call.ended.cancel();
    Ok(done)
}

fn principal(front: &AppState, sent: &Parts) -> Result<Principal, ApiError> {
    Ok(target::who(front, sent, None)?.principal)
}

async fn own_call(
    front: &AppState,
    id: &str,
    principal: &Principal,
) -> Result<Arc<LiveCall>, ApiError> {
    let id = ProviderCallId::parse(id).ok_or(NO_SUCH_CALL)?;
    if let Some(call) = front.calls.find(&id, principal) {
        return Ok(call);
    }
    let model = front.calls.find_left(&id, principal).await.ok_or(NO_SUCH_CALL)?;
    let model = front.chat.models().find(&model).ok_or(NO_SUCH_CALL)?;
    Ok(Arc::new(LiveCall::new(id, principal.clone(), model)))
}

async fn relay(
    front: &AppState,
    call: &LiveCall,
    verb: &str,
    body: String,
) -> Result<StatusCode, OpenAiApiError> {
    let posted = call.model.post_call(to_call(&call.id, verb, body), None, front.clock.wall());
    posted.await.map_err(problem)?;
    Ok(StatusCode::OK)
}

fn is_phone_uri(text: &str) -> bool {
    let rest = ["tel:", "sip:", "sips:"].iter().find_map(|scheme| text.strip_prefix(scheme));
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
    rest.is_some_and(|rest| !rest.is_empty()) && is_plain && text.len() <= MAX_TARGET_BYTES
}

pub(super) fn problem(error: ProviderCallError) -> ApiError {
    match error {
        ProviderCallError::UnknownCall => NO_SUCH_CALL,
        ProviderCallError::Failed(failure) => target::problem(failure),
    }
}
