//! MCP over HTTP: one endpoint for both eras. A response is plain JSON, unless a message must be
//! sent before the answer. Only then it becomes an event stream.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use tollgate_mcp::envelope::{self, JsonRpcMessage};
use tollgate_mcp::header::SESSION_ID;
use tollgate_mcp::{Era, Revision};

use super::exchange::{Exchange, ExchangeAnswer, ExchangeChannel, ExchangeStep, ExchangeTransport};
use super::legacy::SessionClient;
use super::method;
use super::modern;
use super::parsed_request::ParsedMcpRequest;
use super::{legacy, listen};
use crate::accept::Accepts;
use crate::api_error::{ApiError, ApiErrorCode, ApiErrorFormat, retry_after};
use crate::app_state::AppState;
use crate::auth::NO_RIGHT;
use crate::body;
use crate::error_mapping::McpRequestError;
use crate::in_flight::ListeningResponse;
use crate::mcp_session::McpSession;
use crate::request_context::RequestContext;

mod claims;
mod stream;

use claims::{find_session, is_modern, known_version, says_modern, session_id, who};

pub(crate) async fn post(State(front): State<Arc<AppState>>, request: Request) -> Response {
    handle_post(front, None, request).await
}

pub(crate) async fn post_to_agent(
    State(front): State<Arc<AppState>>,
    Path(agent): Path<String>,
    request: Request,
) -> Response {
    handle_post(front, Some(agent), request).await
}

pub(crate) async fn get(State(front): State<Arc<AppState>>, request: Request) -> Response {
    stream_of_session(front, None, &request.into_parts().0)
}

pub(crate) async fn get_for_agent(
    State(front): State<Arc<AppState>>,
    Path(agent): Path<String>,
    request: Request,
) -> Response {
    stream_of_session(front, Some(agent), &request.into_parts().0)
}

pub(crate) async fn delete(State(front): State<Arc<AppState>>, request: Request) -> Response {
    end_of_session(&front, None, &request.into_parts().0)
}

pub(crate) async fn delete_for_agent(
    State(front): State<Arc<AppState>>,
    Path(agent): Path<String>,
    request: Request,
) -> Response {
    end_of_session(&front, Some(agent), &request.into_parts().0)
}

async fn handle_post(front: Arc<AppState>, agent: Option<String>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let accepted = match Accepts::read(&sent.headers) {
        Accepts::Both => ExchangeTransport::Http,
        Accepts::OnlyJson => ExchangeTransport::AnswerOnly,
        Accepts::OnlyEvents | Accepts::Neither => return not_acceptable("application/json"),
    };
    let read = async {
        let who = who(&front.keys, &sent, agent)?;
        Ok((who, body::json(&sent, body, &front.limits).await?))
    };
    let (who, body) = match read.await {
        Ok(read) => read,
        Err(problem) => return ApiError::response(&problem, ApiErrorFormat::JsonRpc),
    };
    let keep_alive = front.limits.keep_alive;
    let post = McpPost { who, headers: sent.headers, body };
    let mut exchange =
        Exchange::new(ExchangeChannel::new(accepted), |line| serve(front, post, line));
    match exchange.next().await {
        ExchangeStep::Done(answer) => plain_response(answer),
        ExchangeStep::Say(first) => {
            let is_listening = exchange.is_listening();
            let mut response = stream::response(exchange, Some(first), keep_alive);
            if is_listening {
                response.extensions_mut().insert(ListeningResponse);
            }
            response
        }
    }
}

struct McpPost {
    who: RequestContext,
    headers: HeaderMap,
    body: Bytes,
}

/// Owns all its inputs, so that it can outlive the connection.
async fn serve(front: Arc<AppState>, post: McpPost, line: Arc<ExchangeChannel>) -> ExchangeAnswer {
    let McpPost { who, headers, body } = post;
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
        return serve_batch(&front, &who, &headers, &body, &line).await;
    }
    let message = match JsonRpcMessage::parse_bytes(&body) {
        Ok(message) => message,
        Err(invalid) => {
            let refused = McpRequestError { status: StatusCode::BAD_REQUEST, error: invalid.error };
            return ExchangeAnswer::from_error(invalid.id.as_ref(), &refused);
        }
    };
    match message {
        JsonRpcMessage::Request(request) => {
            serve_request(&front, who, &headers, request, &line).await
        }
        JsonRpcMessage::Notification { .. } | JsonRpcMessage::Response { .. } => {
            if session_id(&headers).is_none() && says_modern(&headers) {
                return modern_aside(&message);
            }
            match find_session(&front, &who, &headers) {
                Ok(session) => {
                    let speaker = SessionClient { session: &session, who: &who };
                    legacy::take(&front, speaker, message, &line).await
                }
                Err(refused) => ExchangeAnswer::from_error(None, &refused),
            }
        }
    }
}

async fn serve_request(
    front: &AppState,
    who: RequestContext,
    headers: &HeaderMap,
    request: envelope::JsonRpcRequest<'_>,
    line: &ExchangeChannel,
) -> ExchangeAnswer {
    let envelope::JsonRpcRequest { id, method, params } = request;
    let params = match method::params(params) {
        Ok(params) => params,
        Err(refused) => return ExchangeAnswer::from_error(Some(&id), &refused),
    };
    let is_modern = is_modern(headers, &method, &params);
    let ask = ParsedMcpRequest { id, method: &method, params };
    if is_modern {
        return modern::answer(
            front,
            modern::ModernRequestSource { who, headers: Some(headers), line },
            ask,
        )
        .await;
    }
    if ask.method == "initialize" {
        return match session_id(headers).and_then(|id| front.sessions.find(id, &who)) {
            Some(_) => ExchangeAnswer::from_error(
                Some(&ask.id),
                &McpRequestError::invalid("this session is already initialized"),
            ),
            None => legacy::initialize(front, who, &ask),
        };
    }
    match find_session(front, &who, headers) {
        Ok(session) => {
            let speaker = SessionClient { session: &session, who: &who };
            legacy::answer(front, speaker, ask, line).await
        }
        Err(refused) => ExchangeAnswer::from_error(Some(&ask.id), &refused),
    }
}

async fn serve_batch(
    front: &AppState,
    who: &RequestContext,
    headers: &HeaderMap,
    body: &[u8],
    line: &ExchangeChannel,
) -> ExchangeAnswer {
    let no_batches = "this protocol revision does not allow batches";
    if session_id(headers).is_none() {
        return legacy::invalid_request(no_batches);
    }
    match (find_session(front, who, headers), std::str::from_utf8(body)) {
        (Ok(session), Ok(text)) if session.revision == Revision::V2025_03_26 => {
            let speaker = SessionClient { session: &session, who };
            legacy::batch(front, speaker, text, line).await
        }
        (Ok(_), _) => legacy::invalid_request(no_batches),
        (Err(refused), _) => ExchangeAnswer::from_error(None, &refused),
    }
}

/// A modern notification is accepted. Responses from a modern client are refused: it is never
/// asked.
fn modern_aside(message: &JsonRpcMessage<'_>) -> ExchangeAnswer {
    match message {
        JsonRpcMessage::Notification { .. } => ExchangeAnswer::nothing(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Response { .. } => {
            legacy::invalid_request("there is no open question to this client")
        }
    }
}

/// The stream for messages of a legacy session that belong to no request.
fn stream_of_session(front: Arc<AppState>, agent: Option<String>, sent: &Parts) -> Response {
    let (session, who) = match session_for(&front, agent, sent) {
        Ok(found) => found,
        Err(refused) => return refused.response(),
    };
    if matches!(Accepts::read(&sent.headers), Accepts::OnlyJson | Accepts::Neither) {
        return not_acceptable("text/event-stream");
    }
    if let Err(problem) = front.pressure.take_stream() {
        return problem.response(ApiErrorFormat::JsonRpc);
    }
    let keep_alive = front.limits.keep_alive;
    let exchange =
        Exchange::new(ExchangeChannel::new(ExchangeTransport::Http), |line| async move {
            if let Some(sender) = line.messages() {
                listen::tell(&front, SessionClient { session: &session, who: &who }, sender).await;
            }
            ExchangeAnswer::nothing()
        });
    stream::response(exchange, None, keep_alive)
}

fn end_of_session(front: &AppState, agent: Option<String>, sent: &Parts) -> Response {
    match session_for(front, agent, sent) {
        Ok((session, _)) => {
            front.sessions.close(&session);
            StatusCode::NO_CONTENT.into_response()
        }
        Err(refused) => refused.response(),
    }
}

/// Why a GET or DELETE finds no session.
enum SessionLookupError {
    /// Modern clients have no sessions.
    NotAllowed,
    Problem(ApiError),
    Refused(McpRequestError),
}

impl SessionLookupError {
    fn response(&self) -> Response {
        match self {
            Self::NotAllowed => {
                let detail = "only POST, outside of a session";
                let status = StatusCode::METHOD_NOT_ALLOWED;
                let problem = ApiError::new(status, "method_not_allowed", detail);
                let mut response = problem.response(ApiErrorFormat::JsonRpc);
                response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
                response
            }
            Self::Problem(problem) => problem.response(ApiErrorFormat::JsonRpc),
            Self::Refused(refused) => plain_response(ExchangeAnswer::from_error(None, refused)),
        }
    }
}

fn session_for(
    front: &AppState,
    agent: Option<String>,
    sent: &Parts,
) -> Result<(Arc<McpSession>, RequestContext), SessionLookupError> {
    let headers = &sent.headers;
    if session_id(headers).is_none() || known_version(headers) == Some(Era::Modern) {
        return Err(SessionLookupError::NotAllowed);
    }
    let who = who(&front.keys, sent, agent).map_err(SessionLookupError::Problem)?;
    let session = find_session(front, &who, headers).map_err(SessionLookupError::Refused)?;
    Ok((session, who))
}

fn plain_response(answer: ExchangeAnswer) -> Response {
    let ExchangeAnswer { status, session, text } = answer;
    let Some(text) = text else { return status.into_response() };
    let mut response = Response::new(text.into_body());
    *response.status_mut() = status;
    if status == StatusCode::FORBIDDEN {
        response.extensions_mut().insert(ApiErrorCode(NO_RIGHT));
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
        retry_after(headers, Duration::from_secs(1));
    }
    if let Some(session) = session.and_then(|id| HeaderValue::from_str(&id).ok()) {
        headers.insert(SESSION_ID, session);
    }
    response
}

fn not_acceptable(media: &'static str) -> Response {
    let detail = format!("`accept` must allow `{media}`");
    ApiError::with_detail(StatusCode::NOT_ACCEPTABLE, "not_acceptable", detail)
        .response(ApiErrorFormat::JsonRpc)
}
