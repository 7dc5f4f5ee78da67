//! One HTTP connection that makes one call after the other.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{LoadRequest, LoadTarget};
use crate::chat::{self, BenchChatTarget};
use crate::clock;
use crate::echo::LARGE_RESULT_BYTES;
use crate::error::BenchError;
use crate::wire::{self, Era, SESSION};

/// A stream of which the first word has come.
pub(crate) struct OpenedStream {
    pub(crate) first: Duration,
    events: Vec<u8>,
    body: Incoming,
}

impl OpenedStream {
    /// Reads the rest, and checks that it is the answer to request `number`.
    pub(crate) async fn finish(mut self, from: &str, number: u64) -> Result<(), BenchError> {
        while let Some(frame) = self.body.frame().await {
            self.events.extend_from_slice(&frame?.into_data().unwrap_or_default());
        }
        chat::check_text(from, number, &chat::streamed_text(&self.events))
    }
}

pub(crate) struct HttpLoadConnection {
    sender: SendRequest<Full<Bytes>>,
    /// Of all calls; a legacy session is among them.
    headers: HeaderMap,
    target: LoadTarget,
    /// Moves the bytes; ends with the connection.
    _driver: JoinSet<()>,
}

impl HttpLoadConnection {
    /// Connects, and opens a session if the era has them.
    pub(crate) async fn open(target: &LoadTarget) -> Result<Self, BenchError> {
        let stream = TcpStream::connect(target.address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            // The calls see for themselves when the connection is gone.
            let _ = connection.await;
        });
        let mut headers = match &target.ask {
            LoadRequest::Echo(tool) | LoadRequest::Large(tool) => {
                wire::headers(target.era, "tools/call", Some(tool))
            }
            LoadRequest::Roll => wire::headers(target.era, "tools/call", Some("roll")),
            LoadRequest::List(_) | LoadRequest::Same(_) => {
                wire::headers(target.era, "tools/list", None)
            }
            LoadRequest::Chat(_) => chat::headers(),
        };
        let host = HeaderValue::from_str(&target.address.to_string()).expect("plain ASCII");
        headers.insert(header::HOST, host);
        let mut opened = Self { sender, headers, target: target.clone(), _driver: driver };
        if target.era == Era::Legacy
            && matches!(target.ask, LoadRequest::Echo(_) | LoadRequest::List(_))
        {
            opened.initialize().await?;
        }
        Ok(opened)
    }

    async fn initialize(&mut self) -> Result<(), BenchError> {
        let response = self.post(wire::INITIALIZE.into()).await?;
        let (head, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        let session = head.headers.get(SESSION).cloned();
        let Some(session) = session.filter(|_| head.status == StatusCode::OK) else {
            return Err(BenchError::wrong(self.target.name, "no session", &body));
        };
        self.headers.insert(SESSION, session);
        let response = self.post(wire::INITIALIZED_NOTIFICATION.into()).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        if !status.is_success() {
            return Err(BenchError::wrong(self.target.name, "the session does not open", &body));
        }
        Ok(())
    }

    /// Makes one call and checks its answer.
    pub(crate) async fn call(&mut self, number: u64) -> Result<(), BenchError> {
        let message = match &self.target.ask {
            LoadRequest::Echo(tool) | LoadRequest::Large(tool) => {
                wire::call(self.target.era, tool, number)
            }
            LoadRequest::Roll => wire::call_with("roll", number, r#"{"expression":"2d6"}"#),
            LoadRequest::List(_) | LoadRequest::Same(_) => wire::list(self.target.era, None),
            LoadRequest::Chat(chat) => chat::request(*chat, number, "false"),
        };
        let body = self.exchange(message.into()).await?;
        match &self.target.ask {
            LoadRequest::Echo(_) => wire::check_echo(self.target.name, number, &body),
            LoadRequest::Roll => wire::check_result(self.target.name, number, &body),
            LoadRequest::Large(_) if body.len() >= LARGE_RESULT_BYTES => {
                wire::check_result(self.target.name, number, &body)
            }
            LoadRequest::Large(_) => {
                Err(BenchError::wrong(self.target.name, "not the whole result", &body))
            }
            LoadRequest::Chat(_) => chat::check(self.target.name, number, &body),
            LoadRequest::List(expected) | LoadRequest::Same(expected) if body == expected => Ok(()),
            LoadRequest::List(_) | LoadRequest::Same(_) => {
                Err(BenchError::wrong(self.target.name, "other bytes than before", &body))
            }
        }
    }

    /// The body of a successful answer.
    pub(crate) async fn exchange(&mut self, message: Bytes) -> Result<Bytes, BenchError> {
        let response = self.post(message).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        if status == StatusCode::OK {
            Ok(body)
        } else {
            Err(BenchError::wrong(self.target.name, "not status 200", &body))
        }
    }

    /// Asks for a stream, and says how long its first word took.
    pub(crate) async fn stream(
        &mut self,
        chat: BenchChatTarget,
        number: u64,
    ) -> Result<OpenedStream, BenchError> {
        let message = chat::request(chat, number, "true");
        let sent = clock::now();
        let response = self.post(message.into()).await?;
        let (head, mut body) = response.into_parts();
        let mut events = Vec::new();
        while chat::streamed_text(&events).is_empty() {
            let Some(frame) = body.frame().await else {
                return Err(BenchError::wrong(self.target.name, "no stream", &events));
            };
            events.extend_from_slice(&frame?.into_data().unwrap_or_default());
            if head.status != StatusCode::OK {
                return Err(BenchError::wrong(self.target.name, "not status 200", &events));
            }
        }
        Ok(OpenedStream { first: clock::now() - sent, events, body })
    }

    /// All names in the list of tools, over all pages, and the first page as it came.
    pub(crate) async fn list(&mut self) -> Result<(Vec<String>, Bytes), BenchError> {
        let era = self.target.era;
        let first = self.exchange(wire::list(era, None).into()).await?;
        let (mut names, mut cursor) = wire::read_list(self.target.name, &first)?;
        while let Some(at) = cursor {
            let page = self.exchange(wire::list(era, Some(&at)).into()).await?;
            let (more, next) = wire::read_list(self.target.name, &page)?;
            names.extend(more);
            cursor = next;
        }
        Ok((names, first))
    }

    /// Ends the session, as a good client does.
    pub(crate) async fn close(mut self) -> Result<(), BenchError> {
        if self.headers.contains_key(SESSION) {
            let response = self.send(Method::DELETE, Bytes::new()).await?;
            response.into_body().collect().await?;
        }
        Ok(())
    }

    async fn post(&mut self, message: Bytes) -> Result<Response<Incoming>, BenchError> {
        self.send(Method::POST, message).await
    }

    async fn send(
        &mut self,
        method: Method,
        body: Bytes,
    ) -> Result<Response<Incoming>, BenchError> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        let path = match &self.target.ask {
            LoadRequest::Chat(chat) => chat.front.path(),
            LoadRequest::Echo(_)
            | LoadRequest::Large(_)
            | LoadRequest::Roll
            | LoadRequest::List(_)
            | LoadRequest::Same(_) => "/mcp",
        };
        *request.uri_mut() = http::Uri::from_static(path);
        request.headers_mut().clone_from(&self.headers);
        self.sender.ready().await?;
        Ok(self.sender.send_request(request).await?)
    }
}
