//! Live speech sessions over WebSocket, each in its provider's own protocol: lets somebody in, finds
//! out whom they want to talk to, and hands both sockets on. Decides nothing that is said.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::StatusCode;
use http::request::Parts;
use tollgate_core::turn::Principal;
use tollgate_llm::realtime::{Live, Place};
use tollgate_mcp::offload::offload_while_large;

use crate::fields::parameter;
use crate::in_flight::PrincipalShare;
use crate::mcp::AppState;
use crate::problem::{ApiError, ApiErrorFormat, STOPPING};
use crate::who::RequestContext;

mod handshake;
mod key;
mod message_budget;
mod session;
mod target;

pub(crate) use key::bring_key;
pub(crate) use session::Handover;

use handshake::Handshake;
use session::Knock;

/// `GET /v1/realtime?model=…&agent=…`, or `?call_id=…` for a call that runs elsewhere.
pub(crate) async fn openai(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (live, place) = match parameter(request.uri(), "call_id") {
        Some(call) => (Live::OpenAiSideband, Place::Attached(call)),
        None => (Live::OpenAi, Place::New),
    };
    open(front, request, (live, place)).await
}

pub(crate) async fn gpt_live(State(front): State<Arc<AppState>>, request: Request) -> Response {
    open(front, request, (Live::GptLive, Place::New)).await
}

pub(crate) async fn attach(
    State(front): State<Arc<AppState>>,
    Path(session): Path<String>,
    request: Request,
) -> Response {
    open(front, request, (Live::GptLive, Place::Attached(session))).await
}

pub(crate) async fn deepgram(State(front): State<Arc<AppState>>, request: Request) -> Response {
    open(front, request, (Live::Deepgram, Place::New)).await
}

/// `/ws/google.ai.generativelanguage.{version}.GenerativeService.BidiGenerateContent`.
pub(crate) async fn gemini(
    State(front): State<Arc<AppState>>,
    Path(service): Path<String>,
    request: Request,
) -> Response {
    match version(&service) {
        Some(version) => {
            let place = Place::Version(version.to_owned());
            open(front, request, (Live::Gemini, place)).await
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

/// In whose words somebody is turned away.
fn style(live: Live) -> ApiErrorFormat {
    match live {
        Live::Gemini => ApiErrorFormat::Gemini,
        Live::OpenAi | Live::OpenAiSideband | Live::GptLive | Live::Deepgram => {
            ApiErrorFormat::OpenAi
        }
    }
}

async fn open(front: Arc<AppState>, request: Request, (live, place): (Live, Place)) -> Response {
    match accept_session(&front, request, (live, place)).await {
        Ok(response) => response,
        Err(problem) => handshake::asking(problem.response(style(live))),
    }
}

async fn accept_session(
    front: &Arc<AppState>,
    mut request: Request,
    (live, place): (Live, Place),
) -> Result<Response, ApiError> {
    let shake = Handshake::read(&request)?;
    let upgrade = hyper::upgrade::on(&mut request);
    let (sent, _) = request.into_parts();
    let handover = sent.extensions.get::<Handover>().cloned().ok_or(NO_SOCKET)?;
    // It would be over before it is of use.
    if front.stopping.is_cancelled() {
        return Err(STOPPING);
    }
    front.pressure.take_stream()?;
    let who = target::who(front, &sent)?;
    let seat = front.live.enter(share(front, &who))?;
    // Whose model is in the URL, or is the agent's, is told in HTTP if it cannot be served.
    let says_more = match (live, &place) {
        (Live::OpenAi | Live::OpenAiSideband, _) | (Live::GptLive, Place::Attached(_)) => false,
        (Live::GptLive | Live::Deepgram | Live::Gemini, _) => true,
    };
    let knock = Knock::new(front, &sent, (who, live, place))?;
    let session = if says_more {
        session::unknown(Arc::clone(front), knock)
    } else {
        let visit = knock.visit(parameter(&sent.uri, "model").as_deref())?;
        let provider = visit.dial().await.map_err(target::problem)?;
        session::known(Arc::clone(front), knock, (visit, provider))
    };
    let response = shake.response(&sent);
    handover.give(offload_while_large(async move |large_work| {
        match upgrade.await {
            Ok(upgraded) => session(upgraded, large_work).await,
            Err(error) => tracing::debug!(%error, "a connection did not become a socket"),
        }
        drop(seat);
    }));
    Ok(response)
}

/// Whoever comes without a key is everybody on this machine.
fn share(front: &AppState, who: &RequestContext) -> Option<PrincipalShare> {
    let is_key = who.principal != Principal::local();
    is_key.then(|| PrincipalShare {
        principal: who.principal.clone(),
        most: front.limits.live_per_key,
    })
}

const NO_SOCKET: ApiError = ApiError::new(
    StatusCode::NOT_IMPLEMENTED,
    "no_socket",
    "live sessions need a connection of their own",
);

/// What of the request a session goes by.
fn conversation(sent: &Parts) -> Result<Option<String>, ApiError> {
    Ok(crate::who::header(sent, "x-tollgate-conversation")?.map(str::to_owned))
}
