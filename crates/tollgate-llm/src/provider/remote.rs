//! HTTP client of one provider: base URL, key, connections and concurrency slots. Independent of
//! the content of requests and responses.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, header,
};
use http_body_util::Full;
use hyper::body::Incoming;
use parking_lot::Mutex;
use tollgate_core::trace::Trace;
use tollgate_engine::clock::Clock;
use tollgate_mcp::header::write_trace;
use tollgate_mcp::tasks::TaskGroup;
use tollgate_mcp::web::body;
use tollgate_mcp::web::{DedicatedConnection, HttpPool, HttpRequestError};

use super::access_token::{AccessTokenError, AccessTokens};
use super::aws_role::{AwsRole, AwsRoleError};
use super::aws_signature::{AwsSigner, SigningError, refuses_credentials};
use super::concurrency_limit::{ProviderConcurrencyLimit, ProviderPermit};
use super::config_error::{ModelConfigError, ProviderSetupError};
use super::forwarded_headers;
use super::label::ModelLabel;
use super::target_health::{TargetHealth, TargetReport};
use super::urls::{self, ProviderBaseUrl};
use crate::error::{LlmError, LlmErrorKind};
use crate::settings::{
    AwsCredentials, AzureSettings, BedrockSettings, CloudSettings, EndpointSettings,
    GoogleCredentials, ProviderKind, ProviderSettings,
};

const USER_AGENT: HeaderValue =
    HeaderValue::from_static(concat!("tollgate/", env!("CARGO_PKG_VERSION")));
const JSON_CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/json");
const ANTHROPIC_VERSION: (HeaderName, HeaderValue) =
    (HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"));
/// Streams that may be drained in the background at once, so that their connections are reused.
const MAX_DRAINING_STREAMS: usize = 64;
/// Retry delay when all slots are taken.
const RETRY_WHEN_FULL: Duration = Duration::from_secs(1);

pub(super) struct RemoteProvider {
    pub(super) settings: ProviderSettings,
    pub(super) base: ProviderBaseUrl,
    pool: HttpPool,
    /// Sent with every request; includes the key.
    headers: HeaderMap,
    slots: ProviderConcurrencyLimit,
    drains: OnceLock<TaskGroup>,
    endpoint: Option<EndpointSettings>,
    /// By the provider's name of the model; `None`: models that are not in the config.
    targets: Mutex<BTreeMap<Option<String>, Arc<TargetHealth>>>,
    access: ProviderAccess,
}

/// What proves to the provider who asks.
enum ProviderAccess {
    /// A key among the headers, or nothing.
    Headers,
    Tokens(Box<AccessTokens>),
    Signature(AwsSigner),
}

/// Why a request got no response.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProviderSendError {
    #[error(transparent)]
    Request(#[from] HttpRequestError),
    #[error(transparent)]
    Token(#[from] AccessTokenError),
    #[error(transparent)]
    Role(#[from] AwsRoleError),
    #[error(transparent)]
    Signing(#[from] SigningError),
}

impl RemoteProvider {
    /// The provider, or one of its endpoints: `settings` then has the key and the URL of that.
    pub(super) fn new(
        settings: ProviderSettings,
        endpoint: Option<EndpointSettings>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, ModelConfigError> {
        let name = settings.name.clone();
        Self::connect_to(settings, endpoint, clock)
            .map_err(|why| ModelConfigError::Provider { name, why })
    }

    fn connect_to(
        settings: ProviderSettings,
        endpoint: Option<EndpointSettings>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, ProviderSetupError> {
        let base = urls::base(&settings)?;
        let pool = HttpPool::new(base.origin())
            .map_err(|error| ProviderSetupError::Client(error.to_string()))?;
        let access = access(settings.cloud.as_ref(), clock)?;
        let headers = headers(&settings)?;
        let slots = ProviderConcurrencyLimit::new(settings.concurrent);
        let targets = Mutex::default();
        Ok(Self {
            settings,
            base,
            pool,
            headers,
            slots,
            drains: OnceLock::new(),
            endpoint,
            targets,
            access,
        })
    }

    /// Whether these settings describe it.
    pub(super) fn is_of(
        &self,
        settings: &ProviderSettings,
        endpoint: Option<&EndpointSettings>,
    ) -> bool {
        self.settings == *settings && self.endpoint.as_ref() == endpoint
    }

    /// `None` if the provider has only one.
    pub(super) fn endpoint_name(&self) -> Option<&str> {
        self.endpoint.as_ref().map(|endpoint| endpoint.name.as_str())
    }

    /// The first endpoint with the same key, if it is not the provider's key.
    pub(super) fn account(&self) -> Option<&str> {
        self.endpoint.as_ref()?.api_key.as_ref()?;
        self.settings.endpoints.first().map(|endpoint| endpoint.name.as_str())
    }

    pub(super) fn weight(&self) -> u32 {
        let endpoint = self.endpoint.as_ref();
        endpoint.map_or(EndpointSettings::DEFAULT_WEIGHT, |endpoint| endpoint.weight)
    }

    pub(super) fn label(&self, model: &str) -> ModelLabel {
        ModelLabel::new(&self.settings, self.endpoint_name(), model)
    }

    /// Health of a model here. The models that are not in the config share one, as their number is
    /// not bounded.
    pub(super) fn health(&self, id: Option<&str>) -> Arc<TargetHealth> {
        let mut targets = self.targets.lock();
        Arc::clone(targets.entry(id.map(str::to_owned)).or_default())
    }

    /// What was asked of models that are not in the config, if anything.
    pub(super) fn unlisted_report(&self, now: Instant) -> Option<TargetReport> {
        let health = self.targets.lock().get(&None).map(Arc::clone)?;
        Some(TargetReport {
            provider: self.settings.name.clone(),
            endpoint: self.endpoint_name().map(str::to_owned),
            id: None,
            weight: self.weight(),
            price: None,
            status: health.status(now),
        })
    }

    /// `more` overrides the configured headers.
    pub(super) async fn post(
        &self,
        url: &Uri,
        more: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, ProviderSendError> {
        let mut request = Request::new(Full::new(body.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = url.clone();
        let headers = request.headers_mut();
        headers.clone_from(&self.headers);
        forwarded_headers::add(headers, more);
        match &self.access {
            ProviderAccess::Headers => {}
            ProviderAccess::Tokens(tokens) => return self.post_with_token(tokens, request).await,
            ProviderAccess::Signature(signer) => {
                return self.post_signed(signer, request, &body).await;
            }
        }
        Ok(self.pool.send(request).await?)
    }

    /// A token that is refused is replaced once: it may have been revoked.
    async fn post_with_token(
        &self,
        tokens: &AccessTokens,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, ProviderSendError> {
        let token = tokens.header().await?;
        request.headers_mut().insert(header::AUTHORIZATION, token.clone());
        let response = self.pool.send(request.clone()).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        tokens.discard(&token);
        let Ok(renewed) = tokens.header().await else { return Ok(response) };
        if renewed == token {
            return Ok(response);
        }
        body::discard(response).await;
        request.headers_mut().insert(header::AUTHORIZATION, renewed.clone());
        let response = self.pool.send(request).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            tokens.discard(&renewed);
        }
        Ok(response)
    }

    /// Credentials that are refused are replaced once, if they are of a role.
    async fn post_signed(
        &self,
        signer: &AwsSigner,
        request: Request<Full<Bytes>>,
        content: &[u8],
    ) -> Result<Response<Incoming>, ProviderSendError> {
        let credentials = signer.credentials().await?;
        let mut signed = request.clone();
        signer.sign(&mut signed, content, &credentials)?;
        let response = self.pool.send(signed).await?;
        if !refuses_credentials(&response) {
            return Ok(response);
        }
        let Some(replaced) = signer.replace(&credentials).await else { return Ok(response) };
        body::discard(response).await;
        let mut signed = request;
        signer.sign(&mut signed, content, &replaced)?;
        Ok(self.pool.send(signed).await?)
    }

    /// A dedicated connection to the host of `url`.
    pub(super) async fn connect(&self, url: &Uri) -> Result<DedicatedConnection, HttpRequestError> {
        self.pool.connect(url).await
    }

    /// Headers of every request, including the key.
    pub(super) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    pub(super) fn has_free_slot(&self) -> bool {
        self.slots.has_free()
    }

    pub(super) async fn slot(&self) -> Result<ProviderPermit, LlmError> {
        self.slots.take().await.map_err(|_| {
            let message = format!(
                "provider `{}` has {} requests in flight, which is its limit: try again later",
                self.settings.name, self.settings.concurrent
            );
            LlmError::new(LlmErrorKind::Overloaded, message).after(Some(RETRY_WHEN_FULL))
        })
    }

    /// Must be called within a runtime.
    pub(super) fn drains(&self) -> &TaskGroup {
        self.drains.get_or_init(|| TaskGroup::new("provider-drain", MAX_DRAINING_STREAMS))
    }
}

fn access(
    cloud: Option<&CloudSettings>,
    clock: &Arc<dyn Clock>,
) -> Result<ProviderAccess, ProviderSetupError> {
    let clock = Arc::clone(clock);
    let tokens = match cloud {
        None => None,
        Some(CloudSettings::Azure(AzureSettings { entra, .. })) => {
            entra.as_ref().map(|entra| AccessTokens::of_entra(entra, clock)).transpose()?
        }
        Some(CloudSettings::Vertex(vertex)) => AccessTokens::of_google(&vertex.credentials, clock)?,
        Some(CloudSettings::Bedrock(BedrockSettings { region, credentials })) => {
            match credentials {
                AwsCredentials::ApiKey(_) => None,
                AwsCredentials::AccessKey { access_key_id, secret_access_key, session_token } => {
                    let signer = AwsSigner::with_access_key(
                        access_key_id,
                        secret_access_key,
                        session_token.as_ref(),
                        region,
                        clock,
                    );
                    return Ok(ProviderAccess::Signature(signer));
                }
                AwsCredentials::Role(source) => {
                    let role = AwsRole::new(source, region, Arc::clone(&clock))?;
                    let signer = AwsSigner::with_role(role, region, clock);
                    return Ok(ProviderAccess::Signature(signer));
                }
            }
        }
    };
    Ok(tokens.map_or(ProviderAccess::Headers, |tokens| ProviderAccess::Tokens(Box::new(tokens))))
}

/// Adds the trace context. A client's baggage is not sent to providers.
pub(super) fn trace_headers(headers: &mut HeaderMap, trace: Option<&Trace>) {
    if let Some(context) = trace.and_then(|trace| trace.context.clone()) {
        write_trace(headers, &Trace { context: Some(context), baggage: None });
    }
}

fn headers(settings: &ProviderSettings) -> Result<HeaderMap, ProviderSetupError> {
    let mut headers = HeaderMap::new();
    headers.insert(header::USER_AGENT, USER_AGENT);
    if settings.kind == ProviderKind::Anthropic && settings.cloud.is_none() {
        headers.insert(ANTHROPIC_VERSION.0, ANTHROPIC_VERSION.1);
    }
    for (name, value) in &settings.headers {
        let name = HeaderName::try_from(name.as_str())
            .map_err(|_| ProviderSetupError::HeaderName(name.clone()))?;
        let mut value = HeaderValue::try_from(value.reveal())
            .map_err(|_| ProviderSetupError::HeaderValue(name.to_string()))?;
        // The value may be a key.
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    headers.insert(header::CONTENT_TYPE, JSON_CONTENT_TYPE);
    // Compressed responses are not supported.
    headers.remove(header::ACCEPT_ENCODING);
    let bearer = match &settings.cloud {
        Some(CloudSettings::Vertex(vertex)) => match &vertex.credentials {
            GoogleCredentials::AccessToken(token) => Some(token),
            GoogleCredentials::ServiceAccount(_) | GoogleCredentials::Metadata { .. } => None,
        },
        Some(CloudSettings::Bedrock(bedrock)) => match &bedrock.credentials {
            AwsCredentials::ApiKey(key) => Some(key),
            AwsCredentials::AccessKey { .. } | AwsCredentials::Role(_) => None,
        },
        Some(CloudSettings::Azure(_)) | None => None,
    };
    if let Some(bearer) = bearer {
        let text = format!("Bearer {}", bearer.reveal());
        let mut value = HeaderValue::try_from(text).map_err(|_| ProviderSetupError::ApiKey)?;
        value.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, value);
    } else if let Some(key) = &settings.api_key {
        let (name, text) = match settings.kind {
            ProviderKind::Anthropic => {
                (HeaderName::from_static("x-api-key"), key.reveal().to_owned())
            }
            ProviderKind::Gemini => {
                (HeaderName::from_static("x-goog-api-key"), key.reveal().to_owned())
            }
            ProviderKind::Deepgram => (header::AUTHORIZATION, format!("Token {}", key.reveal())),
            ProviderKind::OpenAi if settings.cloud.is_some() => {
                (HeaderName::from_static("api-key"), key.reveal().to_owned())
            }
            ProviderKind::OpenAi | ProviderKind::Offline => {
                (header::AUTHORIZATION, format!("Bearer {}", key.reveal()))
            }
        };
        let mut value = HeaderValue::try_from(text).map_err(|_| ProviderSetupError::ApiKey)?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}
