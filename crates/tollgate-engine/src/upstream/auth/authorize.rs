//! OAuth 2.1 authorization code with PKCE, for servers that need somebody's consent.
//!
//! The rules of the protocol are those of rmcp, which is used here and nowhere else; what it
//! sends goes through our own client. Its log lines below `info` hold codes: keep them off.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue, StatusCode};
use http_body_util::Full;
use rmcp::transport::auth::{
    AuthError, AuthorizationCallback, AuthorizationManager, AuthorizationRequest,
    AuthorizationSession, OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest,
};
use tokio::sync::Mutex;
use tollgate_core::secret::Secret;
use tollgate_mcp::client::Credentials;

use super::bearer;
use super::challenge::Challenge;
use super::fetch::Fetch;
use super::login::Kept;
use super::place::Place;

/// What there is to know before anybody is asked.
#[derive(Debug, Clone)]
pub struct Authorization {
    /// The MCP endpoint.
    pub server_url: String,
    /// Where the browser is sent back to.
    pub redirect_uri: String,
    pub identity: Identity,
    /// Empty: what the server asks for.
    pub scopes: Vec<String>,
}

/// Who the gateway is to the authorization server.
#[derive(Debug, Clone)]
pub enum Identity {
    /// Arranged beforehand.
    Registered { client_id: String, client_secret: Option<Secret> },
    /// Known by its metadata document where that is accepted, else registered on the spot.
    Unregistered { name: String, metadata_url: Option<String> },
}

/// Shows the URL to somebody who can consent, and gives the one that they were sent back to.
pub type Open = Box<dyn Fn(String) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// Credentials that are asked for when the server refuses a request, by one caller for all.
pub struct AuthorizationCode {
    authorization: Authorization,
    open: Open,
    /// Where the tokens stay, if they outlast the process.
    kept: Option<Kept>,
    /// Counts the tokens, so that whoever waited for a new one knows that it came.
    generation: AtomicU64,
    grant: Mutex<Grant>,
}

#[derive(Default)]
struct Grant {
    manager: Option<AuthorizationManager>,
    /// Why the last attempt came to nothing; told once.
    failure: Option<String>,
    /// Scopes that were asked for after a 403. Asking for them again would change nothing.
    stepped_up: Vec<String>,
}

impl AuthorizationCode {
    pub fn new(authorization: Authorization, open: Open) -> Self {
        let generation = AtomicU64::new(0);
        Self { authorization, open, kept: None, generation, grant: Mutex::default() }
    }

    /// Keeps the tokens there.
    pub fn keeping(self, kept: Kept) -> Self {
        Self { kept: Some(kept), ..self }
    }

    /// Asks for consent now, before a server refuses anything.
    pub async fn ask(&self) -> Result<(), String> {
        self.authorize(None).await.map(drop)
    }

    /// Discovery, registration, consent, token.
    async fn authorize(&self, challenge: Option<&str>) -> Result<AuthorizationManager, String> {
        let asked = &self.authorization;
        let client = Arc::new(Client::new(&asked.server_url)?);
        let url = asked.server_url.as_str();
        let mut manager = AuthorizationManager::new_with_oauth_http_client(url, client)
            .await
            .map_err(|error| words(&error))?;
        if let Some(kept) = &self.kept {
            manager.set_credential_store(kept.clone());
        }
        let found = manager.resolve_metadata_from_challenge(challenge).await;
        manager.set_metadata(found.map_err(|error| words(&error))?.metadata);
        let session = AuthorizationSession::new(manager, self.request())
            .await
            .map_err(|(_, error)| words(&error))?;
        let url = session.get_authorization_url().to_owned();
        self.consent(&session.auth_manager, url).await?;
        Ok(session.auth_manager)
    }

    fn request(&self) -> AuthorizationRequest {
        let asked = &self.authorization;
        let request = AuthorizationRequest::new(&asked.redirect_uri)
            .with_scopes(asked.scopes.iter().cloned())
            .with_initial_scope_selection();
        match &asked.identity {
            Identity::Registered { client_id, client_secret: None } => {
                request.with_preregistered_client(client_id)
            }
            Identity::Registered { client_id, client_secret: Some(secret) } => {
                request.with_preregistered_client(client_id).with_client_secret(secret.reveal())
            }
            Identity::Unregistered { name, metadata_url } => {
                let request = request.with_client_name(name);
                match metadata_url {
                    Some(url) => request.with_client_metadata_url(url),
                    None => request,
                }
            }
        }
    }

    async fn consent(&self, manager: &AuthorizationManager, url: String) -> Result<(), String> {
        // Nothing but a web page is ever shown to anybody, and none in clear over a network.
        let server = Place::parse(&self.authorization.server_url)?;
        Place::parse(&url)?.may_get_secrets_from(&server)?;
        let redirected = (self.open)(url).await?;
        let callback =
            AuthorizationCallback::from_redirect_url(&redirected).map_err(|error| words(&error))?;
        let issuer = callback.issuer.as_deref();
        manager
            .exchange_code_for_token_with_issuer(&callback.code, &callback.csrf_token, issuer)
            .await
            .map_err(|error| words(&error))?;
        self.generation.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Asks for the scopes that a 403 names, on top of those there are. Whether it changed a thing.
    async fn step_up(&self, grant: &mut Grant, challenge: &Challenge) -> Result<bool, String> {
        let insufficient = challenge.error.as_deref() == Some("insufficient_scope");
        let news = challenge.scopes.iter().any(|scope| !grant.stepped_up.contains(scope));
        let Some(manager) = grant.manager.as_ref().filter(|_| insufficient && news) else {
            return Ok(false);
        };
        let scopes = challenge.scopes.join(" ");
        let url = manager.request_scope_upgrade(&scopes).await.map_err(|error| words(&error))?;
        self.consent(manager, url).await?;
        grant.stepped_up.extend(challenge.scopes.iter().cloned());
        Ok(true)
    }
}

#[async_trait]
impl Credentials for AuthorizationCode {
    /// Nothing until the server asks: its challenge says where to begin.
    async fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
        let mut grant = self.grant.lock().await;
        if let Some(reason) = grant.failure.take() {
            return Err(reason);
        }
        let Some(manager) = &grant.manager else {
            return Ok(Vec::new());
        };
        match manager.get_access_token().await {
            Ok(token) => Ok(vec![(AUTHORIZATION, bearer(&Secret::new(token))?)]),
            Err(AuthError::AuthorizationRequired) => {
                grant.manager = None;
                Ok(Vec::new())
            }
            Err(error) => Err(words(&error)),
        }
    }

    /// Always says to try again after a 401: where no token could be had, asking for the headers
    /// tells why.
    async fn refused(&self, status: StatusCode, challenge: Option<&str>) -> bool {
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
            Ok(manager) => grant.manager = Some(manager),
            Err(reason) => grant.failure = Some(reason),
        }
        true
    }
}

/// Takes the requests of rmcp: bounded, never redirected, nothing in clear over a network, and where
/// the server is public to nothing but public places.
pub(super) struct Client {
    fetch: Fetch,
    server: Place,
}

impl Client {
    pub(super) fn new(server_url: &str) -> Result<Self, String> {
        Ok(Self { fetch: Fetch::new(server_url)?, server: Place::parse(server_url)? })
    }
}

impl OAuthHttpClient for Client {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let request = request.request.map(|body| Full::new(Bytes::from(body)));
            let url = request.uri().to_string();
            Place::parse(&url)?.may_get_secrets_from(&self.server)?;
            let response = self.fetch.exchange(&url, request).await?;
            Ok(response.map(|body| body.to_vec()))
        })
    }
}

/// What the library says, fit to be shown.
pub(super) fn words(error: &AuthError) -> String {
    error.to_string().chars().filter(|letter| !letter.is_control()).take(300).collect()
}
