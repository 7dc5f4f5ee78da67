//! The echo server over Streamable HTTP, in both eras.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use hyper::body::Incoming;

use crate::echo::{Answer, Echo};
use crate::serve::{self, Handler, Reply};
use crate::wire::{Era, SESSION, VERSION};

pub(crate) struct Upstream {
    echo: Echo,
    sessions: AtomicU64,
}

impl Upstream {
    pub(crate) fn new(tools: usize) -> Self {
        Self { echo: Echo::new(tools), sessions: AtomicU64::new(0) }
    }

    async fn post(&self, era: Era, message: &[u8]) -> Reply {
        match self.echo.answer(era, message) {
            Answer::Message(message) => serve::json(Bytes::from(message)),
            Answer::Nothing => serve::empty(StatusCode::ACCEPTED),
            Answer::Never => std::future::pending().await,
        }
    }
}

impl Handler for Upstream {
    async fn handle(&self, request: Request<Incoming>) -> Reply {
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
            Door::Modern => self.post(Era::Modern, &message).await,
            Door::Session => self.post(Era::Legacy, &message).await,
            Door::New => {
                let number = self.sessions.fetch_add(1, Ordering::Relaxed);
                let mut reply = self.post(Era::Legacy, &message).await;
                let id = HeaderValue::from_str(&format!("session-{number}"));
                reply.headers_mut().insert(SESSION, id.expect("plain ASCII"));
                reply
            }
            Door::Lost => serve::empty(StatusCode::NOT_FOUND),
        }
    }
}

/// How a request comes in.
enum Door {
    Modern,
    Session,
    New,
    Lost,
}

fn door(headers: &HeaderMap) -> Door {
    if headers.get(VERSION).is_some_and(|it| it == Era::Modern.revision()) {
        return Door::Modern;
    }
    match headers.get(SESSION) {
        Some(id) if id.as_bytes().starts_with(b"session-") => Door::Session,
        Some(_) => Door::Lost,
        None => Door::New,
    }
}
