//! HTTP client for one origin: connection pools, one per worker, no redirects.
//!
//! Also opens dedicated connections, for protocols that upgrade from HTTP. Used by the client of
//! MCP servers and by the model providers. Handles no credentials.

use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::crypto::ring;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use tokio::net::TcpStream;
use tower_service::Service;

use crate::per_worker::PerWorker;

pub mod body;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Idle timeout of a pooled connection.
///
/// A request fails if the server closes its connection at that moment, so this is below the usual
/// server timeouts: five seconds for Node and uvicorn, which use plain HTTP and are cheap to
/// reconnect to; a minute for TLS proxies in front of them.
const IDLE_PLAIN: Duration = Duration::from_secs(4);
const IDLE_SECURE: Duration = Duration::from_secs(55);
/// A vanished peer is detected within about twenty seconds.
const KEEP_ALIVE_AFTER: Duration = Duration::from_secs(10);
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(3);
const KEEP_ALIVE_TRIES: u32 = 3;

type PooledHttpClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// A connection that is not shared, with TLS if the URL requires it.
pub type DedicatedConnection = TokioIo<MaybeHttpsStream<TokioIo<TcpStream>>>;

/// Pooled connections to one origin.
pub struct HttpPool {
    connector: HttpsConnector<HttpConnector>,
    idle: Duration,
    /// One pool per worker: a connection is driven by the worker that opened it.
    clients: PerWorker<PooledHttpClient>,
}

/// Why there are no connections to an origin.
#[derive(Debug, thiserror::Error)]
pub enum HttpPoolError {
    #[error("the URL must begin with `http://` or `https://`")]
    Scheme,
    #[error("no root certificates: {0}")]
    Roots(io::Error),
    #[error(transparent)]
    Tls(#[from] rustls::Error),
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpRequestError {
    /// Nothing was sent.
    #[error("{0}")]
    Unreachable(String),
    /// At least part of it was sent before the connection broke.
    #[error("{0}")]
    Broken(String),
}

impl HttpPool {
    /// For requests to the origin of `url`.
    pub fn new(url: &Uri) -> Result<Self, HttpPoolError> {
        let (tls, idle) = match url.scheme_str() {
            Some("https") => (secure()?, IDLE_SECURE),
            Some("http") => {
                let nobody = tls()?.with_root_certificates(RootCertStore::empty());
                (nobody.with_no_client_auth(), IDLE_PLAIN)
            }
            _ => return Err(HttpPoolError::Scheme),
        };
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(plain_connector());
        Ok(Self { connector, idle, clients: PerWorker::new() })
    }

    /// Sends one request and returns the response, whatever its status. Dropping the future cancels
    /// it.
    pub async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, HttpRequestError> {
        self.client().request(request).await.map_err(|error| {
            if error.is_connect() {
                HttpRequestError::Unreachable(explain(&error))
            } else {
                HttpRequestError::Broken(explain(&error))
            }
        })
    }

    /// A new connection to the origin of `url`.
    pub async fn connect(&self, url: &Uri) -> Result<DedicatedConnection, HttpRequestError> {
        let mut connector = self.connector.clone();
        let connected = async {
            poll_fn(|context| connector.poll_ready(context)).await?;
            connector.call(url.clone()).await
        };
        let unreachable = |error: Box<dyn Error + Send + Sync>| {
            HttpRequestError::Unreachable(explain(error.as_ref()))
        };
        connected.await.map(TokioIo::new).map_err(unreachable)
    }

    fn client(&self) -> &PooledHttpClient {
        self.clients.get(|| {
            Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(self.idle)
                .build(self.connector.clone())
        })
    }
}

/// Uses the system's root certificates, which are loaded once.
fn secure() -> Result<ClientConfig, HttpPoolError> {
    static SECURE: OnceLock<ClientConfig> = OnceLock::new();
    if let Some(config) = SECURE.get() {
        return Ok(config.clone());
    }
    let rooted = tls()?.with_native_roots().map_err(HttpPoolError::Roots)?;
    Ok(SECURE.get_or_init(|| rooted.with_no_client_auth()).clone())
}

fn tls() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, HttpPoolError> {
    let builder = ClientConfig::builder_with_provider(ring::default_provider().into());
    Ok(builder.with_safe_default_protocol_versions()?)
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

/// The whole chain of causes: the outermost error is only "client error".
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
