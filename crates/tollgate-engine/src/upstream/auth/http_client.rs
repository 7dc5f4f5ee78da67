//! HTTP client for the OAuth code of rmcp: few requests, short timeouts, no redirects, no plain
//! text over a network. Documents with the wrong identity are rejected.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Response};
use http_body_util::Full;
use parking_lot::Mutex;
use rmcp::transport::auth::{
    AuthError, AuthorizationMetadataResolution, OAuthHttpClient, OAuthHttpClientFuture,
    OAuthHttpRequest,
};
use serde_json::{Value, json};
use tollgate_core::{json, secret_values};

use super::discovery;
use super::fetch::{ExchangeBounds, ExchangeError, JsonResponse, OperatorHttpClient};
use super::oauth_error::OauthError;
use super::place::OauthUrl;
use super::token::{self, TokenEndpointError};
use crate::clock::{Clock as _, SystemClock};

/// For one exchange, and for a whole step: discovery with registration, or a token.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
const STEP_TIMEOUT: Duration = Duration::from_secs(30);
/// Per step. A server may name a thousand authorization servers; they are not all tried.
const MAX_REQUESTS: u32 = 24;
const MAX_DOCUMENT_BYTES: usize = 1 << 20;
/// Unusable answers that an error mentions.
const MAX_NOTES: usize = 3;

pub(super) struct OauthHttpClient {
    fetch: OperatorHttpClient,
    server: OauthUrl,
    step: Mutex<OauthStep>,
}

struct OauthStep {
    until: Instant,
    requests_left: u32,
    /// Why an answer was rejected. rmcp does not always pass it on.
    refusal: Option<String>,
    /// URLs of the fetched documents.
    fetched: Vec<String>,
    /// Unusable answers to metadata requests.
    notes: Vec<String>,
}

impl OauthStep {
    fn new() -> Self {
        Self {
            until: SystemClock.now() + STEP_TIMEOUT,
            requests_left: MAX_REQUESTS,
            refusal: None,
            fetched: Vec::new(),
            notes: Vec::new(),
        }
    }
}

impl OauthHttpClient {
    pub(super) fn new(server_url: &str) -> Result<Self, OauthError> {
        let fetch = OperatorHttpClient::new(server_url)?;
        let server = OauthUrl::parse(server_url)?;
        Ok(Self { fetch, server, step: Mutex::new(OauthStep::new()) })
    }

    /// Starts the time and request limits of a step.
    pub(super) fn begin_step(&self) {
        *self.step.lock() = OauthStep::new();
    }

    /// The error message, safe to display.
    pub(super) fn explain(&self, error: &AuthError) -> String {
        let refusal = self.step.lock().refusal.take();
        refusal.unwrap_or_else(|| words(error))
    }

    /// Unusable answers of the server to metadata requests; empty if there are none.
    pub(super) fn unusable_answers(&self) -> String {
        self.step.lock().notes.join("; ")
    }

    /// Whether the metadata is acceptable: issued by whom it claims (RFC 8414), with PKCE by S256,
    /// and with endpoints that may receive secrets. If the server published none, only the
    /// endpoints are checked, which are its own.
    pub(super) fn check_metadata(
        &self,
        found: &AuthorizationMetadataResolution,
    ) -> Result<(), OauthError> {
        let metadata = &found.metadata;
        if found.source.is_discovered() {
            self.check_issuer(metadata.issuer.as_deref())?;
            let methods = metadata.code_challenge_methods_supported.as_deref().unwrap_or_default();
            if !methods.iter().any(|method| method == "S256") {
                return Err(OauthError::NoPkce);
            }
        }
        let endpoints = [
            ("authorization_endpoint", Some(&metadata.authorization_endpoint)),
            ("token_endpoint", Some(&metadata.token_endpoint)),
            ("registration_endpoint", metadata.registration_endpoint.as_ref()),
        ];
        for (name, url) in endpoints {
            let Some(url) = url else { continue };
            OauthUrl::parse(url)
                .and_then(|place| place.may_get_secrets_from(&self.server))
                .map_err(|cause| OauthError::Endpoint { name, cause })?;
        }
        Ok(())
    }

    /// The metadata must come from a URL that is derived from its issuer.
    fn check_issuer(&self, issuer: Option<&str>) -> Result<(), OauthError> {
        let issuer = issuer.ok_or(OauthError::NoIssuer)?;
        let place = OauthUrl::parse(issuer)?;
        let oauth = "oauth-authorization-server";
        let openid = "openid-configuration";
        let derived = [
            place.insert_well_known(oauth),
            place.insert_well_known(openid),
            place.append_well_known(openid),
            place.at_root(oauth),
        ];
        if self.step.lock().fetched.iter().any(|url| derived.contains(url)) {
            Ok(())
        } else {
            Err(OauthError::OtherIssuer)
        }
    }

    /// Counts a request, and returns the deadline of its response.
    fn count_request(&self) -> Result<Instant, OauthError> {
        let now = SystemClock.now();
        let mut step = self.step.lock();
        if step.requests_left == 0 {
            return Err(OauthError::TooManyRequests(MAX_REQUESTS));
        }
        if now >= step.until {
            return Err(OauthError::TooSlow(STEP_TIMEOUT.as_secs()));
        }
        step.requests_left -= 1;
        Ok(step.until.min(now + REQUEST_TIMEOUT))
    }

    async fn exchange(&self, request: OAuthHttpRequest) -> Result<Response<Vec<u8>>, OauthError> {
        let until = self.count_request()?;
        mask_sent(request.request.body());
        let request = request.request.map(|body| Full::new(Bytes::from(body)));
        let url = request.uri().to_string();
        let is_get = request.method() == Method::GET;
        let kind = request.headers().get(CONTENT_TYPE).map(|kind| kind.as_bytes());
        let is_form =
            kind.is_some_and(|kind| kind.starts_with(b"application/x-www-form-urlencoded"));
        OauthUrl::parse(&url)?.may_get_secrets_from(&self.server)?;
        let bounds = ExchangeBounds { until, most_bytes: MAX_DOCUMENT_BYTES };
        let response = self.fetch.exchange_within(&url, request, bounds).await;
        let response = response.map_err(|cause| ExchangeError { url: url.clone(), cause })?;
        mask_received(response.body());
        if is_get {
            self.check_document(&url, &response)?;
        }
        if is_form && response.status().is_success() {
            let body = read_token_response(&response)?;
            return Ok(response.map(|_| body));
        }
        Ok(response.map(|body| body.to_vec()))
    }

    /// A document that a server published about itself is binding: an invalid one is an error, not
    /// a reason to fall back.
    fn check_document(&self, url: &str, response: &Response<Bytes>) -> Result<(), OauthError> {
        let status = response.status();
        let is_metadata = url.contains("/.well-known/");
        let document = parse(response.body()).filter(Value::is_object);
        let Some(document) = document.filter(|_| status.is_success()) else {
            let mut step = self.step.lock();
            if is_metadata && step.notes.len() < MAX_NOTES {
                let what = if status.is_success() { "no JSON object" } else { status.as_str() };
                step.notes.push(format!("`{url}`: {what}"));
            }
            return Ok(());
        };
        self.step.lock().fetched.push(url.to_owned());
        let named = document.get("authorization_servers");
        let is_about_a_resource = document.get("resource").is_some() || named.is_some();
        // The host may be shared; the document at the root may be another's.
        let is_ours = url == self.server.insert_well_known("oauth-protected-resource");
        if is_about_a_resource && is_ours {
            discovery::read_resource(&self.server, &document)?;
        }
        if is_about_a_resource && named.and_then(Value::as_array).is_some_and(Vec::is_empty) {
            return Err(OauthError::NoAuthorizationServer);
        }
        Ok(())
    }
}

impl OAuthHttpClient for OauthHttpClient {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let outcome = self.exchange(request).await;
            if let Err(reason) = &outcome {
                self.step.lock().refusal = Some(safe_excerpt(&reason.to_string()));
            }
            Ok(outcome?)
        })
    }
}

fn parse(body: &[u8]) -> Option<Value> {
    json::value(std::str::from_utf8(body).ok()?).ok()
}

/// A valid token response, with its lifetime normalized: many servers send it as a string.
fn read_token_response(response: &Response<Bytes>) -> Result<Vec<u8>, OauthError> {
    let fetched = JsonResponse { status: response.status(), body: parse(response.body()) };
    token::read(&fetched).map_err(|refusal| match refusal {
        TokenEndpointError::InvalidClient(why) | TokenEndpointError::Other(why) => {
            OauthError::Refused(why)
        }
    })?;
    let mut body = fetched.body.unwrap_or_default();
    if let Some(fields) = body.as_object_mut() {
        fields.entry("token_type").or_insert_with(|| json!("Bearer"));
        match fields.get("expires_in").and_then(token::seconds) {
            Some(seconds) => fields.insert("expires_in".to_owned(), json!(seconds)),
            None => fields.remove("expires_in"),
        };
    }
    Ok(body.to_string().into_bytes())
}

/// Secret fields of a token request and its response.
const SECRET_FIELDS: [&str; 7] = [
    "code",
    "code_verifier",
    "refresh_token",
    "client_secret",
    "access_token",
    "id_token",
    "registration_access_token",
];

/// Masks the secrets of a form in all output from now on: an authorization server may echo them.
fn mask_sent(form: &[u8]) {
    for (name, value) in url::form_urlencoded::parse(form) {
        if SECRET_FIELDS.contains(&&*name) {
            secret_values::obtain(&value);
        }
    }
}

fn mask_received(body: &[u8]) {
    let Ok(Value::Object(fields)) = serde_json::from_slice(body) else { return };
    for (name, value) in &fields {
        if let (true, Some(value)) = (SECRET_FIELDS.contains(&&**name), value.as_str()) {
            secret_values::obtain(value);
        }
    }
}

/// The error message of rmcp, safe to display.
pub(super) fn words(error: &AuthError) -> String {
    safe_excerpt(&error.to_string())
}

fn safe_excerpt(text: &str) -> String {
    secret_values::mask(text).chars().filter(|letter| !letter.is_control()).take(300).collect()
}

#[cfg(test)]
mod tests {
    use tollgate_core::secret_values::{MASK, mask};

    use super::{mask_received, mask_sent, words};

    #[test]
    fn s_23_codes_verifiers_and_tokens_are_masked_once_they_are_exchanged() {
        mask_sent(b"grant_type=authorization_code&code=canary%2Fcode-1&code_verifier=canary-verifier-1&client_id=known-to-all");
        mask_sent(b"grant_type=refresh_token&refresh_token=canary-refresh-1&client_secret=canary-secret-1");
        mask_received(br#"{"access_token":"canary-access-1","refresh_token":"canary-refresh-2","id_token":"canary-id-token","scope":"tools:read"}"#);
        for secret in [
            "canary/code-1",
            "canary-verifier-1",
            "canary-refresh-1",
            "canary-secret-1",
            "canary-access-1",
            "canary-refresh-2",
            "canary-id-token",
        ] {
            assert_eq!(mask(secret), MASK);
            let error = rmcp::transport::auth::AuthError::InternalError(format!("sent {secret}"));
            assert!(!words(&error).contains(secret));
        }
        assert_eq!(mask("known-to-all tools:read"), "known-to-all tools:read");
    }
}
