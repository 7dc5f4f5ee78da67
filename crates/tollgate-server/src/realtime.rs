//! Realtime speech sessions over WebSocket, each in its provider's protocol: authenticates the
//! client, resolves agent and model, and hands over both sockets. It does not inspect the messages.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::Response;
use futures_util::FutureExt;
use http::StatusCode;
use http::request::Parts;
use tollgate_llm::realtime::{ProviderSessionTarget, RealtimeProtocol};
use tollgate_mcp::offload::offload_while_large;

use crate::api_error::{ApiError, ApiErrorFormat, STOPPING};
use crate::app_state::AppState;
use crate::fields::parameter;
use crate::in_flight::PrincipalShare;
use crate::request_context::RequestContext;

pub(crate) mod calls;
pub(crate) mod client_secrets;
mod handshake;
mod key;
mod legacy_session;
mod message_budget;
mod secret_scope;
mod session;
mod session_config;
mod target;

pub(crate) use handshake::{WebSocketHandshake, asking as refuse_handshake};
pub(crate) use key::bring_key;
pub(crate) use session::{ClientWebSocket, HandedSession, PendingSession, UpgradeHandover, leave};
pub(crate) use target::problem as provider_problem;

/// `GET /v1/realtime?model=…&agent=…`, or `?call_id=…` for a call that runs at the provider.
pub(crate) async fn openai(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (live, place) = match parameter(request.uri(), "call_id") {
        Some(call) => (RealtimeProtocol::OpenAiSideband, ProviderSessionTarget::Attached(call)),
        None => (RealtimeProtocol::OpenAi, ProviderSessionTarget::New),
    };
    open(front, request, live, place).await
}

pub(crate) async fn gpt_live(State(front): State<Arc<AppState>>, request: Request) -> Response {
    open(front, request, RealtimeProtocol::GptLive, ProviderSessionTarget::New).await
}

pub(crate) async fn attach(
    State(front): State<Arc<AppState>>,
    Path(session): Path<String>,
    request: Request,
) -> Response {
    open(front, request, RealtimeProtocol::GptLive, ProviderSessionTarget::Attached(session)).await
}

pub(crate) async fn deepgram(State(front): State<Arc<AppState>>, request: Request) -> Response {
    open(front, request, RealtimeProtocol::Deepgram, ProviderSessionTarget::New).await
}

/// `/ws/google.ai.generativelanguage.{version}.GenerativeService.BidiGenerateContent`.
pub(crate) async fn gemini(
    State(front): State<Arc<AppState>>,
    Path(service): Path<String>,
    request: Request,
) -> Response {
    match version(&service) {
        Some(version) => {
            let place = ProviderSessionTarget::Version(version.to_owned());
            open(front, request, RealtimeProtocol::Gemini, place).await
        }
        None => {
            let detail = "live sessions of Gemini are at \
                          `/ws/google.ai.generativelanguage.v1beta.GenerativeService.\
                          BidiGenerateContent`";
            ApiError::new(StatusCode::NOT_FOUND, "not_found", detail)
                .response(ApiErrorFormat::Gemini)
        }
    }
}

fn version(service: &str) -> Option<&str> {
    let rest = service.strip_prefix("google.ai.generativelanguage.")?;
    let (version, method) = rest.split_once('.')?;
    let is_known = matches!(
        method,
        "GenerativeService.BidiGenerateContent"
            | "GenerativeService.BidiGenerateContentConstrained"
    );
    let is_version =
        version.starts_with('v') && version.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_known && is_version).then_some(version)
}

/// Error format of a protocol.
fn style(live: RealtimeProtocol) -> ApiErrorFormat {
    match live {
        RealtimeProtocol::Gemini => ApiErrorFormat::Gemini,
        RealtimeProtocol::OpenAi
        | RealtimeProtocol::OpenAiSideband
        | RealtimeProtocol::GptLive
        | RealtimeProtocol::Deepgram => ApiErrorFormat::OpenAi,
    }
}

async fn open(
    front: Arc<AppState>,
    request: Request,
    live: RealtimeProtocol,
    place: ProviderSessionTarget,
) -> Response {
    match accept_session(&front, request, live, place).await {
        Ok(response) => response,
        Err(problem) => handshake::asking(problem.response(style(live))),
    }
}

async fn accept_session(
    front: &Arc<AppState>,
    mut request: Request,
    live: RealtimeProtocol,
    place: ProviderSessionTarget,
) -> Result<Response, ApiError> {
    let shake = WebSocketHandshake::read(&request)?;
    let upgrade = hyper::upgrade::on(&mut request);
    let (sent, _) = request.into_parts();
    let handover = sent.extensions.get::<UpgradeHandover>().cloned().ok_or(NO_SOCKET)?;
    // A new session would end at once.
    if front.stopping.is_cancelled() {
        return Err(STOPPING);
    }
    front.pressure.take_stream()?;
    let who = target::who(front, &sent, parameter(&sent.uri, "model").as_deref())?;
    let secret = secret_scope::presented_secret(&sent);
    if let (ProviderSessionTarget::Attached(call), RealtimeProtocol::OpenAiSideband) =
        (&place, live)
    {
        if secret.is_some() {
            return Err(NO_SIDEBAND_FOR_BROWSERS);
        }
        front.calls.check_free(call, &who.principal).await?;
    }
    let permit = front.live.enter(share(front, &who))?;
    let usage = secret_scope::begin_use(secret.as_ref()).await?;
    // If the model is known from the URL or the agent, an error can still be an HTTP response.
    let says_more = match (live, &place) {
        (RealtimeProtocol::OpenAi | RealtimeProtocol::OpenAiSideband, _)
        | (RealtimeProtocol::GptLive, ProviderSessionTarget::Attached(_)) => false,
        (RealtimeProtocol::GptLive | RealtimeProtocol::Deepgram | RealtimeProtocol::Gemini, _) => {
            true
        }
    };
    let knock = PendingSession::new(front, &sent, who, live, place)?;
    // The provider's socket belongs to the thread that dials it.
    let thread = front.realtime_threads.pick();
    let session = if says_more {
        session::start_after_first_message(Arc::clone(front), knock)
    } else {
        let mut request = knock.session_request(parameter(&sent.uri, "model").as_deref())?;
        request.reserve(front.gate.model_usage()).map_err(target::problem)?;
        let dialled = async move {
            let provider = request.dial().await;
            (request, provider)
        };
        let (request, provider) = thread.run(dialled.boxed()).await;
        session::start_with_provider(
            Arc::clone(front),
            knock,
            request,
            provider.map_err(target::problem)?,
        )
    };
    if let Some(usage) = usage {
        usage.keep();
    }
    let response = shake.response(&sent);
    handover.give(
        thread,
        offload_while_large(async move |large_work| {
            match upgrade.await {
                Ok(upgraded) => {
                    if let Some(running) = session(upgraded, large_work).await {
                        running.await;
                    }
                }
                Err(error) => tracing::debug!(%error, "a WebSocket upgrade failed"),
            }
            drop(permit);
        }),
    );
    Ok(response)
}

/// Callers without a key have no share of their own: they all are this machine.
pub(crate) fn share(front: &AppState, who: &RequestContext) -> Option<PrincipalShare> {
    let is_key = !who.principal.is_local();
    is_key.then(|| PrincipalShare {
        principal: who.principal.clone(),
        most: front.limits.live_per_key,
    })
}

pub(crate) const NO_SOCKET: ApiError = ApiError::new(
    StatusCode::NOT_IMPLEMENTED,
    "no_socket",
    "live sessions need a connection of their own",
);

const NO_SIDEBAND_FOR_BROWSERS: ApiError = ApiError::new(
    StatusCode::FORBIDDEN,
    "not_for_client_secrets",
    "a client secret does not open `call_id`: the gateway holds the session of the call itself",
);

/// The conversation id of the request.
fn conversation(sent: &Parts) -> Result<Option<String>, ApiError> {
    Ok(crate::request_context::header(sent, "x-tollgate-conversation")?.map(str::to_owned))
}
