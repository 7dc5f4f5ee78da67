//! OAuth 2.1 authorization code with PKCE, for servers that need somebody's consent.
//!
//! The rules of the protocol are those of rmcp, which is used here and nowhere else; what it
//! sends goes through our own client. Its log lines below `info` hold codes: keep them off.

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
use tollgate_mcp::client::Credentials;

use super::bearer;
use super::challenge::{Challenge, MAX_CHALLENGE_BYTES};
use super::http_client::{OauthHttpClient, words};
use super::login::LoginTokenStore;
use super::place::OauthUrl;
use super::token;

/// A page that somebody consented on later than this is not what they were shown.
const CONSENT_TIMEOUT: Duration = Duration::from_secs(600);

/// What there is to know before anybody is asked.
#[derive(Debug, Clone)]
pub struct Authorization {
    /// The MCP endpoint.
    pub server_url: String,
    /// Where the browser is sent back to.
    pub redirect_uri: String,
    pub identity: OauthClientIdentity,
    /// The authorization server that it must be; `None`: whichever the server names.
    pub issuer: Option<String>,
    /// Empty: what the server asks for.
    pub scopes: Vec<String>,
}

/// Who the gateway is to the authorization server.
#[derive(Debug, Clone)]
pub enum OauthClientIdentity {
    /// Arranged beforehand.
    Registered { client_id: String, client_secret: Option<Secret> },
    /// Known by its metadata document where that is accepted, else registered on the spot.
    Unregistered { name: String, metadata_url: Option<String> },
}

/// Shows the URL to somebody who can consent, and gives the one that they were sent back to.
pub type ConsentPrompt =
    Box<dyn Fn(String) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// Credentials that are asked for when the server refuses a request, by one caller for all.
pub struct AuthorizationCode {
    authorization: Authorization,
    open: ConsentPrompt,
    /// Where the tokens stay, if they outlast the process.
    kept: Option<LoginTokenStore>,
    /// Counts the tokens, so that whoever waited for a new one knows that it came.
    generation: AtomicU64,
    grant: Mutex<AuthorizationGrantState>,
}

#[derive(Default)]
struct AuthorizationGrantState {
    session: Option<OauthSession>,
    /// Why the last attempt came to nothing; told once.
    failure: Option<String>,
    /// Scopes that were asked for after a 403. Asking for them again would change nothing.
    stepped_up: Vec<String>,
}

/// The library's side of a grant, and the client that it sends with.
struct OauthSession {
    manager: AuthorizationManager,
    client: Arc<OauthHttpClient>,
}

impl AuthorizationCode {
    pub fn new(authorization: Authorization, open: ConsentPrompt) -> Self {
        let generation = AtomicU64::new(0);
        Self { authorization, open, kept: None, generation, grant: Mutex::default() }
    }

    /// Keeps the tokens there.
    pub fn keeping(self, kept: LoginTokenStore) -> Self {
        Self { kept: Some(kept), ..self }
    }

    /// Asks for consent now, before a server refuses anything.
    pub async fn ask(&self) -> Result<(), String> {
        self.authorize(None).await.map(drop)
    }

    /// Discovery, registration, consent, token.
    async fn authorize(&self, challenge: Option<&str>) -> Result<OauthSession, String> {
        let asked = &self.authorization;
        let client = Arc::new(OauthHttpClient::new(&asked.server_url)?);
        let (url, sending) = (asked.server_url.as_str(), Arc::clone(&client));
        let mut manager = AuthorizationManager::new_with_oauth_http_client(url, sending)
            .await
            .map_err(|error| words(&error))?;
        if let Some(kept) = &self.kept {
            manager.set_credential_store(kept.clone());
        }
        let challenge = challenge.filter(|challenge| challenge.len() <= MAX_CHALLENGE_BYTES);
        let found = manager.resolve_metadata_from_challenge(challenge).await;
        let found = found.map_err(|error| client.explain(&error))?;
        client.check_metadata(&found)?;
        self.check_issuer(found.metadata.issuer.as_deref()).await?;
        let is_discovered = found.source.is_discovered();
        manager.set_metadata(found.metadata);
        let session = AuthorizationSession::new(manager, self.request()).await;
        let session = session.map_err(|(_, error)| {
            let why = client.explain(&error);
            if is_discovered {
                return why;
            }
            let answers = client.unusable_answers();
            format!("the server publishes no usable OAuth metadata ({answers}); {why}")
        })?;
        let url = session.get_authorization_url().to_owned();
        let session = OauthSession { manager: session.auth_manager, client };
        self.consent(&session, url).await?;
        Ok(session)
    }

    /// A client secret is for one authorization server: the one that the operator named, or else
    /// the one that it was first used with. No server can have it sent elsewhere.
    async fn check_issuer(&self, found: Option<&str>) -> Result<(), String> {
        let asked = &self.authorization;
        let named = found.unwrap_or("none");
        if let Some(wanted) = &asked.issuer {
            let is_wanted = match (OauthUrl::parse(wanted), found.map(OauthUrl::parse)) {
                (Ok(wanted), Some(Ok(found))) => wanted.is_same_issuer(&found),
                _ => false,
            };
            return is_wanted.then_some(()).ok_or_else(|| {
                format!("the server's authorization server is `{named}`, and not `{wanted}` as `issuer` says")
            });
        }
        let has_secret = matches!(
            asked.identity,
            OauthClientIdentity::Registered { client_secret: Some(_), .. }
        );
        let Some(kept) = self.kept.as_ref().filter(|_| has_secret) else { return Ok(()) };
        match kept.issuer().await? {
            Some(before) if found != Some(before.as_str()) => Err(format!(
                "the server's authorization server was `{before}` and is `{named}` now; the client \
                 secret is not sent there unless `issuer` says so"
            )),
            _ => Ok(()),
        }
    }

    fn request(&self) -> AuthorizationRequest {
        let asked = &self.authorization;
        let request = AuthorizationRequest::new(&asked.redirect_uri)
            .with_scopes(asked.scopes.iter().cloned())
            .with_initial_scope_selection();
        match &asked.identity {
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

    async fn consent(&self, session: &OauthSession, url: String) -> Result<(), String> {
        // Nothing but a web page is ever shown to anybody, and none in clear over a network.
        let server = OauthUrl::parse(&self.authorization.server_url)?;
        OauthUrl::parse(&url)?.may_get_secrets_from(&server)?;
        let redirected = tokio::time::timeout(CONSENT_TIMEOUT, (self.open)(url)).await;
        let redirected =
            redirected.map_err(|_| "nobody completed the login within 10 minutes".to_owned())??;
        if let Some(code) = refusal_code(&redirected) {
            return Err(format!("the authorization server refused: `{code}`"));
        }
        let callback =
            AuthorizationCallback::from_redirect_url(&redirected).map_err(|error| words(&error))?;
        let issuer = callback.issuer.as_deref();
        session.client.begin_step();
        session
            .manager
            .exchange_code_for_token_with_issuer(&callback.code, &callback.csrf_token, issuer)
            .await
            .map_err(|error| session.client.explain(&error))?;
        self.generation.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Asks for the scopes that a 403 names, on top of those there are. Whether it changed a thing.
    async fn step_up(
        &self,
        grant: &mut AuthorizationGrantState,
        challenge: &Challenge,
    ) -> Result<bool, String> {
        let insufficient = challenge.error.as_deref() == Some("insufficient_scope");
        let news = challenge.scopes.iter().any(|scope| !grant.stepped_up.contains(scope));
        let Some(session) = grant.session.as_ref().filter(|_| insufficient && news) else {
            return Ok(false);
        };
        let scopes = challenge.scopes.join(" ");
        let upgrade = session.manager.request_scope_upgrade(&scopes).await;
        let url = upgrade.map_err(|error| words(&error))?;
        self.consent(session, url).await?;
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
            Err(error) => Err(session.client.explain(&error)),
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
            Ok(session) => grant.session = Some(session),
            Err(reason) => grant.failure = Some(reason),
        }
        true
    }
}

/// What an authorization server gave as its reason for not giving a code, if it gave one.
fn refusal_code(redirected: &str) -> Option<String> {
    let query = redirected.split_once('?')?.1.split('#').next()?;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (_, code) = pairs.find(|(name, _)| *name == "error")?;
    Some(token::error_code(code))
}
