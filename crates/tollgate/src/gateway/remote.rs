//! A gateway that runs already, over HTTP.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, Uri, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tollgate_core::secret::Secret;
use tollgate_server::Right;

use crate::config::{Config, Role};
use crate::failure::Failure;

/// Whoever does not answer this soon is not there.
const LOOK: Duration = Duration::from_secs(2);
/// Longer than any call may take.
const PATIENCE: Duration = Duration::from_secs(3_700);
const LARGEST_ANSWER: usize = 64 * 1024 * 1024;

pub struct Remote {
    client: Client<HttpConnector, Full<Bytes>>,
    address: SocketAddr,
    key: Option<Secret>,
}

impl Remote {
    /// The gateway at the configured address, if there is one. Others that answer there are not
    /// told our key.
    pub async fn find(config: &Config) -> Option<Self> {
        if config.tls.is_some() || config.listen.port() == 0 {
            return None;
        }
        let client = Client::builder(TokioExecutor::new()).build_http();
        let remote = Self { client, address: reachable(config.listen), key: None };
        let request = Request::get("/healthz").body(Bytes::new()).ok()?;
        let answer = tokio::time::timeout(LOOK, remote.exchange(request)).await.ok()?.ok()?;
        let said: Value = serde_json::from_slice(answer.body()).ok()?;
        said.get("tollgate")?;
        Some(Self { key: key(config), ..remote })
    }

    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, Failure> {
        let address = self.address;
        match tokio::time::timeout(PATIENCE, self.exchange(request)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(why)) => {
                Err(Failure::Failed(format!("the gateway at {address} did not answer: {why}")))
            }
            Err(_) => {
                Err(Failure::Failed(format!("the gateway at {address} did not answer in time")))
            }
        }
    }

    async fn exchange(
        &self,
        request: Request<Bytes>,
    ) -> Result<Response<Bytes>, Box<dyn std::error::Error + Send + Sync>> {
        let (mut parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", |it| it.as_str());
        parts.uri = format!("http://{}{path}", self.address).parse::<Uri>()?;
        if let Some(key) = &self.key {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.reveal()))?;
            value.set_sensitive(true);
            parts.headers.insert(header::AUTHORIZATION, value);
        }
        let request = Request::from_parts(parts, Full::new(body));
        let (parts, body) = self.client.request(request).await?.into_parts();
        let body = Limited::new(body, LARGEST_ANSWER).collect().await?.to_bytes();
        Ok(Response::from_parts(parts, body))
    }
}

/// Where to knock: an address for every interface is none to connect to.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

/// The strongest key of the config.
fn key(config: &Config) -> Option<Secret> {
    let admin = config.keys.iter().find(|key| key.role == Role::Admin);
    let caller = || config.keys.iter().find(|key| key.rights.has(Right::Execute));
    admin.or_else(caller).map(|key| key.key.clone())
}
