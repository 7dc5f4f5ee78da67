//! HTTP client for hosts that the operator named, and for those they refer to: OAuth and its keys,
//! search, images. Short timeouts, bounded, never redirected.
//!
//! The operator's own URL may be anywhere. URLs that a server gives us (such as its token endpoint)
//! may lead to the public web, or to the address scope of that server; never to metadata services,
//! and no public server can send us into a private network or to this machine (SSRF).

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use serde_json::Value;
use tokio::sync::OnceCell;
use tollgate_core::address::AddressScope;
use tollgate_core::json;
use tollgate_core::text::percent_encoded;

use super::body::{self, BodyEnd};
use super::dial::Dialer;
use super::fetch_error::FetchError;
use super::ssrf_guard::SsrfRule;
use super::target_url::TargetUrl;
use crate::clock::{Clock as _, SystemClock};

/// For one whole exchange.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(10);
const LARGEST_BYTES: usize = 1 << 20;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");

pub struct OperatorHttpClient {
    dialer: Dialer,
    home: TargetUrl,
    /// Address scope of `home`; resolved when another host is first requested.
    realm: OnceCell<AddressScope>,
}

/// An exchange that failed, and its URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{url}`: {cause}")]
pub struct ExchangeError {
    pub url: String,
    pub cause: FetchError,
}

/// A response that was read to its end.
#[derive(Debug)]
pub struct JsonResponse {
    pub status: StatusCode,
    /// `None`: the body is not JSON.
    pub body: Option<Value>,
}

impl OperatorHttpClient {
    /// `home` is the URL in the operator's config.
    pub fn new(home: &str) -> Result<Self, FetchError> {
        Self::over(Dialer::system(), home)
    }

    pub(crate) fn over(dialer: Dialer, home: &str) -> Result<Self, FetchError> {
        let home = TargetUrl::parse(home)?;
        Ok(Self { dialer, home, realm: OnceCell::new() })
    }

    pub async fn get(&self, url: &str) -> Result<JsonResponse, ExchangeError> {
        self.send(url, Request::new(Full::default())).await
    }

    /// `authorization` is the complete header value.
    pub async fn post(
        &self,
        url: &str,
        form: String,
        authorization: Option<HeaderValue>,
    ) -> Result<JsonResponse, ExchangeError> {
        let mut request = Request::new(Full::new(Bytes::from(form)));
        *request.method_mut() = Method::POST;
        request.headers_mut().insert(CONTENT_TYPE, FORM);
        if let Some(authorization) = authorization {
            request.headers_mut().insert(AUTHORIZATION, authorization);
        }
        self.send(url, request).await
    }

    async fn send(
        &self,
        url: &str,
        mut request: Request<Full<Bytes>>,
    ) -> Result<JsonResponse, ExchangeError> {
        request.headers_mut().insert(ACCEPT, JSON);
        let response = self.exchange(url, request).await?;
        let text = std::str::from_utf8(response.body()).ok();
        let body = text.and_then(|text| json::value(text).ok());
        Ok(JsonResponse { status: response.status(), body })
    }

    /// One request and its response, of any type, within the default limits. Errors name the URL.
    pub async fn exchange(
        &self,
        url: &str,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Bytes>, ExchangeError> {
        let until = SystemClock.now() + EXCHANGE_TIMEOUT;
        self.exchange_within(url, request, ExchangeBounds { until, most_bytes: LARGEST_BYTES })
            .await
            .map_err(|cause| ExchangeError { url: url.to_owned(), cause })
    }

    /// The same with the caller's limits.
    pub async fn exchange_within(
        &self,
        url: &str,
        request: Request<Full<Bytes>>,
        bounds: ExchangeBounds,
    ) -> Result<Response<Bytes>, FetchError> {
        let exchange = async {
            let target = TargetUrl::parse(url)?;
            let rule = self.rule(&target).await;
            let answered = self.dialer.send(&target, &rule, request).await?;
            let mut response = Response::new(Bytes::new());
            *response.status_mut() = answered.response.status();
            response.headers_mut().clone_from(answered.response.headers());
            let content = body::read(answered, bounds.most_bytes).await?;
            match content.ended {
                BodyEnd::Whole => Ok(response.map(|_| Bytes::from(content.bytes))),
                BodyEnd::Cut => Err(FetchError::TooLarge(bounds.most_bytes)),
            }
        };
        tokio::time::timeout_at(bounds.until.into(), exchange)
            .await
            .unwrap_or(Err(FetchError::TooSlow))
    }

    async fn rule(&self, target: &TargetUrl) -> SsrfRule {
        if target.is_same_origin(&self.home) {
            return SsrfRule::Operator;
        }
        let realm = self.realm.get_or_init(|| self.dialer.realm(&self.home)).await;
        SsrfRule::Beside(*realm)
    }
}

/// Deadline and size limit.
#[derive(Debug, Clone, Copy)]
pub struct ExchangeBounds {
    pub until: Instant,
    pub most_bytes: usize,
}

/// `name=value&…`, form-encoded.
pub fn form(fields: &[(&str, &str)]) -> String {
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}={}", percent_encoded(value))).collect();
    fields.join("&")
}
