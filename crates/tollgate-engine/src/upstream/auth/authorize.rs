//! OAuth 2.1 authorization code grant with PKCE, for servers that need a user's consent.
//!
//! The protocol is implemented by rmcp, which is used only here; its requests go through our own
//! HTTP client. Its log lines below `info` contain codes: keep them off.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue, StatusCode};
use rmcp::transport::auth::{
    AuthError, AuthorizationCallback, AuthorizationManager, AuthorizationRequest,
    AuthorizationSession,
};
use tokio::sync::Mutex;
use tollgate_core::secret::Secret;
use tollgate_mcp::client::{Credentials, CredentialsError};

use super::bearer;
use super::challenge::{Challenge, MAX_CHALLENGE_BYTES};
use super::http_client::{OauthHttpClient, words};
use super::login::LoginTokenStore;
use super::oauth_error::{ConsentPromptError, OauthError};
use super::place::OauthUrl;
use super::token;

/// How long the user may take to consent.
const CONSENT_TIMEOUT: Duration = Duration::from_secs(600);

/// Parameters of an authorization.
#[derive(Debug, Clone)]
pub struct Authorization {
    /// The MCP endpoint.
    pub server_url: String,
    /// Redirect target of the browser.
    pub redirect_uri: String,
    pub identity: OauthClientIdentity,
    /// The required authorization server; `None`: any that the server names.
    pub issuer: Option<String>,
    /// Empty: those that the server asks for.
    pub scopes: Vec<String>,
}

/// Client identity at the authorization server.
#[derive(Debug, Clone)]
pub enum OauthClientIdentity {
    /// Registered in advance.
    Registered { client_id: String, client_secret: Option<Secret> },
    /// Identified by its metadata document if that is accepted, otherwise registered dynamically.
    Unregistered { name: String, metadata_url: Option<String> },
}

/// Shows the URL to the user, and returns the URL of the redirect.
pub type ConsentPrompt =
    Box<dyn Fn(String) -> BoxFuture<'static, Result<String, ConsentPromptError>> + Send + Sync>;

/// Credentials that are requested when the server rejects a request, by one caller for all (single
/// flight).
pub struct AuthorizationCode {
    authorization: Authorization,
    open: ConsentPrompt,
    /// Store of the tokens, if they survive a restart.
    store: Option<LoginTokenStore>,
    /// Counts the tokens, so that a waiting caller notices a new one.
    generation: AtomicU64,
    grant: Mutex<AuthorizationGrantState>,
}

#[derive(Default)]
struct AuthorizationGrantState {
    session: Option<OauthSession>,
    /// Why the last attempt failed; reported once.
    failure: Option<OauthError>,
    /// Scopes that were requested after a 403. Requesting them again would change nothing.
    stepped_up: Vec<String>,
}

/// The rmcp session of a grant, and its HTTP client.
struct OauthSession {
    manager: AuthorizationManager,
    client: Arc<OauthHttpClient>,
}

impl AuthorizationCode {
    pub fn new(authorization: Authorization, open: ConsentPrompt) -> Self {
        let generation = AtomicU64::new(0);
        Self { authorization, open, store: None, generation, grant: Mutex::default() }
    }

    /// Stores the tokens in `kept`.
    pub fn keeping(self, store: LoginTokenStore) -> Self {
        Self { store: Some(store), ..self }
    }

    /// Requests consent now, before the server rejects a request.
    pub async fn ask(&self) -> Result<(), OauthError> {
        self.authorize(None).await.map(drop)
    }

    /// Runs discovery, registration, consent and the token request.
    async fn authorize(&self, challenge: Option<&str>) -> Result<OauthSession, OauthError> {
        let authorization = &self.authorization;
        let client = Arc::new(OauthHttpClient::new(&authorization.server_url)?);
        let url = authorization.server_url.as_str();
        let sending = Arc::clone(&client);
        let mut manager = AuthorizationManager::new_with_oauth_http_client(url, sending)
            .await
            .map_err(|error| OauthError::Refused(words(&error)))?;
        if let Some(store) = &self.store {
            manager.set_credential_store(store.clone());
        }
        let challenge = challenge.filter(|challenge| challenge.len() <= MAX_CHALLENGE_BYTES);
        let found = manager.resolve_metadata_from_challenge(challenge).await;
        let found = found.map_err(|error| OauthError::Refused(client.explain(&error)))?;
        client.check_metadata(&found)?;
        self.check_issuer(found.metadata.issuer.as_deref()).await?;
        let is_discovered = found.source.is_discovered();
        manager.set_metadata(found.metadata);
        let session = AuthorizationSession::new(manager, self.request()).await;
        let session = session.map_err(|(_, error)| {
            let why = client.explain(&error);
            if is_discovered {
                return OauthError::Refused(why);
            }
            OauthError::UnusableMetadata { answers: client.unusable_answers(), why }
        })?;
        let url = session.get_authorization_url().to_owned();
        let session = OauthSession { manager: session.auth_manager, client };
        self.consent(&session, url).await?;
        Ok(session)
    }

    /// A client secret belongs to one authorization server: the one that the operator named, or
    /// else the one it was first used with. No server can have it sent elsewhere.
    async fn check_issuer(&self, found: Option<&str>) -> Result<(), OauthError> {
        let authorization = &self.authorization;
        let named = found.unwrap_or("none");
        if let Some(requested) = &authorization.issuer {
            let is_wanted = match (OauthUrl::parse(requested), found.map(OauthUrl::parse)) {
                (Ok(requested), Some(Ok(found))) => requested.is_same_issuer(&found),
                _ => false,
            };
            return is_wanted.then_some(()).ok_or_else(|| OauthError::IssuerMismatch {
                found: named.to_owned(),
                configured: requested.clone(),
            });
        }
        let has_secret = matches!(
            authorization.identity,
            OauthClientIdentity::Registered { client_secret: Some(_), .. }
        );
        let Some(store) = self.store.as_ref().filter(|_| has_secret) else { return Ok(()) };
        match store.issuer().await? {
            Some(before) if found != Some(before.as_str()) => {
                Err(OauthError::IssuerChanged { before, found: named.to_owned() })
            }
            _ => Ok(()),
        }
    }

    fn request(&self) -> AuthorizationRequest {
        let authorization = &self.authorization;
        let request = AuthorizationRequest::new(&authorization.redirect_uri)
            .with_scopes(authorization.scopes.iter().cloned())
            .with_initial_scope_selection();
        match &authorization.identity {
            OauthClientIdentity::Registered { client_id, client_secret: None } => {
                request.with_preregistered_client(client_id)
            }
            OauthClientIdentity::Registered { client_id, client_secret: Some(secret) } => {
                request.with_preregistered_client(client_id).with_client_secret(secret.reveal())
            }
            OauthClientIdentity::Unregistered { name, metadata_url } => {
                let request = request.with_client_name(name);
                match metadata_url {
                    Some(url) => request.with_client_metadata_url(url),
                    None => request,
                }
            }
        }
    }

    async fn consent(&self, session: &OauthSession, url: String) -> Result<(), OauthError> {
        // Only web pages may be opened, and none in plain text over a network.
        let server = OauthUrl::parse(&self.authorization.server_url)?;
        OauthUrl::parse(&url)?.may_get_secrets_from(&server)?;
        let redirected = tokio::time::timeout(CONSENT_TIMEOUT, (self.open)(url)).await;
        let redirected = redirected.map_err(|_| OauthError::ConsentTimeout)??;
        if let Some(code) = refusal_code(&redirected) {
            return Err(OauthError::ConsentRefused(code));
        }
        let callback = AuthorizationCallback::from_redirect_url(&redirected)
            .map_err(|error| OauthError::Refused(words(&error)))?;
        let issuer = callback.issuer.as_deref();
        session.client.begin_step();
        session
            .manager
            .exchange_code_for_token_with_issuer(&callback.code, &callback.csrf_token, issuer)
            .await
            .map_err(|error| OauthError::Refused(session.client.explain(&error)))?;
        self.generation.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Requests the scopes that a 403 names, in addition to the current ones. Returns whether that
    /// changed anything.
    async fn step_up(
        &self,
        grant: &mut AuthorizationGrantState,
        challenge: &Challenge,
    ) -> Result<bool, OauthError> {
        let insufficient = challenge.error.as_deref() == Some("insufficient_scope");
        let news = challenge.scopes.iter().any(|scope| !grant.stepped_up.contains(scope));
        let Some(session) = grant.session.as_ref().filter(|_| insufficient && news) else {
            return Ok(false);
        };
        let scopes = challenge.scopes.join(" ");
        let upgrade = session.manager.request_scope_upgrade(&scopes).await;
        let url = upgrade.map_err(|error| OauthError::Refused(words(&error)))?;
        self.consent(session, url).await?;
        grant.stepped_up.extend(challenge.scopes.iter().cloned());
        Ok(true)
    }
}

#[async_trait]
impl Credentials for AuthorizationCode {
    /// Empty until the server sends a challenge, which says where to begin.
    async fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialsError> {
        let mut grant = self.grant.lock().await;
        if let Some(reason) = grant.failure.take() {
            return Err(reason.into());
        }
        let Some(session) = &grant.session else {
            return Ok(Vec::new());
        };
        session.client.begin_step();
        match session.manager.get_access_token().await {
            Ok(token) => Ok(vec![(AUTHORIZATION, bearer(&Secret::new(token))?)]),
            Err(AuthError::AuthorizationRequired) => {
                grant.session = None;
                Ok(Vec::new())
            }
            Err(error) => Err(CredentialsError::new(session.client.explain(&error))),
        }
    }

    /// Always asks for a retry after a 401: if there is no token, the next `headers` returns the
    /// reason.
    async fn handle_refusal(&self, status: StatusCode, challenge: Option<&str>) -> bool {
        let generation = self.generation.load(Ordering::Relaxed);
        let mut grant = self.grant.lock().await;
        if self.generation.load(Ordering::Relaxed) != generation {
            return true;
        }
        if status == StatusCode::FORBIDDEN {
            let challenge = Challenge::parse(challenge.unwrap_or_default());
            return self.step_up(&mut grant, &challenge).await.unwrap_or_else(|reason| {
                grant.failure = Some(reason);
                true
            });
        }
        match self.authorize(challenge).await {
            Ok(session) => grant.session = Some(session),
            Err(reason) => grant.failure = Some(reason),
        }
        true
    }
}

/// The error code of an authorization server that refused a code, if there is one.
fn refusal_code(redirected: &str) -> Option<String> {
    let query = redirected.split_once('?')?.1.split('#').next()?;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (_, code) = pairs.find(|(name, _)| *name == "error")?;
    Some(token::error_code(code))
}
