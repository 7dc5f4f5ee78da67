//! Calls over WebRTC and SIP. Their media go between the caller and the provider; the gateway relays
//! the signalling and holds a session on the provider's sideband connection, so that the agent's
//! tools work without anything to do for the client.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderValue, StatusCode};
use serde_json::{Map, Value};
use tollgate_llm::provider::{CALLS_PATH, ProviderCallAnswer};
use tollgate_llm::realtime::{ProviderSessionTarget, RealtimeProtocol, SessionRequest};
use tollgate_mcp::tasks;

use super::session::PendingSession;
use super::{secret_scope, session_config, share, target};
use crate::api_error::{ApiError, ApiErrorFormat, FAULT, STOPPING};
use crate::app_state::AppState;
use crate::auth::client_secret::ClientSecretUse;
use crate::call_registry::ProviderCallId;
use crate::fields::{check_query, parameter};
use crate::in_flight::InFlightPermit;
use crate::request_context::RequestContext;

mod control;
mod offer;
mod sideband;
mod webhook;

pub(crate) use control::{accept, hangup, refer, reject};
pub(crate) use webhook::receive;

use offer::CallOffer;
use sideband::CallSession;

const SDP: HeaderValue = HeaderValue::from_static("application/sdp");

/// `POST /v1/realtime/calls`: an SDP offer in, the provider's SDP answer out.
pub(crate) async fn create(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let created = create_call(&front, request).await;
    created.unwrap_or_else(|problem| problem.response(ApiErrorFormat::OpenAi))
}

async fn create_call(front: &Arc<AppState>, request: Request) -> Result<Response, ApiError> {
    let (sent, body) = request.into_parts();
    check_query(&sent.uri, &["agent", "model", "tier"])?;
    let CallOffer { sdp, session } = CallOffer::read(&sent, body, &front.limits).await?;
    let named = session_config::model(&session).map(str::to_owned);
    let named = named.or_else(|| parameter(&sent.uri, "model"));
    let secret = secret_scope::presented_secret(&sent);
    let who = target::who(front, &sent, named.as_deref())?;
    let permit = enter(front, &who)?;
    let usage = secret_scope::begin_use(secret.as_ref()).await?;
    let protocol = RealtimeProtocol::OpenAiSideband;
    let pending = PendingSession::new(front, &sent, who, protocol, ProviderSessionTarget::New)?;
    let mut request = pending.session_request(named.as_deref())?;
    request.reserve(front.gate.model_usage()).map_err(target::problem)?;
    let mut config = secret.map(|secret| secret.grant.session.clone()).unwrap_or_default();
    session_config::merge(&mut config, session);
    let config = front.realtime_sessions.configure_call(&mut request, config)?;
    let new = NewCall { pending, request, permit, usage };
    let front = Arc::clone(front);
    // A client that disconnects must not leave a call without its session.
    let creating = async move { create_at_provider(front, new, &sdp, &config).await };
    tasks::run_to_completion("new call", creating).await.unwrap_or(Err(FAULT))
}

/// A permit for one more live session.
fn enter(front: &AppState, who: &RequestContext) -> Result<InFlightPermit, ApiError> {
    if front.stopping.is_cancelled() {
        return Err(STOPPING);
    }
    front.pressure.take_stream()?;
    front.live.enter(share(front, who))
}

/// A call that may be created.
struct NewCall {
    pending: PendingSession,
    request: SessionRequest,
    permit: InFlightPermit,
    usage: Option<ClientSecretUse>,
}

async fn create_at_provider(
    front: Arc<AppState>,
    new: NewCall,
    sdp: &str,
    config: &Map<String, Value>,
) -> Result<Response, ApiError> {
    let NewCall { pending, request, permit, usage } = new;
    let form = offer::write_form(sdp, config);
    let trace = request.party.trace.as_deref();
    let posted = request.model.post_call(form, trace, front.clock.wall()).await;
    let ProviderCallAnswer { location, body } = posted.map_err(control::problem)?;
    let id = location.as_deref().and_then(ProviderCallId::from_location).ok_or(NO_CALL_ID)?;
    let call = front.calls.claim(&id, &request.party.principal, &request.model);
    let call = call.map_err(|_| REPEATED_CALL_ID)?;
    front.calls.keep(&call, front.clock.wall()).await;
    if !body.starts_with(b"v=0") {
        call.hang_up(front.clock.wall()).await;
        return Err(NO_SDP_ANSWER);
    }
    CallSession::new(&front, call, pending, request, permit).start()?;
    if let Some(usage) = usage {
        usage.keep();
    }
    let location =
        HeaderValue::try_from(format!("/v1{CALLS_PATH}/{id}")).map_err(|_| NO_CALL_ID)?;
    Ok((StatusCode::CREATED, [(CONTENT_TYPE, SDP), (LOCATION, location)], body).into_response())
}

/// The path of a call, as axum gives it.
type CallPath = Path<String>;

const NO_CALL_ID: ApiError = ApiError::new(
    StatusCode::BAD_GATEWAY,
    "bad_call_answer",
    "the provider created a call but did not name it in `location`; the call cannot be used",
);
const REPEATED_CALL_ID: ApiError = ApiError::new(
    StatusCode::BAD_GATEWAY,
    "bad_call_answer",
    "the provider gave the new call the id of another one; the call cannot be used",
);
const NO_SDP_ANSWER: ApiError = ApiError::new(
    StatusCode::BAD_GATEWAY,
    "bad_call_answer",
    "the provider created a call without an SDP answer; it was ended",
);
