//! HTTP requests to one server: its headers, its credentials, no redirects. Independent of
//! JSON-RPC.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri, header};
use http_body_util::Full;
use hyper::body::Incoming;

use super::HttpTarget;
use crate::client::{ConnectError, Credentials, RequestError};
use crate::web::body::BodyReadError;
use crate::web::{self, HttpPool};

/// Both content types that a server may answer with.
const ACCEPT_BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const ACCEPT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

pub(in crate::client) struct ServerHttp {
    pool: HttpPool,
    pub url: Uri,
    headers: HeaderMap,
    credentials: Option<Arc<dyn Credentials>>,
}

/// Why there is no usable response.
#[derive(Debug)]
pub(in crate::client) enum ServerHttpError {
    /// Nothing was sent.
    Unreachable(String),
    /// At least part of it was sent before the connection broke.
    Broken(String),
    Unauthorized(String),
}

impl From<ServerHttpError> for RequestError {
    fn from(failed: ServerHttpError) -> Self {
        match failed {
            ServerHttpError::Unreachable(message) => Self::Unreachable(message),
            ServerHttpError::Broken(message) => Self::Lost(message),
            ServerHttpError::Unauthorized(message) => Self::Unauthorized(message),
        }
    }
}

impl From<BodyReadError> for RequestError {
    fn from(unread: BodyReadError) -> Self {
        match unread {
            BodyReadError::TooLarge { limit } => Self::TooLarge { limit },
            BodyReadError::NoRoom(error) => Self::NoRoom(error),
            BodyReadError::Broken(why) => {
                Self::Lost(format!("the server's response was interrupted: {why}"))
            }
        }
    }
}

impl From<ServerHttpError> for ConnectError {
    fn from(failed: ServerHttpError) -> Self {
        match failed {
            ServerHttpError::Unreachable(message) | ServerHttpError::Broken(message) => {
                Self::Unreachable(message)
            }
            ServerHttpError::Unauthorized(message) => Self::Unauthorized(message),
        }
    }
}

/// One request; the configured headers are added to its own.
#[derive(Clone)]
pub(in crate::client) struct ServerExchange<'a> {
    pub method: Method,
    pub url: &'a Uri,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl ServerHttp {
    pub(in crate::client) fn new(target: HttpTarget) -> Result<Self, ConnectError> {
        let pool = HttpPool::new(&target.url)
            .map_err(|error| ConnectError::Unreachable(error.to_string()))?;
        let HttpTarget { url, headers, credentials, .. } = target;
        Ok(Self { pool, url, headers, credentials })
    }

    /// POSTs a message to the server's own URL.
    pub(in crate::client) async fn post(
        &self,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, ServerHttpError> {
        self.post_to(&self.url, headers, body).await
    }

    pub(in crate::client) async fn post_to(
        &self,
        url: &Uri,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, ServerHttpError> {
        headers.insert(header::ACCEPT, ACCEPT_BOTH);
        headers.insert(header::CONTENT_TYPE, JSON);
        self.send(ServerExchange { method: Method::POST, url, headers, body }).await
    }

    /// Opens an event stream.
    pub(in crate::client) async fn get_stream(
        &self,
        mut headers: HeaderMap,
    ) -> Result<Response<Incoming>, ServerHttpError> {
        headers.insert(header::ACCEPT, ACCEPT_STREAM);
        let body = Bytes::new();
        self.send(ServerExchange { method: Method::GET, url: &self.url, headers, body }).await
    }

    /// Sends; retries once if the credentials are refused and there are better ones.
    pub(in crate::client) async fn send(
        &self,
        mut exchange: ServerExchange<'_>,
    ) -> Result<Response<Incoming>, ServerHttpError> {
        for (name, value) in &self.headers {
            // Protocol headers take precedence over configured ones.
            if !exchange.headers.contains_key(name) {
                exchange.headers.insert(name, value.clone());
            }
        }
        let Some(credentials) = &self.credentials else {
            let response = self.send_once(exchange).await?;
            return if is_refusal(response.status()) {
                Err(unauthorized_error(&response))
            } else {
                Ok(response)
            };
        };
        let mut may_ask = true;
        loop {
            let added = credentials
                .headers()
                .await
                .map_err(|error| ServerHttpError::Unauthorized(error.to_string()))?;
            let mut attempt = exchange.clone();
            attempt.headers.extend(added);
            let response = self.send_once(attempt).await?;
            if !is_refusal(response.status()) {
                return Ok(response);
            }
            let challenge = challenge(&response);
            if !may_ask
                || !credentials.handle_refusal(response.status(), challenge.as_deref()).await
            {
                return Err(unauthorized_error(&response));
            }
            may_ask = false;
        }
    }

    async fn send_once(
        &self,
        exchange: ServerExchange<'_>,
    ) -> Result<Response<Incoming>, ServerHttpError> {
        let mut request = http::Request::new(Full::new(exchange.body));
        *request.method_mut() = exchange.method;
        *request.uri_mut() = exchange.url.clone();
        *request.headers_mut() = exchange.headers;
        Ok(self.pool.send(request).await?)
    }
}

impl From<web::HttpRequestError> for ServerHttpError {
    fn from(failed: web::HttpRequestError) -> Self {
        match failed {
            web::HttpRequestError::Unreachable(message) => Self::Unreachable(message),
            web::HttpRequestError::Broken(message) => Self::Broken(message),
        }
    }
}

fn is_refusal(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

fn challenge(response: &Response<Incoming>) -> Option<String> {
    let header = response.headers().get(header::WWW_AUTHENTICATE)?;
    header.to_str().ok().map(str::to_owned)
}

fn unauthorized_error(response: &Response<Incoming>) -> ServerHttpError {
    ServerHttpError::Unauthorized(format!(
        "the server answered HTTP {}",
        response.status().as_u16()
    ))
}
