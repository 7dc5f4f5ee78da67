//! Access tokens of a cloud by OAuth 2.0: cached, and renewed before they expire.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::Full;
use serde_json::Value;
use tokio::time::timeout;
use tollgate_core::secret::Secret;
use tollgate_core::text::percent_encoded;
use tollgate_engine::clock::Clock;
use tollgate_mcp::web::body;
use tollgate_mcp::web::{HttpPool, HttpRequestError};

use self::service_account::ServiceAccountSigner;
use super::config_error::{ProviderSetupError, ProviderUrlError};
use super::renewed_value::{FetchedValue, RenewedValue};
use crate::settings::{EntraSettings, GoogleCredentials};

mod service_account;

const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_RESPONSE_BYTES: usize = 64 << 10;
/// Of a token whose life is not told.
const DEFAULT_LIFE: Duration = Duration::from_secs(600);

const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ENTRA_AUTHORITY: &str = "https://login.microsoftonline.com";
const AZURE_SCOPE: &str = "https://cognitiveservices.azure.com/.default";
const METADATA_TOKEN: &str =
    "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token";
const METADATA_FLAVOR: (HeaderName, HeaderValue) =
    (HeaderName::from_static("metadata-flavor"), HeaderValue::from_static("Google"));

pub(super) struct AccessTokens {
    url: Uri,
    pool: HttpPool,
    grant: TokenGrant,
    clock: Arc<dyn Clock>,
    /// `Bearer …`
    token: RenewedValue<HeaderValue>,
}

/// How tokens are asked for.
enum TokenGrant {
    /// The same request each time.
    Form(Secret),
    ServiceAccount(Box<ServiceAccountSigner>),
    /// The metadata server knows the machine.
    Metadata,
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub(super) enum AccessTokenError {
    #[error("its token endpoint cannot be reached: {0}")]
    Unreachable(String),
    /// The endpoint's own words may quote the credentials.
    #[error("its token endpoint answered with HTTP {status}{}", .code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default())]
    Refused { status: u16, code: Option<String> },
    #[error("its token endpoint sent no token: {0}")]
    Malformed(&'static str),
    #[error("the private key does not sign")]
    Unsigned,
}

impl AccessTokenError {
    /// Whether the same credentials may be accepted later.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Refused { status, .. } => *status == 429 || *status >= 500,
            Self::Malformed(_) | Self::Unsigned => false,
        }
    }
}

impl AccessTokens {
    /// Tokens of Microsoft Entra for Azure OpenAI.
    pub(super) fn of_entra(
        entra: &EntraSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ProviderSetupError> {
        let authority = entra.authority.as_deref().unwrap_or(ENTRA_AUTHORITY);
        let authority = authority.trim_end_matches('/');
        let url = format!("{authority}/{}/oauth2/v2.0/token", percent_encoded(&entra.tenant));
        let fields = [
            ("grant_type", "client_credentials"),
            ("client_id", &entra.client_id),
            ("client_secret", entra.client_secret.reveal()),
            ("scope", AZURE_SCOPE),
        ];
        Self::new(&url, TokenGrant::Form(form(&fields)), clock)
    }

    /// Tokens for Vertex AI. `None`: the token is in the config.
    pub(super) fn of_google(
        credentials: &GoogleCredentials,
        clock: Arc<dyn Clock>,
    ) -> Result<Option<Self>, ProviderSetupError> {
        match credentials {
            GoogleCredentials::AccessToken(_) => Ok(None),
            GoogleCredentials::ServiceAccount(account) => {
                let signer = ServiceAccountSigner::new(account)?;
                Self::new(&account.token_url, TokenGrant::ServiceAccount(Box::new(signer)), clock)
                    .map(Some)
            }
            GoogleCredentials::Metadata { url } => {
                let url = url.as_deref().unwrap_or(METADATA_TOKEN);
                Self::new(url, TokenGrant::Metadata, clock).map(Some)
            }
        }
    }

    fn new(
        url: &str,
        grant: TokenGrant,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ProviderSetupError> {
        let url: Uri = url.parse().map_err(ProviderUrlError::Token)?;
        let pool =
            HttpPool::new(&url).map_err(|error| ProviderSetupError::Client(error.to_string()))?;
        let token = RenewedValue::new(Arc::clone(&clock));
        Ok(Self { url, pool, grant, clock, token })
    }

    /// The header of a request that is sent now.
    pub(super) async fn header(&self) -> Result<HeaderValue, AccessTokenError> {
        self.token.get(|| self.fetch()).await
    }

    /// The provider did not accept this one: the next request gets another.
    pub(super) fn discard(&self, header: &HeaderValue) {
        self.token.discard(|token| token == header);
    }

    async fn fetch(&self) -> Result<FetchedValue<HeaderValue>, AccessTokenError> {
        let fetched = timeout(FETCH_TIMEOUT, self.request_token()).await;
        fetched.unwrap_or_else(|_| Err(AccessTokenError::Unreachable("it does not answer".into())))
    }

    fn token_request(&self) -> Result<Request<Full<Bytes>>, AccessTokenError> {
        let form = match &self.grant {
            TokenGrant::Form(form) => Some(form.clone()),
            TokenGrant::ServiceAccount(signer) => {
                let assertion = signer.assertion(self.clock.wall())?;
                Some(form(&[("grant_type", JWT_BEARER), ("assertion", &assertion)]))
            }
            TokenGrant::Metadata => None,
        };
        let body = form.as_ref().map_or_else(Bytes::new, |it| Bytes::from(it.reveal().to_owned()));
        let mut request = Request::new(Full::new(body));
        *request.uri_mut() = self.url.clone();
        if form.is_some() {
            *request.method_mut() = Method::POST;
            request.headers_mut().insert(header::CONTENT_TYPE, FORM);
        } else {
            request.headers_mut().insert(METADATA_FLAVOR.0, METADATA_FLAVOR.1);
        }
        Ok(request)
    }

    async fn request_token(&self) -> Result<FetchedValue<HeaderValue>, AccessTokenError> {
        let sent = self.pool.send(self.token_request()?).await.map_err(|failed| match failed {
            HttpRequestError::Unreachable(why) | HttpRequestError::Broken(why) => {
                AccessTokenError::Unreachable(why)
            }
        });
        let (parts, incoming) = sent?.into_parts();
        let body = body::read_whole(incoming, MAX_RESPONSE_BYTES).await.unwrap_or_default();
        let body = serde_json::from_slice::<Value>(&body).unwrap_or_default();
        if parts.status != StatusCode::OK {
            let code = body["error"].as_str().filter(|code| is_code(code)).map(str::to_owned);
            return Err(AccessTokenError::Refused { status: parts.status.as_u16(), code });
        }
        let token = body["access_token"].as_str().filter(|token| !token.is_empty());
        let token = token.ok_or(AccessTokenError::Malformed("it has no `access_token`"))?;
        let mut header = HeaderValue::try_from(format!("Bearer {token}"))
            .map_err(|_| AccessTokenError::Malformed("its token has invalid characters"))?;
        header.set_sensitive(true);
        let stated = &body["expires_in"];
        let seconds = stated.as_u64().or_else(|| stated.as_str()?.parse().ok());
        let life = seconds.map_or(DEFAULT_LIFE, Duration::from_secs);
        Ok(FetchedValue { value: header, life })
    }
}

fn form(fields: &[(&str, &str)]) -> Secret {
    let fields = fields.iter().map(|(name, value)| format!("{name}={}", percent_encoded(value)));
    Secret::new(fields.collect::<Vec<_>>().join("&"))
}

/// Codes of OAuth are words; anything else may be a quotation.
fn is_code(text: &str) -> bool {
    text.len() <= 40 && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}
