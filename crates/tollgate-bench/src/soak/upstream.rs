//! A server whose tool `wait` takes as long as it is told to, or fails: the upstream of the soak.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use serde_json::Value;

use crate::echo::{EchoAnswer, EchoServer};
use crate::error::BenchError;
use crate::serve::{self, BenchHandler, BenchResponse, ServerThread};
use crate::wire::Era;

pub(super) struct WaitingUpstream {
    echo: EchoServer,
}

impl WaitingUpstream {
    pub(super) fn start() -> Result<ServerThread, BenchError> {
        Ok(ServerThread::start("waiting", Self { echo: EchoServer::with(&["wait"]) })?)
    }
}

impl BenchHandler for WaitingUpstream {
    async fn handle(&self, request: Request<Incoming>) -> BenchResponse {
        if *request.method() != Method::POST {
            return serve::empty(StatusCode::METHOD_NOT_ALLOWED);
        }
        let Ok(message) = serve::body_of(request).await else {
            return serve::empty(StatusCode::BAD_REQUEST);
        };
        let wish = WaitArguments::of(&message);
        if wish.fails {
            return serve::empty(StatusCode::INTERNAL_SERVER_ERROR);
        }
        tokio::time::sleep(wish.wait).await;
        match self.echo.answer(Era::Modern, &message) {
            EchoAnswer::Message(text) => serve::json(Bytes::from(text)),
            EchoAnswer::Nothing => serve::empty(StatusCode::ACCEPTED),
            EchoAnswer::Never => std::future::pending().await,
        }
    }
}

/// What the arguments of a call ask for.
#[derive(Debug, Default)]
struct WaitArguments {
    wait: Duration,
    fails: bool,
}

impl WaitArguments {
    fn of(message: &[u8]) -> Self {
        let message: Value = serde_json::from_slice(message).unwrap_or_default();
        let arguments = &message["params"]["arguments"];
        Self {
            wait: Duration::from_millis(arguments["ms"].as_u64().unwrap_or(0)),
            fails: arguments["fails"].as_bool().unwrap_or(false),
        }
    }
}
