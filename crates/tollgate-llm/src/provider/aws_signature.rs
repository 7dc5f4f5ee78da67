//! Signs requests to Amazon Web Services (AWS Signature Version 4).

use std::sync::Arc;
use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::Full;
use tollgate_core::secret::Secret;
use tollgate_engine::clock::Clock;

use super::aws_role::{AwsRole, AwsRoleError};

const SERVICE: &str = "bedrock";
const ERROR_TYPE: &str = "x-amzn-errortype";

pub(super) struct AwsSigner {
    credentials: SigningCredentials,
    region: String,
    clock: Arc<dyn Clock>,
}

enum SigningCredentials {
    /// Of the config.
    Fixed(Credentials),
    Role(Box<AwsRole>),
}

/// Why a request cannot be signed.
#[derive(Debug, thiserror::Error)]
#[error("the request cannot be signed: {0}")]
pub(super) struct SigningError(String);

impl AwsSigner {
    /// Signs with an access key of the config.
    pub(super) fn with_access_key(
        access_key_id: &str,
        secret_access_key: &Secret,
        session_token: Option<&Secret>,
        region: &str,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let token = session_token.map(|token| token.reveal().to_owned());
        let secret = secret_access_key.reveal();
        let credentials = Credentials::new(access_key_id, secret, token, None, "config");
        let credentials = SigningCredentials::Fixed(credentials);
        Self { credentials, region: region.to_owned(), clock }
    }

    pub(super) fn with_role(role: AwsRole, region: &str, clock: Arc<dyn Clock>) -> Self {
        let credentials = SigningCredentials::Role(Box::new(role));
        Self { credentials, region: region.to_owned(), clock }
    }

    pub(super) async fn credentials(&self) -> Result<Credentials, AwsRoleError> {
        match &self.credentials {
            SigningCredentials::Fixed(credentials) => Ok(credentials.clone()),
            SigningCredentials::Role(role) => role.credentials().await,
        }
    }

    /// Other credentials than these, which AWS refused, if there are any.
    pub(super) async fn replace(&self, refused: &Credentials) -> Option<Credentials> {
        let SigningCredentials::Role(role) = &self.credentials else { return None };
        role.discard(refused);
        role.credentials().await.ok().filter(|credentials| credentials != refused)
    }

    /// Adds the headers that prove who sends this request, now and with this body.
    pub(super) fn sign(
        &self,
        request: &mut Request<Full<Bytes>>,
        body: &[u8],
        credentials: &Credentials,
    ) -> Result<(), SigningError> {
        sign_request(request, body, credentials, &self.region, SERVICE, self.clock.wall())
    }
}

/// Whether AWS refused the credentials, and not the request: they may have been revoked.
pub(super) fn refuses_credentials<B>(response: &Response<B>) -> bool {
    const CODES: [&str; 3] =
        ["ExpiredTokenException", "UnrecognizedClientException", "InvalidClientTokenId"];
    let code = response.headers().get(ERROR_TYPE).and_then(|value| value.to_str().ok());
    response.status() == StatusCode::FORBIDDEN
        && code.is_some_and(|code| CODES.iter().any(|known| code.starts_with(known)))
}

fn sign_request(
    request: &mut Request<Full<Bytes>>,
    body: &[u8],
    credentials: &Credentials,
    region: &str,
    service: &str,
    now: SystemTime,
) -> Result<(), SigningError> {
    let identity = credentials.clone().into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(service)
        .time(now)
        .settings(SigningSettings::default())
        .build()
        .map_err(|error| SigningError(error.to_string()))?;
    let params = params.into();
    // Proxies may change other headers. `host` and the date are added.
    let content_type = request.headers().get(header::CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let signed_headers = content_type.map(|value| (header::CONTENT_TYPE.as_str(), value));
    let signable = SignableRequest::new(
        request.method().as_str(),
        request.uri().to_string(),
        signed_headers.into_iter(),
        SignableBody::Bytes(body),
    );
    let signable = signable.map_err(|error| SigningError(error.to_string()))?;
    let signed = sign(signable, &params).map_err(|error| SigningError(error.to_string()))?;
    let (instructions, _) = signed.into_parts();
    instructions.apply_to_request_http1x(request);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use aws_credential_types::Credentials;
    use bytes::Bytes;
    use http::{Method, Request};
    use http_body_util::Full;

    use super::sign_request;

    /// `get-vanilla-query-order-key-case` and `post-vanilla` of the SigV4 test suite, which AWS
    /// publishes with its key.
    #[test]
    fn the_published_examples_are_signed_as_published() {
        let key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
        let credentials = Credentials::new("AKIDEXAMPLE", key, None, None, "test");
        // 20150830T123600Z
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_440_938_160);
        for (method, url, signature) in [
            (
                Method::GET,
                "https://example.amazonaws.com/?Param2=value2&Param1=value1",
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            ),
            (
                Method::POST,
                "https://example.amazonaws.com/",
                "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
            ),
        ] {
            let mut request = Request::new(Full::new(Bytes::new()));
            *request.method_mut() = method;
            *request.uri_mut() = url.parse().unwrap();
            sign_request(&mut request, b"", &credentials, "us-east-1", "service", now).unwrap();
            assert_eq!(request.headers()["x-amz-date"], "20150830T123600Z");
            let expected = format!(
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
                 SignedHeaders=host;x-amz-date, Signature={signature}"
            );
            assert_eq!(request.headers()["authorization"], expected);
        }
    }
}
