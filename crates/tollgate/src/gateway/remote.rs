//! HTTP client of a running gateway.

use std::error::Error;
use std::iter::successors;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, Uri, header};
use http_body_util::{Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tollgate_config::{Config, ConfiguredKey, KeyProof};
use tollgate_core::secret::Secret;
use tollgate_server::Right;

use super::{events, tls_trust};
use crate::admin_token;
use crate::command_error::CommandError;

/// A gateway that does not answer within this time counts as not running.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// Longer than any call may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(3_700);
const LARGEST_ANSWER: usize = 64 * 1024 * 1024;

pub struct RemoteGateway {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    scheme: &'static str,
    address: SocketAddr,
    key: Option<Secret>,
}

impl RemoteGateway {
    /// The gateway at the configured address, if there is one. Our key is not sent to another
    /// server at this address.
    pub async fn find(config: &Config) -> Option<Self> {
        if config.listen.port() == 0 {
            return None;
        }
        let plain = match config.tls {
            None => Self::plain(config.listen).probe().await,
            Some(_) => None,
        };
        let found = match plain {
            Some(found) => Some(found),
            None => Self::secure(config)?.probe().await,
        };
        found.map(|remote| Self { key: key(config), ..remote })
    }

    fn plain(listen: SocketAddr) -> Self {
        // This client is never used over TLS, so no certificates are trusted.
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(rustls::DEFAULT_VERSIONS)
            .expect("the provider has the versions that are its default")
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        Self { scheme: "http", ..Self::over(tls, listen) }
    }

    fn secure(config: &Config) -> Option<Self> {
        tls_trust::of(config).map(|tls| Self::over(tls, config.listen))
    }

    fn over(tls: ClientConfig, listen: SocketAddr) -> Self {
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .build();
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Self { client, scheme: "https", address: reachable(listen), key: None }
    }

    /// Returns itself if a gateway of ours answers.
    async fn probe(self) -> Option<Self> {
        let request = Request::get("/healthz").body(Bytes::new()).ok()?;
        let answer = tokio::time::timeout(PROBE_TIMEOUT, self.exchange(request, &mut |_| ()))
            .await
            .ok()?
            .ok()?;
        // A port with HTTPS answers plain probes as well, but nothing else.
        if answer.headers().get("x-tollgate-scheme").is_some_and(|scheme| scheme != self.scheme) {
            return None;
        }
        let body: Value = serde_json::from_slice(answer.body()).ok()?;
        body.get("tollgate")?;
        Some(self)
    }

    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, CommandError> {
        self.follow(request, &mut |_| ()).await
    }

    /// Passes the chunks of an event stream to `heard` as they arrive.
    pub async fn follow(
        &self,
        request: Request<Bytes>,
        on_event: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<Response<Bytes>, CommandError> {
        let url = self.url(&request);
        match tokio::time::timeout(REQUEST_TIMEOUT, self.exchange(request, on_event)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(why)) => {
                let why = with_causes(&*why);
                Err(CommandError::Failed(format!("the gateway did not answer at {url}: {why}")))
            }
            Err(_) => {
                Err(CommandError::Failed(format!("the gateway did not answer at {url} in time")))
            }
        }
    }

    fn url(&self, request: &Request<Bytes>) -> String {
        let path = request.uri().path_and_query().map_or("/", |it| it.as_str());
        format!("{}://{}{path}", self.scheme, self.address)
    }

    async fn exchange(
        &self,
        request: Request<Bytes>,
        on_event: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<Response<Bytes>, Box<dyn Error + Send + Sync>> {
        let url = self.url(&request).parse::<Uri>()?;
        let (mut parts, body) = request.into_parts();
        parts.uri = url;
        if let Some(key) = &self.key {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.reveal()))?;
            value.set_sensitive(true);
            parts.headers.insert(header::AUTHORIZATION, value);
        }
        let request = Request::from_parts(parts, Full::new(body));
        let response = self.client.request(request).await?;
        let most = if events::is_endless(response.headers()) { usize::MAX } else { LARGEST_ANSWER };
        let response = response.map(|body| Limited::new(body, most));
        events::read(response, on_event).await
    }
}

/// An error with its causes: the reason for a failed connection is in the causes.
fn with_causes(error: &(dyn Error + 'static)) -> String {
    let causes = successors(error.source(), |&error| error.source());
    let lines: Vec<String> = causes.map(ToString::to_string).collect();
    if lines.is_empty() { error.to_string() } else { lines.join(": ") }
}

/// The address to connect to: a wildcard address is replaced.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

/// The key with the most rights: an admin key of the config, else the admin token of the data
/// directory, else a key that may call tools.
fn key(config: &Config) -> Option<Secret> {
    let plain = |key: &ConfiguredKey| match &key.proof {
        KeyProof::Key(key) => Some(key.clone()),
        KeyProof::Hash(_) => None,
    };
    let with = |right| config.keys.iter().filter(move |key| key.rights.has(right));
    let token = || admin_token::read(&config.data).ok().flatten();
    let caller = || with(Right::Execute).find_map(plain);
    with(Right::Admin).find_map(plain).or_else(token).or_else(caller)
}
