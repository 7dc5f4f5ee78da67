//! OAuth 2.1 client credentials grant, with single flight: a token is fetched on demand, renewed
//! before it expires, and fetched by one caller for all.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue, StatusCode};
use parking_lot::Mutex;
use tollgate_core::text::percent_encoded;
use tollgate_mcp::client::{Credentials, CredentialsError};

use super::challenge::Challenge;
use super::discovery::{self, ClientAuthMethod, TokenEndpoint};
use super::fetch::{self, OperatorHttpClient};
use super::oauth_error::OauthError;
use super::place::OauthUrl;
use super::token::{self, AccessToken, TokenEndpointError};
use crate::clock::Clock;
use crate::settings::ClientCredentials;

/// A rejection this soon after a new token concerned the previous one.
const STILL_NEW: Duration = Duration::from_secs(5);
/// Callers within this time after a failure get the same error, without a new request.
const STILL_FAILED: Duration = Duration::from_secs(1);
/// How often a server may ask for more scopes.
const STEP_UPS: u32 = 2;

pub(super) struct ClientCredentialsGrant {
    config: ClientCredentials,
    server_url: String,
    clock: Arc<dyn Clock>,
    known: Mutex<ClientCredentialsState>,
    /// Locked by the caller that fetches.
    flight: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct ClientCredentialsState {
    token: Option<(AccessToken, Instant)>,
    failure: Option<(OauthError, Instant)>,
    /// Discovered once; a server cannot change it later.
    endpoint: Option<TokenEndpoint>,
    /// Scopes that the server requested later.
    more_scopes: Vec<String>,
    step_ups: u32,
}

impl ClientCredentialsGrant {
    pub(super) fn new(config: &ClientCredentials, server: &str, clock: Arc<dyn Clock>) -> Self {
        Self {
            config: config.clone(),
            server_url: server.to_owned(),
            clock,
            known: Mutex::default(),
            flight: tokio::sync::Mutex::default(),
        }
    }

    /// The token, if it need not be renewed yet.
    fn fresh(&self) -> Option<HeaderValue> {
        let now = self.clock.now();
        let known = self.known.lock();
        let (token, since) = known.token.as_ref()?;
        let due = token.renew_after().is_some_and(|after| now.duration_since(*since) >= after);
        (!due).then(|| token.header.clone())
    }

    /// The token, as long as it has not expired.
    fn alive(&self) -> Option<HeaderValue> {
        let now = self.clock.now();
        let known = self.known.lock();
        let (token, since) = known.token.as_ref()?;
        let over = token.life.is_some_and(|life| now.duration_since(*since) >= life);
        (!over).then(|| token.header.clone())
    }

    fn just_came(&self) -> bool {
        let now = self.clock.now();
        let known = self.known.lock();
        known.token.as_ref().is_some_and(|(_, since)| now.duration_since(*since) < STILL_NEW)
    }

    fn just_failed(&self) -> Option<OauthError> {
        let now = self.clock.now();
        let known = self.known.lock();
        let (reason, at) = known.failure.as_ref()?;
        (now.duration_since(*at) < STILL_FAILED).then(|| reason.clone())
    }

    /// Fetches and stores a token. The caller must hold `flight`.
    async fn renew(&self, challenge: &Challenge) -> Result<HeaderValue, OauthError> {
        if let Some(reason) = self.just_failed() {
            return Err(reason);
        }
        let outcome = self.fetch(challenge).await;
        let now = self.clock.now();
        let mut known = self.known.lock();
        match outcome {
            Ok(token) => {
                let header = token.header.clone();
                known.token = Some((token, now));
                known.failure = None;
                Ok(header)
            }
            Err(reason) => {
                known.failure = Some((reason.clone(), now));
                Err(reason)
            }
        }
    }

    async fn fetch(&self, challenge: &Challenge) -> Result<AccessToken, OauthError> {
        // The home of the SSRF guard is the operator's token URL, if there is one.
        let home = self.config.token_url.as_deref().unwrap_or(&self.server_url);
        let fetch = OperatorHttpClient::new(home)?;
        let endpoint = self.endpoint(&fetch, challenge).await?;
        let methods: &[ClientAuthMethod] = match endpoint.method {
            ClientAuthMethod::Basic => &[ClientAuthMethod::Basic],
            ClientAuthMethod::Post => &[ClientAuthMethod::Post],
            ClientAuthMethod::Either => &[ClientAuthMethod::Basic, ClientAuthMethod::Post],
        };
        let mut refused = String::new();
        for method in methods {
            let (form, authorization) = self.request(&endpoint, *method);
            let fetched = fetch.post(&endpoint.url, form, authorization).await?;
            match token::read(&fetched) {
                Ok(token) => return Ok(token),
                Err(TokenEndpointError::InvalidClient(reason)) => refused = reason,
                Err(TokenEndpointError::Other(reason)) => return Err(OauthError::Refused(reason)),
            }
        }
        Err(OauthError::Refused(refused))
    }

    async fn endpoint(
        &self,
        fetch: &OperatorHttpClient,
        challenge: &Challenge,
    ) -> Result<TokenEndpoint, OauthError> {
        if let Some(known) = &self.known.lock().endpoint {
            return Ok(known.clone());
        }
        let server = OauthUrl::parse(&self.server_url)?;
        let endpoint = match &self.config.token_url {
            Some(url) => TokenEndpoint {
                url: url.clone(),
                resource: server.resource(),
                method: ClientAuthMethod::Either,
                scopes: challenge.scopes.clone(),
            },
            None => discovery::discover(fetch, &server, challenge).await?,
        };
        self.known.lock().endpoint = Some(endpoint.clone());
        Ok(endpoint)
    }

    fn request(
        &self,
        endpoint: &TokenEndpoint,
        method: ClientAuthMethod,
    ) -> (String, Option<HeaderValue>) {
        let id = self.config.client_id.as_str();
        let secret = self.config.client_secret.reveal();
        let scope = self.scopes(endpoint).join(" ");
        let mut fields =
            vec![("grant_type", "client_credentials"), ("resource", endpoint.resource.as_str())];
        if !scope.is_empty() {
            fields.push(("scope", &scope));
        }
        if method == ClientAuthMethod::Post {
            fields.extend([("client_id", id), ("client_secret", secret)]);
            return (fetch::form(&fields), None);
        }
        let pair = format!("{}:{}", percent_encoded(id), percent_encoded(secret));
        let value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair)));
        let mut value = value.expect("base64 fits into a header");
        value.set_sensitive(true);
        (fetch::form(&fields), Some(value))
    }

    /// Scopes of the config, or else those the server asks for; plus those it requested later.
    fn scopes(&self, endpoint: &TokenEndpoint) -> Vec<String> {
        let configured = &self.config.scopes;
        let first = if configured.is_empty() { &endpoint.scopes } else { configured };
        let mut scopes = first.clone();
        for scope in &self.known.lock().more_scopes {
            if !scopes.contains(scope) {
                scopes.push(scope.clone());
            }
        }
        scopes
    }

    /// Records the scopes that a 403 asks for. Returns whether a new token could help.
    fn step_up(&self, challenge: &Challenge) -> bool {
        let mut known = self.known.lock();
        let news = challenge.scopes.iter().any(|scope| !known.more_scopes.contains(scope));
        let insufficient = challenge.error.as_deref() == Some("insufficient_scope");
        if !(insufficient && news && known.step_ups < STEP_UPS) {
            return false;
        }
        known.step_ups += 1;
        known.more_scopes.extend(challenge.scopes.iter().cloned());
        true
    }
}

#[async_trait]
impl Credentials for ClientCredentialsGrant {
    /// Without a known token endpoint the first request is sent without a token: the server's
    /// challenge says where to get one.
    async fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialsError> {
        if let Some(header) = self.fresh() {
            return Ok(vec![(AUTHORIZATION, header)]);
        }
        let nothing_known = self.config.token_url.is_none() && self.known.lock().endpoint.is_none();
        if nothing_known {
            return match (self.alive(), self.just_failed()) {
                (Some(header), _) => Ok(vec![(AUTHORIZATION, header)]),
                (None, Some(reason)) => Err(reason.into()),
                (None, None) => Ok(Vec::new()),
            };
        }
        let _flight = match (self.flight.try_lock(), self.alive()) {
            (Ok(flight), _) => flight,
            // Another caller is renewing it, and the old one is still valid.
            (Err(_), Some(header)) => return Ok(vec![(AUTHORIZATION, header)]),
            (Err(_), None) => self.flight.lock().await,
        };
        if let Some(header) = self.fresh() {
            return Ok(vec![(AUTHORIZATION, header)]);
        }
        match (self.renew(&Challenge::default()).await, self.alive()) {
            (Ok(header), _) | (Err(_), Some(header)) => Ok(vec![(AUTHORIZATION, header)]),
            (Err(reason), None) => Err(reason.into()),
        }
    }

    async fn handle_refusal(&self, status: StatusCode, challenge: Option<&str>) -> bool {
        let challenge = Challenge::parse(challenge.unwrap_or_default());
        if status == StatusCode::FORBIDDEN {
            let _flight = self.flight.lock().await;
            return self.step_up(&challenge) && self.renew(&challenge).await.is_ok();
        }
        let _flight = self.flight.lock().await;
        if self.just_came() {
            return true;
        }
        // On failure, the next `headers` returns the reason.
        let _ = self.renew(&challenge).await;
        true
    }
}
