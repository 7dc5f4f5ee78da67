//! Credentials of a role of AWS that the gateway has where it runs: in a container of ECS or EKS, on
//! a machine of EC2, or by an identity of Kubernetes. Cached, and renewed before they expire.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use aws_credential_types::Credentials;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::Full;
use tokio::time::timeout;
use tollgate_core::text::percent_encoded;
use tollgate_engine::clock::Clock;
use tollgate_mcp::web::body;
use tollgate_mcp::web::{HttpPool, HttpRequestError};

use self::response::{read_json_credentials, read_xml_credentials, xml_field};
use super::config_error::{ProviderSetupError, ProviderUrlError};
use super::renewed_value::{FetchedValue, RenewedValue};
use crate::settings::{AwsRoleSource, ContainerToken};

mod response;

const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_RESPONSE_BYTES: usize = 64 << 10;
const MAX_TOKEN_FILE_BYTES: u64 = 64 << 10;

/// The metadata service of EC2 (IMDS).
const INSTANCE_METADATA: &str = "http://169.254.169.254";
const SESSION_TOKEN_PATH: &str = "/latest/api/token";
const ROLE_PATH: &str = "/latest/meta-data/iam/security-credentials/";
const SESSION_SECONDS: (HeaderName, HeaderValue) = (
    HeaderName::from_static("x-aws-ec2-metadata-token-ttl-seconds"),
    HeaderValue::from_static("60"),
);
const METADATA_SESSION: HeaderName = HeaderName::from_static("x-aws-ec2-metadata-token");
const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

pub(super) struct AwsRole {
    source: AwsRoleSource,
    url: Uri,
    pool: HttpPool,
    clock: Arc<dyn Clock>,
    credentials: RenewedValue<Credentials>,
}

/// Why there are no credentials. The words of an endpoint may quote secrets, and are left out.
#[derive(Debug, thiserror::Error)]
pub(super) enum AwsRoleError {
    #[error("{place} cannot be reached: {why}")]
    Unreachable { place: &'static str, why: String },
    #[error("{place} answered with HTTP {status}{}", .code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default())]
    Refused { place: &'static str, status: u16, code: Option<String> },
    #[error("{place} sent no credentials: {why}")]
    Malformed { place: &'static str, why: &'static str },
    #[error("this machine of EC2 has no role: attach an instance profile")]
    NoRole,
    #[error("the file of its token, `{}`, cannot be read: {why}", .path.display())]
    TokenFile { path: PathBuf, why: String },
}

impl AwsRoleError {
    /// Whether the next attempt may succeed.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused { status, .. } => *status == 429 || *status >= 500,
            Self::Malformed { .. } | Self::NoRole | Self::TokenFile { .. } => false,
        }
    }
}

impl AwsRole {
    pub(super) fn new(
        source: &AwsRoleSource,
        region: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ProviderSetupError> {
        let url = match source {
            AwsRoleSource::Container { url, .. } => url.clone(),
            AwsRoleSource::Instance { url } => {
                url.as_deref().unwrap_or(INSTANCE_METADATA).to_owned()
            }
            AwsRoleSource::WebIdentity { url, .. } => {
                url.clone().unwrap_or_else(|| token_service(region))
            }
        };
        let url: Uri = url.parse().map_err(ProviderUrlError::AwsRole)?;
        let pool =
            HttpPool::new(&url).map_err(|error| ProviderSetupError::Client(error.to_string()))?;
        let credentials = RenewedValue::new(Arc::clone(&clock));
        Ok(Self { source: source.clone(), url, pool, clock, credentials })
    }

    /// Credentials for a request that is signed now.
    pub(super) async fn credentials(&self) -> Result<Credentials, AwsRoleError> {
        self.credentials.get(|| self.fetch()).await
    }

    /// AWS did not accept these: the next request gets others.
    pub(super) fn discard(&self, refused: &Credentials) {
        self.credentials.discard(|credentials| credentials == refused);
    }

    async fn fetch(&self) -> Result<FetchedValue<Credentials>, AwsRoleError> {
        let fetched = async {
            match &self.source {
                AwsRoleSource::Container { token, .. } => {
                    self.fetch_from_container(token.as_ref()).await
                }
                AwsRoleSource::Instance { .. } => self.fetch_from_instance().await,
                AwsRoleSource::WebIdentity { role_arn, session_name, token_file, .. } => {
                    let token = read_token(token_file).await?;
                    self.assume_role(&[
                        ("Action", "AssumeRoleWithWebIdentity"),
                        ("Version", "2011-06-15"),
                        ("RoleArn", role_arn),
                        ("RoleSessionName", session_name),
                        ("WebIdentityToken", &token),
                    ])
                    .await
                }
            }
        };
        let fetched = timeout(FETCH_TIMEOUT, fetched).await;
        let place = self.place();
        let fetched = fetched.unwrap_or_else(|_| {
            // In a container, the service is one hop further away than AWS allows by default.
            let why = match self.source {
                AwsRoleSource::Instance { .. } => {
                    "it does not answer; in a container of this machine, its hop limit must be 2"
                }
                AwsRoleSource::Container { .. } | AwsRoleSource::WebIdentity { .. } => {
                    "it does not answer"
                }
            };
            Err(AwsRoleError::Unreachable { place, why: why.to_owned() })
        })?;
        let life = fetched.expiry().map(|expiry| expiry.duration_since(self.clock.wall()));
        match life {
            Some(Ok(life)) => Ok(FetchedValue { value: fetched, life }),
            _ => Err(AwsRoleError::Malformed { place, why: "they have expired" }),
        }
    }

    async fn fetch_from_container(
        &self,
        token: Option<&ContainerToken>,
    ) -> Result<Credentials, AwsRoleError> {
        let mut request = self.request(Method::GET, self.url.clone());
        request.headers_mut().insert(header::ACCEPT, JSON);
        let token = match token {
            None => None,
            Some(ContainerToken::Text(token)) => Some(token.reveal().to_owned()),
            // Kubernetes replaces it from time to time.
            Some(ContainerToken::File(path)) => Some(read_token(path).await?),
        };
        if let Some(token) = token {
            request.headers_mut().insert(header::AUTHORIZATION, self.secret_value(&token)?);
        }
        let body = self.send(request).await?;
        read_json_credentials(&body).map_err(|why| self.malformed_error(why))
    }

    /// IMDSv2 only: without a session, the service is open to whoever makes the gateway send a
    /// request.
    async fn fetch_from_instance(&self) -> Result<Credentials, AwsRoleError> {
        let mut request = self.request(Method::PUT, self.url_of(SESSION_TOKEN_PATH)?);
        request.headers_mut().insert(SESSION_SECONDS.0, SESSION_SECONDS.1);
        let session = self.send(request).await?;
        let session = self.secret_value(String::from_utf8_lossy(&session).trim())?;
        let get = async |path: &str| {
            let mut request = self.request(Method::GET, self.url_of(path)?);
            request.headers_mut().insert(METADATA_SESSION, session.clone());
            self.send(request).await
        };
        let roles = match get(ROLE_PATH).await {
            Err(AwsRoleError::Refused { status: 404, .. }) => return Err(AwsRoleError::NoRole),
            roles => roles?,
        };
        let roles = String::from_utf8_lossy(&roles).into_owned();
        let role = roles.lines().next().map(str::trim).filter(|role| !role.is_empty());
        let role = role.ok_or(AwsRoleError::NoRole)?;
        let body = get(&format!("{ROLE_PATH}{}", percent_encoded(role))).await?;
        read_json_credentials(&body).map_err(|why| self.malformed_error(why))
    }

    async fn assume_role(&self, fields: &[(&str, &str)]) -> Result<Credentials, AwsRoleError> {
        let fields = fields.iter().map(|(key, value)| format!("{key}={}", percent_encoded(value)));
        let form = fields.collect::<Vec<_>>().join("&");
        let mut request = Request::new(Full::new(Bytes::from(form)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        request.headers_mut().insert(header::CONTENT_TYPE, FORM);
        let body = self.send(request).await?;
        read_xml_credentials(&body).map_err(|why| self.malformed_error(why))
    }

    fn request(&self, method: Method, url: Uri) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::default());
        *request.method_mut() = method;
        *request.uri_mut() = url;
        request
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Bytes, AwsRoleError> {
        let place = self.place();
        let sent = self.pool.send(request).await.map_err(|failed| match failed {
            HttpRequestError::Unreachable(why) | HttpRequestError::Broken(why) => {
                AwsRoleError::Unreachable { place, why }
            }
        });
        let (parts, incoming) = sent?.into_parts();
        let body = body::read_whole(incoming, MAX_RESPONSE_BYTES).await;
        if parts.status != StatusCode::OK {
            let body = body.unwrap_or_default();
            let code = xml_field(&String::from_utf8_lossy(&body), "Code").filter(|it| is_code(it));
            return Err(AwsRoleError::Refused { place, status: parts.status.as_u16(), code });
        }
        body.map_err(|error| AwsRoleError::Unreachable { place, why: error.to_string() })
    }

    fn url_of(&self, path: &str) -> Result<Uri, AwsRoleError> {
        let base = self.url.to_string();
        let url = format!("{}{path}", base.trim_end_matches('/'));
        url.parse().map_err(|_| self.malformed_error("the name of its role is invalid"))
    }

    fn secret_value(&self, token: &str) -> Result<HeaderValue, AwsRoleError> {
        let mut value = HeaderValue::try_from(token)
            .map_err(|_| self.malformed_error("its token has invalid characters"))?;
        value.set_sensitive(true);
        Ok(value)
    }

    fn malformed_error(&self, why: &'static str) -> AwsRoleError {
        AwsRoleError::Malformed { place: self.place(), why }
    }

    fn place(&self) -> &'static str {
        match self.source {
            AwsRoleSource::Container { .. } => "the credentials endpoint of its container",
            AwsRoleSource::Instance { .. } => "the metadata service of its machine",
            AwsRoleSource::WebIdentity { .. } => "the token service of AWS",
        }
    }
}

/// The Security Token Service (STS) of a region.
fn token_service(region: &str) -> String {
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    format!("https://sts.{region}.{domain}/")
}

async fn read_token(path: &Path) -> Result<String, AwsRoleError> {
    let read = path.to_owned();
    let token = tokio::task::spawn_blocking(move || {
        if std::fs::metadata(&read)?.len() > MAX_TOKEN_FILE_BYTES {
            return Err(std::io::Error::other("it is larger than 64 KiB"));
        }
        std::fs::read_to_string(&read)
    });
    let failed = |why: String| AwsRoleError::TokenFile { path: path.to_owned(), why };
    let token = token.await.map_err(|error| failed(error.to_string()))?;
    let token = token.map_err(|error| failed(error.to_string()))?;
    Ok(token.trim().to_owned())
}

/// Codes of AWS are words; anything else may be a quotation.
fn is_code(text: &str) -> bool {
    text.len() <= 60 && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
