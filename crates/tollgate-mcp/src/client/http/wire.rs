//! HTTP requests to one server: pooled connections, credentials, no redirects.
//! Knows headers and statuses, nothing of JSON-RPC.

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::crypto::ring;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};

use super::HttpTarget;
use crate::client::{ConnectError, Credentials, RequestError};
use crate::lane::PerLane;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// A peer that vanished is noticed within some twenty seconds.
const KEEP_ALIVE_AFTER: Duration = Duration::from_secs(10);
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(3);
const KEEP_ALIVE_TRIES: u32 = 3;

/// Either of the two that a server may answer with.
const ACCEPT_BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const ACCEPT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

type HttpClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

pub(in crate::client) struct Wire {
    connector: HttpsConnector<HttpConnector>,
    /// Each with its own pool: a connection is driven by the lane that made it.
    clients: PerLane<HttpClient>,
    pub url: Uri,
    headers: HeaderMap,
    credentials: Option<Arc<dyn Credentials>>,
}

/// Why no usable response came.
#[derive(Debug)]
pub(in crate::client) enum Failed {
    /// Nothing was sent.
    Unreachable(String),
    /// It was sent, in part at least, and then the connection broke.
    Broken(String),
    Unauthorized(String),
}

impl From<Failed> for RequestError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Unreachable(message) => Self::Unreachable(message),
            Failed::Broken(message) => Self::Lost(message),
            Failed::Unauthorized(message) => Self::Unauthorized(message),
        }
    }
}

impl From<Failed> for ConnectError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Unreachable(message) | Failed::Broken(message) => Self::Unreachable(message),
            Failed::Unauthorized(message) => Self::Unauthorized(message),
        }
    }
}

/// One request; the configured headers are added to its own.
#[derive(Clone)]
pub(in crate::client) struct Exchange<'a> {
    pub method: Method,
    pub url: &'a Uri,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Wire {
    pub(in crate::client) fn new(target: HttpTarget) -> Result<Self, ConnectError> {
        let tls = match target.url.scheme_str() {
            Some("https") => secure()?,
            Some("http") => {
                tls()?.with_root_certificates(RootCertStore::empty()).with_no_client_auth()
            }
            _ => {
                let message = "the URL must begin with `http://` or `https://`".to_owned();
                return Err(ConnectError::Unreachable(message));
            }
        };
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(plain_connector());
        Ok(Self {
            connector,
            clients: PerLane::new(),
            url: target.url,
            headers: target.headers,
            credentials: target.credentials,
        })
    }

    fn client(&self) -> &HttpClient {
        self.clients.get(|| {
            Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(IDLE_TIMEOUT)
                .build(self.connector.clone())
        })
    }

    /// POSTs a message to the server's own URL.
    pub(in crate::client) async fn post(
        &self,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, Failed> {
        self.post_to(&self.url, headers, body).await
    }

    pub(in crate::client) async fn post_to(
        &self,
        url: &Uri,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, Failed> {
        headers.insert(header::ACCEPT, ACCEPT_BOTH);
        headers.insert(header::CONTENT_TYPE, JSON);
        self.send(Exchange { method: Method::POST, url, headers, body }).await
    }

    /// Asks for an event stream.
    pub(in crate::client) async fn get_stream(
        &self,
        mut headers: HeaderMap,
    ) -> Result<Response<Incoming>, Failed> {
        headers.insert(header::ACCEPT, ACCEPT_STREAM);
        let body = Bytes::new();
        self.send(Exchange { method: Method::GET, url: &self.url, headers, body }).await
    }

    /// Sends; if the server refuses the credentials and there are better ones, once more.
    pub(in crate::client) async fn send(
        &self,
        mut exchange: Exchange<'_>,
    ) -> Result<Response<Incoming>, Failed> {
        for (name, value) in &self.headers {
            // What the protocol says goes before what is configured.
            if !exchange.headers.contains_key(name) {
                exchange.headers.insert(name, value.clone());
            }
        }
        let Some(credentials) = &self.credentials else {
            let response = self.send_once(exchange).await?;
            return match is_refusal(response.status()) {
                true => Err(unauthorized(&response)),
                false => Ok(response),
            };
        };
        let mut may_ask = true;
        loop {
            let added = credentials.headers().await.map_err(Failed::Unauthorized)?;
            let mut attempt = exchange.clone();
            attempt.headers.extend(added);
            let response = self.send_once(attempt).await?;
            if !is_refusal(response.status()) {
                return Ok(response);
            }
            let challenge = challenge(&response);
            if !may_ask || !credentials.refused(response.status(), challenge.as_deref()).await {
                return Err(unauthorized(&response));
            }
            may_ask = false;
        }
    }

    async fn send_once(&self, exchange: Exchange<'_>) -> Result<Response<Incoming>, Failed> {
        let mut request = http::Request::new(Full::new(exchange.body));
        *request.method_mut() = exchange.method;
        *request.uri_mut() = exchange.url.clone();
        *request.headers_mut() = exchange.headers;
        self.client().request(request).await.map_err(|error| match error.is_connect() {
            true => Failed::Unreachable(explain(&error)),
            false => Failed::Broken(explain(&error)),
        })
    }
}

/// With the system's root certificates, which are read once.
fn secure() -> Result<ClientConfig, ConnectError> {
    static SECURE: OnceLock<ClientConfig> = OnceLock::new();
    if let Some(config) = SECURE.get() {
        return Ok(config.clone());
    }
    let rooted = tls()?
        .with_native_roots()
        .map_err(|error| ConnectError::Unreachable(format!("no root certificates: {error}")))?;
    Ok(SECURE.get_or_init(|| rooted.with_no_client_auth()).clone())
}

fn tls() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, ConnectError> {
    ClientConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .map_err(|error| ConnectError::Unreachable(error.to_string()))
}

fn plain_connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    connector.set_keepalive(Some(KEEP_ALIVE_AFTER));
    connector.set_keepalive_interval(Some(KEEP_ALIVE_EVERY));
    connector.set_keepalive_retries(Some(KEEP_ALIVE_TRIES));
    #[cfg(target_os = "linux")]
    connector.set_tcp_user_timeout(Some(KEEP_ALIVE_AFTER * 2));
    connector
}

fn is_refusal(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

fn challenge(response: &Response<Incoming>) -> Option<String> {
    let header = response.headers().get(header::WWW_AUTHENTICATE)?;
    header.to_str().ok().map(str::to_owned)
}

fn unauthorized(response: &Response<Incoming>) -> Failed {
    Failed::Unauthorized(format!("the server answered HTTP {}", response.status().as_u16()))
}

/// The whole chain of causes: the outermost alone says only "client error".
fn explain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
