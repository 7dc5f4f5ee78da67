//! HTTP to one place: pooled connections, a pool for each lane, no redirects.
//!
//! And connections of one's own, for what becomes something else than HTTP. Used by the client of MCP servers and by whoever asks providers of models. Knows no credentials.

use std::error::Error;
use std::future::poll_fn;
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
/// How long an idle connection is kept. A server that closes it at the moment of a request costs that
/// request, so this is less than servers keep theirs: five seconds is what Node and uvicorn do, which
/// speak plain HTTP and are soon connected to again; a minute is what stands before them with TLS.
const IDLE_PLAIN: Duration = Duration::from_secs(4);
const IDLE_SECURE: Duration = Duration::from_secs(55);
/// A peer that vanished is noticed within some twenty seconds.
const KEEP_ALIVE_AFTER: Duration = Duration::from_secs(10);
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(3);
const KEEP_ALIVE_TRIES: u32 = 3;

type PooledHttpClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// A connection that nobody else uses, secured if the URL says so.
pub type DedicatedConnection = TokioIo<MaybeHttpsStream<TokioIo<TcpStream>>>;

/// Connections to one place, kept for the next request.
pub struct HttpPool {
    connector: HttpsConnector<HttpConnector>,
    idle: Duration,
    /// Each with its own pool: a connection is driven by the lane that made it.
    clients: PerWorker<PooledHttpClient>,
}

/// Why no response came.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpRequestError {
    /// Nothing was sent.
    #[error("{0}")]
    Unreachable(String),
    /// It was sent, in part at least, and then the connection broke.
    #[error("{0}")]
    Broken(String),
}

impl HttpPool {
    /// For requests to where `url` is. Fails, in words, if there is no way to get there.
    pub fn new(url: &Uri) -> Result<Self, String> {
        let (tls, idle) = match url.scheme_str() {
            Some("https") => (secure()?, IDLE_SECURE),
            Some("http") => {
                let nobody = tls()?.with_root_certificates(RootCertStore::empty());
                (nobody.with_no_client_auth(), IDLE_PLAIN)
            }
            _ => return Err("the URL must begin with `http://` or `https://`".to_owned()),
        };
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(plain_connector());
        Ok(Self { connector, idle, clients: PerWorker::new() })
    }

    /// One request, one response, whatever its status. Dropping the future gives the request up.
    pub async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, HttpRequestError> {
        self.client().request(request).await.map_err(|error| match error.is_connect() {
            true => HttpRequestError::Unreachable(explain(&error)),
            false => HttpRequestError::Broken(explain(&error)),
        })
    }

    /// A connection to where `url` is, on which nothing was said yet.
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

/// With the system's root certificates, which are read once.
fn secure() -> Result<ClientConfig, String> {
    static SECURE: OnceLock<ClientConfig> = OnceLock::new();
    if let Some(config) = SECURE.get() {
        return Ok(config.clone());
    }
    let rooted =
        tls()?.with_native_roots().map_err(|error| format!("no root certificates: {error}"))?;
    Ok(SECURE.get_or_init(|| rooted.with_no_client_auth()).clone())
}

fn tls() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, String> {
    ClientConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())
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
