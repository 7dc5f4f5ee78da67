//! SSRF guard, connecting side.
//!
//! Connects to the target of a URL, if that is allowed: resolves the name once, checks every
//! address, and connects to one of those only (no DNS rebinding). One connection per request.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use http::header::HOST;
use http::{HeaderValue, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tollgate_mcp::tasks::{self, Task};
use url::Host;

use super::fetch_error::FetchError;
use super::resolve::{Resolve, SystemResolver};
use super::ssrf_guard::SsrfRule;
use super::target_url::TargetUrl;

/// Per address; there may be others.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Head start of an address over the next (happy eyeballs).
const HEAD_START: Duration = Duration::from_millis(250);
/// Addresses tried per name.
const MAX_TRIED_ADDRESSES: usize = 4;
const MAX_ADDRESSES: usize = 64;
const MAX_HEADERS: usize = 100;
const MAX_HEADER_BYTES: usize = 64 << 10;

pub(crate) struct Dialer {
    resolver: Arc<dyn Resolve>,
    /// `None`: the system's root certificates.
    trust: Option<Arc<ClientConfig>>,
}

/// A response whose body is not read yet. Dropping it closes the connection.
pub(crate) struct Answered {
    pub(crate) response: Response<Incoming>,
    pub(crate) host: String,
    _connection: Task,
}

impl Dialer {
    pub(crate) fn system() -> Self {
        Self { resolver: Arc::new(SystemResolver::new()), trust: None }
    }

    #[cfg(test)]
    pub(crate) fn with(resolver: Arc<dyn Resolve>, trust: Option<Arc<ClientConfig>>) -> Self {
        Self { resolver, trust }
    }

    /// Sends one request to the target, whatever its URI is. Never follows a redirect.
    pub(crate) async fn send(
        &self,
        target: &TargetUrl,
        rule: &SsrfRule,
        request: Request<Full<Bytes>>,
    ) -> Result<Answered, FetchError> {
        rule.admits_url(target)?;
        let addresses = self.addresses(target.host()).await;
        if addresses.is_empty() {
            return Err(FetchError::Unknown(target.host_str().to_owned()));
        }
        // One forbidden address among allowed ones is an attack, not an accident.
        if !addresses.iter().all(|address| rule.admits(target, *address)) {
            return Err(FetchError::Private(target.host_str().to_owned()));
        }
        let stream = connect(target, &addresses).await?;
        let peer = stream.peer_addr().map_err(|error| unreachable(target, &error))?;
        if !addresses.contains(&peer.ip()) || !rule.admits(target, peer.ip()) {
            return Err(FetchError::Private(target.host_str().to_owned()));
        }
        // Best effort: without it small requests are only slower.
        let _ = stream.set_nodelay(true);
        if !target.is_secure() {
            return exchange(target, stream, request).await;
        }
        let trust = match &self.trust {
            Some(trust) => Arc::clone(trust),
            None => system_trust().map_err(|why| unreachable(target, &why))?,
        };
        let secured = TlsConnector::from(trust).connect(server_name(target)?, stream).await;
        exchange(target, secured.map_err(|error| unreachable(target, &error))?, request).await
    }

    /// The scope that all addresses of the target share; if they differ, the strictest.
    pub(crate) async fn realm(&self, target: &TargetUrl) -> tollgate_core::address::AddressScope {
        use tollgate_core::address::{AddressScope, address_scope};
        let addresses = self.addresses(target.host()).await;
        let realms: Vec<AddressScope> = addresses.into_iter().map(address_scope).collect();
        match realms.as_slice() {
            [first, rest @ ..] if rest.iter().all(|other| other == first) => *first,
            _ => AddressScope::Public,
        }
    }

    async fn addresses(&self, host: Host<&str>) -> Vec<IpAddr> {
        match host {
            Host::Ipv4(address) => vec![address.into()],
            Host::Ipv6(address) => vec![address.into()],
            Host::Domain(name) => {
                let mut found = self.resolver.addresses(name).await;
                found.truncate(MAX_ADDRESSES);
                found
            }
        }
    }
}

/// The first address that answers, tried in order, each with a head start.
async fn connect(target: &TargetUrl, addresses: &[IpAddr]) -> Result<TcpStream, FetchError> {
    let mut attempts = FuturesUnordered::new();
    for (delay, address) in
        (0..).map(|nth| HEAD_START * nth).zip(addresses).take(MAX_TRIED_ADDRESSES)
    {
        let address = SocketAddr::new(*address, target.port());
        attempts.push(async move {
            tokio::time::sleep(delay).await;
            let slow = || io::Error::from(io::ErrorKind::TimedOut);
            tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address))
                .await
                .map_err(|_| slow())?
        });
    }
    let mut trouble = None;
    while let Some(attempt) = attempts.next().await {
        match attempt {
            Ok(stream) => return Ok(stream),
            Err(error) => trouble = Some(error.kind().to_string()),
        }
    }
    Err(unreachable(target, &trouble.unwrap_or_default()))
}

async fn exchange<S>(
    target: &TargetUrl,
    stream: S,
    mut request: Request<Full<Bytes>>,
) -> Result<Answered, FetchError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let broken = |error: hyper::Error| FetchError::Broken {
        host: target.host_str().to_owned(),
        why: error.to_string(),
    };
    let unfit = || FetchError::Unfit("the URL is invalid".to_owned());
    *request.uri_mut() = target.path().parse().map_err(|_| unfit())?;
    let host = HeaderValue::try_from(target.authority()).map_err(|_| unfit())?;
    request.headers_mut().insert(HOST, host);
    let (mut sender, connection) = http1::Builder::new()
        .max_headers(MAX_HEADERS)
        .max_header_size(MAX_HEADER_BYTES)
        .max_buf_size(2 * MAX_HEADER_BYTES)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(broken)?;
    let connection = tasks::spawn("connection to the web", async move {
        // The reader of the body gets the error too.
        let _ = connection.await;
    });
    let response = sender.send_request(request).await.map_err(broken)?;
    Ok(Answered { response, host: target.host_str().to_owned(), _connection: connection })
}

fn unreachable(target: &TargetUrl, why: &dyn std::fmt::Display) -> FetchError {
    FetchError::Unreachable { host: target.host_str().to_owned(), why: why.to_string() }
}

fn server_name(target: &TargetUrl) -> Result<ServerName<'static>, FetchError> {
    match target.host() {
        Host::Ipv4(address) => Ok(ServerName::from(IpAddr::from(address))),
        Host::Ipv6(address) => Ok(ServerName::from(IpAddr::from(address))),
        Host::Domain(name) => ServerName::try_from(name.trim_end_matches('.').to_owned())
            .map_err(|_| FetchError::Unfit(format!("`{name}` is not a valid host name"))),
    }
}

/// Why no server can be verified.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum TlsTrustError {
    #[error("this machine has no root certificates")]
    NoRoots,
    #[error(transparent)]
    Tls(#[from] rustls::Error),
}

/// The root certificates are loaded once: there are many, and they do not change.
fn system_trust() -> Result<Arc<ClientConfig>, TlsTrustError> {
    static CONFIG: OnceLock<Result<Arc<ClientConfig>, TlsTrustError>> = OnceLock::new();
    let read = || {
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            return Err(TlsTrustError::NoRoots);
        }
        trusting(roots)
    };
    CONFIG.get_or_init(read).clone()
}

pub(crate) fn trusting(roots: RootCertStore) -> Result<Arc<ClientConfig>, TlsTrustError> {
    let config = ClientConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
