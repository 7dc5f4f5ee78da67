//! The echo server over Streamable HTTP, in both eras.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use hyper::body::Incoming;

use crate::echo::{EchoAnswer, EchoServer};
use crate::serve::{self, BenchHandler, BenchResponse};
use crate::wire::{Era, SESSION, VERSION};

pub(crate) struct EchoUpstream {
    echo: EchoServer,
    sessions: AtomicU64,
}

impl EchoUpstream {
    pub(crate) fn new(tools: usize) -> Self {
        Self { echo: EchoServer::new(tools), sessions: AtomicU64::new(0) }
    }

    /// With the tool `large`, whose results are large.
    pub(crate) fn with_large_results() -> Self {
        Self { echo: EchoServer::with(&["large"]), sessions: AtomicU64::new(0) }
    }

    async fn post(&self, era: Era, message: &[u8]) -> BenchResponse {
        match self.echo.answer(era, message) {
            EchoAnswer::Message(message) => serve::json(Bytes::from(message)),
            EchoAnswer::Nothing => serve::empty(StatusCode::ACCEPTED),
            EchoAnswer::Never => std::future::pending().await,
        }
    }
}

impl BenchHandler for EchoUpstream {
    async fn handle(&self, request: Request<Incoming>) -> BenchResponse {
        match *request.method() {
            Method::POST => {}
            Method::DELETE => return serve::empty(StatusCode::OK),
            _ => return serve::empty(StatusCode::METHOD_NOT_ALLOWED),
        }
        let door = door(request.headers());
        let Ok(message) = serve::body_of(request).await else {
            return serve::empty(StatusCode::BAD_REQUEST);
        };
        match door {
            RequestSession::Modern => self.post(Era::Modern, &message).await,
            RequestSession::Session => self.post(Era::Legacy, &message).await,
            RequestSession::New => {
                let number = self.sessions.fetch_add(1, Ordering::Relaxed);
                let mut reply = self.post(Era::Legacy, &message).await;
                let id = HeaderValue::from_str(&format!("session-{number}"));
                reply.headers_mut().insert(SESSION, id.expect("plain ASCII"));
                reply
            }
            RequestSession::Lost => serve::empty(StatusCode::NOT_FOUND),
        }
    }
}

/// How a request comes in.
enum RequestSession {
    Modern,
    Session,
    New,
    Lost,
}

fn door(headers: &HeaderMap) -> RequestSession {
    if headers.get(VERSION).is_some_and(|it| it == Era::Modern.revision()) {
        return RequestSession::Modern;
    }
    match headers.get(SESSION) {
        Some(id) if id.as_bytes().starts_with(b"session-") => RequestSession::Session,
        Some(_) => RequestSession::Lost,
        None => RequestSession::New,
    }
}
