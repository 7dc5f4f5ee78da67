//! The few requests that OAuth needs: short, bounded, never redirected.

use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::crypto::ring;
use serde_json::Value;
use tollgate_core::json;

/// For the whole of one exchange.
const PATIENCE: Duration = Duration::from_secs(10);
const LARGEST_BYTES: usize = 1 << 20;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");

pub struct Fetch {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

/// A response that was read to its end.
#[derive(Debug)]
pub struct Fetched {
    pub status: StatusCode,
    /// `None`: the body is not JSON.
    pub body: Option<Value>,
}

impl Fetch {
    pub fn new() -> Result<Self, String> {
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls()?)
            .https_or_http()
            .enable_http1()
            .build();
        Ok(Self { client: Client::builder(TokioExecutor::new()).build(connector) })
    }

    pub async fn get(&self, url: &str) -> Result<Fetched, String> {
        self.send(url, Request::new(Full::default())).await
    }

    /// `authorization` is the whole header.
    pub async fn post(
        &self,
        url: &str,
        form: String,
        authorization: Option<HeaderValue>,
    ) -> Result<Fetched, String> {
        let mut request = Request::new(Full::new(Bytes::from(form)));
        *request.method_mut() = Method::POST;
        request.headers_mut().insert(CONTENT_TYPE, FORM);
        if let Some(authorization) = authorization {
            request.headers_mut().insert(AUTHORIZATION, authorization);
        }
        self.send(url, request).await
    }

    async fn send(&self, url: &str, mut request: Request<Full<Bytes>>) -> Result<Fetched, String> {
        *request.uri_mut() = url.parse().map_err(|_| format!("`{url}` is not a URL"))?;
        request.headers_mut().insert(ACCEPT, JSON);
        let response =
            self.exchange(request).await.map_err(|reason| format!("`{url}`: {reason}"))?;
        let text = std::str::from_utf8(response.body()).ok();
        let body = text.and_then(|text| json::value(text).ok());
        Ok(Fetched { status: response.status(), body })
    }

    /// One request and its response, whatever they are, within the limits.
    pub async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<Response<Bytes>, String> {
        let exchange = async {
            let response = self.client.request(request).await.map_err(|error| {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                cause.unwrap_or_else(|| error.to_string())
            })?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, LARGEST_BYTES).collect().await;
            let body = body.map_err(|error| error.to_string())?.to_bytes();
            Ok(Response::from_parts(head, body))
        };
        tokio::time::timeout(PATIENCE, exchange)
            .await
            .unwrap_or_else(|_| Err(format!("no answer within {} s", PATIENCE.as_secs())))
    }
}

/// The root certificates are read once: there are many, and they do not change.
fn tls() -> Result<rustls::ClientConfig, String> {
    static CONFIG: OnceLock<Result<rustls::ClientConfig, String>> = OnceLock::new();
    let read = || {
        let provider = ring::default_provider().into();
        Ok(rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_native_roots()
            .map_err(|error| format!("no root certificates: {error}"))?
            .with_no_client_auth())
    };
    CONFIG.get_or_init(read).clone()
}

/// `name=value&…`, encoded as forms are.
pub fn form(fields: &[(&str, &str)]) -> String {
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    fields.join("&")
}

pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
