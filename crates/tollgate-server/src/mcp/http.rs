//! MCP over HTTP: one endpoint for both eras. An answer is plain JSON unless something has to be
//! said before it; only then it becomes an event stream.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use tollgate_mcp::envelope::{self, Message};
use tollgate_mcp::header::SESSION_ID;
use tollgate_mcp::{Era, Revision};

use super::exchange::{Answer, Carrier, Exchange, Line, Step};
use super::legacy::Speaker;
use super::method;
use super::modern::{self, Ask};
use super::session::Session;
use super::{Front, legacy, listen};
use crate::accept::Accepts;
use crate::auth::NO_RIGHT;
use crate::body;
use crate::crowd::Listening;
use crate::problem::{Problem, ProblemCode, Style, retry_after};
use crate::refusal::Refused;
use crate::who::Who;

mod claims;
mod stream;

use claims::{find_session, is_modern, known_version, says_modern, session_id, who};

pub(crate) async fn post(State(front): State<Arc<Front>>, request: Request) -> Response {
    posted(front, None, request).await
}

pub(crate) async fn post_to_agent(
    State(front): State<Arc<Front>>,
    Path(agent): Path<String>,
    request: Request,
) -> Response {
    posted(front, Some(agent), request).await
}

pub(crate) async fn get(State(front): State<Arc<Front>>, request: Request) -> Response {
    stream_of_session(front, None, &request.into_parts().0)
}

pub(crate) async fn get_for_agent(
    State(front): State<Arc<Front>>,
    Path(agent): Path<String>,
    request: Request,
) -> Response {
    stream_of_session(front, Some(agent), &request.into_parts().0)
}

pub(crate) async fn delete(State(front): State<Arc<Front>>, request: Request) -> Response {
    end_of_session(&front, None, &request.into_parts().0)
}

pub(crate) async fn delete_for_agent(
    State(front): State<Arc<Front>>,
    Path(agent): Path<String>,
    request: Request,
) -> Response {
    end_of_session(&front, Some(agent), &request.into_parts().0)
}

async fn posted(front: Arc<Front>, agent: Option<String>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let accepted = match Accepts::read(&sent.headers) {
        Accepts::Both => Carrier::Http,
        Accepts::OnlyJson => Carrier::AnswerOnly,
        Accepts::OnlyEvents | Accepts::Neither => return not_acceptable("application/json"),
    };
    let read = async {
        let who = who(&front.keys, &sent, agent)?;
        Ok((who, body::json(&sent, body, &front.limits).await?))
    };
    let (who, body) = match read.await {
        Ok(read) => read,
        Err(problem) => return Problem::response(&problem, Style::JsonRpc),
    };
    let keep_alive = front.limits.keep_alive;
    let post = Post { who, headers: sent.headers, body };
    let mut exchange = Exchange::new(Line::new(accepted), |line| serve(front, post, line));
    match exchange.next().await {
        Step::Done(answer) => plain(answer),
        Step::Say(first) => {
            let is_listening = exchange.is_listening();
            let mut response = stream::response(exchange, Some(first), keep_alive);
            if is_listening {
                response.extensions_mut().insert(Listening);
            }
            response
        }
    }
}

struct Post {
    who: Who,
    headers: HeaderMap,
    body: Bytes,
}

/// Owns everything that the answer is made from, so that it can outlive the connection.
async fn serve(front: Arc<Front>, post: Post, line: Arc<Line>) -> Answer {
    let Post { who, headers, body } = post;
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
        return serve_batch(&front, &who, (&headers, &body), &line).await;
    }
    let message = match Message::parse_bytes(&body) {
        Ok(message) => message,
        Err(invalid) => {
            let refused = Refused { status: StatusCode::BAD_REQUEST, error: invalid.error };
            return Answer::refused(invalid.id.as_ref(), &refused);
        }
    };
    match message {
        Message::Request(request) => serve_request(&front, (who, &headers), request, &line).await,
        Message::Notification { .. } | Message::Response { .. } => {
            if session_id(&headers).is_none() && says_modern(&headers) {
                return modern_aside(&message);
            }
            match find_session(&front, &who, &headers) {
                Ok(session) => {
                    let speaker = Speaker { session: &session, who: &who };
                    legacy::take(&front, speaker, message, &line).await
                }
                Err(refused) => Answer::refused(None, &refused),
            }
        }
    }
}

async fn serve_request(
    front: &Front,
    (who, headers): (Who, &HeaderMap),
    request: envelope::Request<'_>,
    line: &Line,
) -> Answer {
    let envelope::Request { id, method, params } = request;
    let params = match method::params(params) {
        Ok(params) => params,
        Err(refused) => return Answer::refused(Some(&id), &refused),
    };
    let is_modern = is_modern(headers, &method, &params);
    let ask = Ask { id, method: &method, params };
    if is_modern {
        return modern::answer(front, modern::From { who, headers: Some(headers), line }, ask)
            .await;
    }
    if ask.method == "initialize" {
        return match session_id(headers).and_then(|id| front.sessions.find(id, &who)) {
            Some(_) => Answer::refused(
                Some(&ask.id),
                &Refused::invalid("this session is initialized already"),
            ),
            None => legacy::initialize(front, who, &ask),
        };
    }
    match find_session(front, &who, headers) {
        Ok(session) => {
            let speaker = Speaker { session: &session, who: &who };
            legacy::answer(front, speaker, ask, line).await
        }
        Err(refused) => Answer::refused(Some(&ask.id), &refused),
    }
}

async fn serve_batch(
    front: &Front,
    who: &Who,
    (headers, body): (&HeaderMap, &[u8]),
    line: &Line,
) -> Answer {
    let no_batches = "messages come one by one in this protocol revision";
    if session_id(headers).is_none() {
        return legacy::refused(no_batches);
    }
    match (find_session(front, who, headers), std::str::from_utf8(body)) {
        (Ok(session), Ok(text)) if session.revision == Revision::V2025_03_26 => {
            let speaker = Speaker { session: &session, who };
            legacy::batch(front, speaker, text, line).await
        }
        (Ok(_), _) => legacy::refused(no_batches),
        (Err(refused), _) => Answer::refused(None, &refused),
    }
}

/// A modern notification is taken; a modern client has nothing to answer.
fn modern_aside(message: &Message<'_>) -> Answer {
    match message {
        Message::Notification { .. } => Answer::nothing(),
        Message::Request(_) | Message::Response { .. } => {
            legacy::refused("nobody asked this client anything")
        }
    }
}

/// The stream on which a legacy session hears what no request of its own asked for.
fn stream_of_session(front: Arc<Front>, agent: Option<String>, sent: &Parts) -> Response {
    let (session, who) = match session_for(&front, agent, sent) {
        Ok(found) => found,
        Err(refused) => return refused.response(),
    };
    if matches!(Accepts::read(&sent.headers), Accepts::OnlyJson | Accepts::Neither) {
        return not_acceptable("text/event-stream");
    }
    if let Err(problem) = front.pressure.take_stream() {
        return problem.response(Style::JsonRpc);
    }
    let keep_alive = front.limits.keep_alive;
    let exchange = Exchange::new(Line::new(Carrier::Http), |line| async move {
        if let Some(sender) = line.messages() {
            listen::tell(&front, Speaker { session: &session, who: &who }, sender).await;
        }
        Answer::nothing()
    });
    stream::response(exchange, None, keep_alive)
}

fn end_of_session(front: &Front, agent: Option<String>, sent: &Parts) -> Response {
    match session_for(front, agent, sent) {
        Ok((session, _)) => {
            front.sessions.close(&session);
            StatusCode::NO_CONTENT.into_response()
        }
        Err(refused) => refused.response(),
    }
}

/// Why there is no session for a GET or a DELETE.
enum NoSession {
    /// Modern clients have none.
    NotAllowed,
    Problem(Problem),
    Refused(Refused),
}

impl NoSession {
    fn response(&self) -> Response {
        match self {
            Self::NotAllowed => {
                let detail = "only POST, outside of a session";
                let status = StatusCode::METHOD_NOT_ALLOWED;
                let problem = Problem::new(status, "method_not_allowed", detail);
                let mut response = problem.response(Style::JsonRpc);
                response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
                response
            }
            Self::Problem(problem) => problem.response(Style::JsonRpc),
            Self::Refused(refused) => plain(Answer::refused(None, refused)),
        }
    }
}

fn session_for(
    front: &Front,
    agent: Option<String>,
    sent: &Parts,
) -> Result<(Arc<Session>, Who), NoSession> {
    let headers = &sent.headers;
    if session_id(headers).is_none() || known_version(headers) == Some(Era::Modern) {
        return Err(NoSession::NotAllowed);
    }
    let who = who(&front.keys, sent, agent).map_err(NoSession::Problem)?;
    let session = find_session(front, &who, headers).map_err(NoSession::Refused)?;
    Ok((session, who))
}

fn plain(answer: Answer) -> Response {
    let Answer { status, session, text } = answer;
    let Some(text) = text else { return status.into_response() };
    let mut response = Response::new(text.into_body());
    *response.status_mut() = status;
    if status == StatusCode::FORBIDDEN {
        response.extensions_mut().insert(ProblemCode(NO_RIGHT));
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
    Problem::told(StatusCode::NOT_ACCEPTABLE, "not_acceptable", detail).response(Style::JsonRpc)
}
