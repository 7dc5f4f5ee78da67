//! OAuth logins of servers that need a user. Tokens are renewed by single flight.
//!
//! Consent is given once (`tollgate servers login`), and its tokens are stored. They are renewed
//! before they expire, by one caller for all; if there are none, the error says what to do. A new
//! login takes effect with the next request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue, StatusCode};
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialStore, OAuthClientConfig, StoredCredentials,
};
use serde_json::Value;
use tokio::sync::Mutex;
use tollgate_core::id::ServerId;
use tollgate_core::secret::Secret;
use tollgate_core::secret_values;
use tollgate_mcp::client::{Credentials, CredentialsError};
use tollgate_store::Store;
use tollgate_store::logins::{LoginHolder, StoredLogin as Row};

use super::bearer;
use super::http_client::OauthHttpClient;
use super::oauth_error::OauthError;
use super::place::OauthUrl;
use crate::clock::Clock;
use crate::settings::OauthLoginSettings;

/// A token is renewed this long before it expires, or a tenth of its lifetime if that is less.
const MARGIN: Duration = Duration::from_secs(60);
/// A new token does not help if one is rejected this soon after it was issued.
const STILL_NEW: Duration = Duration::from_secs(5);
/// A placeholder: renewal needs no browser.
const NOWHERE: &str = "http://127.0.0.1/callback";

/// Whether a login is needed before the server can be called again, as of the last request.
#[derive(Debug, Clone, Default)]
pub(in crate::upstream) struct ConsentState {
    missing: Arc<AtomicBool>,
}

impl ConsentState {
    pub(in crate::upstream) fn is_missing(&self) -> bool {
        self.missing.load(Ordering::Relaxed)
    }
}

/// Why there is no token.
enum NoTokenError {
    /// Only a new login can fix it.
    Consent,
    Other(OauthError),
}

impl From<OauthError> for NoTokenError {
    fn from(why: OauthError) -> Self {
        Self::Other(why)
    }
}

/// Persistent store of one server's tokens.
#[derive(Clone)]
pub struct LoginTokenStore {
    store: Arc<Store>,
    holder: LoginHolder,
}

impl LoginTokenStore {
    /// Tokens are bound to the URL: they are never sent to another address under the same server
    /// name.
    pub fn new(store: Arc<Store>, server: &ServerId, url: &str) -> Result<Self, OauthError> {
        let resource = OauthUrl::parse(url)?.resource();
        Ok(Self { store, holder: LoginHolder { server: server.to_string(), resource } })
    }

    /// The issuer of the last login, even if its tokens are gone.
    pub(super) async fn issuer(&self) -> Result<Option<String>, OauthError> {
        Ok(self.row().await?.and_then(|row| row.issuer))
    }

    async fn row(&self) -> Result<Option<Row>, OauthError> {
        self.blocking(|store, holder| store.logins().load(holder)).await
    }

    /// Deletes the tokens, but keeps the issuer.
    async fn forget(&self) -> Result<(), OauthError> {
        self.blocking(|store, holder| {
            let Some(known) = store.logins().load(holder)? else { return Ok(()) };
            let row = Row { issuer: known.issuer, credentials: Secret::new("") };
            store.logins().keep(holder, &row)
        })
        .await
    }

    async fn stored_token(&self) -> Result<Option<StoredToken>, OauthError> {
        Ok(self.row().await?.and_then(|row| StoredToken::read(row.credentials.reveal())))
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store, &LoginHolder) -> Result<T, tollgate_store::Error> + Send + 'static,
    ) -> Result<T, OauthError> {
        let store = Arc::clone(&self.store);
        let holder = self.holder.clone();
        let done = tokio::task::spawn_blocking(move || work(&store, &holder)).await;
        done.map_err(|_| OauthError::StoreCrashed)?
            .map_err(|error| OauthError::Store(error.to_string()))
    }
}

fn store_error(error: &OauthError) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

#[async_trait]
impl CredentialStore for LoginTokenStore {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let row = self.row().await.map_err(|error| store_error(&error))?;
        Ok(row.and_then(|row| serde_json::from_str(row.credentials.reveal()).ok()))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let text = serde_json::to_string(&credentials)
            .map_err(|error| AuthError::CredentialStoreError(error.to_string()))?;
        let row = Row { issuer: credentials.issuer, credentials: Secret::new(text) };
        self.blocking(move |store, holder| store.logins().keep(holder, &row))
            .await
            .map_err(|error| store_error(&error))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.forget().await.map_err(|error| store_error(&error))
    }

    async fn on_refresh_token_rejected(&self, _: &StoredCredentials) -> Result<(), AuthError> {
        self.clear().await
    }
}

/// The part of a stored login that a request needs.
struct StoredToken {
    token: Secret,
    received: Option<SystemTime>,
    life: Option<Duration>,
}

impl StoredToken {
    fn read(text: &str) -> Option<Self> {
        let stored: Value = serde_json::from_str(text).ok()?;
        let response = &stored["token_response"];
        if let Some(refresh) = response["refresh_token"].as_str() {
            secret_values::obtain(refresh);
        }
        let seconds = |value: &Value| value.as_u64().map(Duration::from_secs);
        Some(Self {
            token: Secret::new(response["access_token"].as_str()?),
            received: seconds(&stored["token_received_at"]).map(|since| UNIX_EPOCH + since),
            life: seconds(&response["expires_in"]),
        })
    }

    fn age(&self, now: SystemTime) -> Option<Duration> {
        now.duration_since(self.received?).ok()
    }

    fn is_due(&self, now: SystemTime) -> bool {
        match (self.age(now), self.life) {
            (Some(age), Some(life)) => age >= life - MARGIN.min(life / 10),
            _ => false,
        }
    }

    fn is_over(&self, now: SystemTime) -> bool {
        matches!((self.age(now), self.life), (Some(age), Some(life)) if age >= life)
    }
}

pub(super) struct LoginGrant {
    server: ServerId,
    server_url: String,
    login: OauthLoginSettings,
    /// `Err`: why nothing can be stored.
    store: Result<LoginTokenStore, OauthError>,
    clock: Arc<dyn Clock>,
    /// Locked by the caller that renews.
    flight: Mutex<()>,
    consent: ConsentState,
}

impl LoginGrant {
    pub(super) fn new(
        server: &ServerId,
        login: &OauthLoginSettings,
        server_url: &str,
        store: Option<&Arc<Store>>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let token_store = match store {
            Some(store) => LoginTokenStore::new(Arc::clone(store), server, server_url),
            None => Err(OauthError::NoStore),
        };
        Self {
            server: server.clone(),
            server_url: server_url.to_owned(),
            login: login.clone(),
            store: token_store,
            clock,
            flight: Mutex::default(),
            consent: ConsentState::default(),
        }
    }

    pub(super) fn consent(&self) -> &ConsentState {
        &self.consent
    }

    /// The token to send, renewed if it is about to expire.
    async fn token(&self) -> Result<Secret, NoTokenError> {
        let store = self.store.as_ref().map_err(Clone::clone)?;
        let now = self.clock.wall();
        let held = store.stored_token().await?.ok_or(NoTokenError::Consent)?;
        if !held.is_due(now) {
            return Ok(held.token);
        }
        let _flight = self.flight.lock().await;
        let held = store.stored_token().await?.ok_or(NoTokenError::Consent)?;
        if !held.is_due(now) {
            return Ok(held.token);
        }
        match self.renew(store).await {
            Ok(()) => Ok(store.stored_token().await?.ok_or(NoTokenError::Consent)?.token),
            // The old one is still valid for a while.
            Err(_) if !held.is_over(now) => Ok(held.token),
            Err(RenewalError::Rejected) => Err(NoTokenError::Consent),
            Err(RenewalError::Failed(why)) => Err(NoTokenError::Other(why)),
        }
    }

    /// Requests a new token from the issuer. The caller must hold `flight`.
    async fn renew(&self, store: &LoginTokenStore) -> Result<(), RenewalError> {
        let failed = RenewalError::Failed;
        let client = Arc::new(OauthHttpClient::new(&self.server_url).map_err(failed)?);
        let outcome = self.renew_with(store, &client).await;
        outcome.map_err(|error| match error {
            AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_) => {
                RenewalError::Rejected
            }
            other => failed(OauthError::Refused(client.explain(&other))),
        })
    }

    async fn renew_with(
        &self,
        store: &LoginTokenStore,
        client: &Arc<OauthHttpClient>,
    ) -> Result<(), AuthError> {
        let url = self.server_url.as_str();
        let sending = Arc::clone(client);
        let mut manager = AuthorizationManager::new_with_oauth_http_client(url, sending).await?;
        manager.set_credential_store(store.clone());
        let found = manager.resolve_metadata().await?;
        client
            .check_metadata(&found)
            .map_err(|error| AuthError::MetadataError(error.to_string()))?;
        // Tokens of one issuer are never sent to another: neither to a new one that the server
        // names, nor to the server itself if it no longer names one.
        let issuer = store.issuer().await.map_err(|error| store_error(&error))?;
        if issuer.is_some() && found.metadata.issuer.is_none() {
            let why = "the server no longer names the authorization server that issued its tokens";
            return Err(AuthError::MetadataError(why.to_owned()));
        }
        manager.set_metadata(found.metadata);
        if !manager.initialize_from_store().await? {
            return Err(AuthError::AuthorizationRequired);
        }
        if let (Some(id), Some(secret)) = (&self.login.client_id, &self.login.client_secret) {
            let config = OAuthClientConfig::new(id, NOWHERE).with_client_secret(secret.reveal());
            manager.configure_client(config)?;
        }
        client.begin_step();
        manager.refresh_token().await.map(drop)
    }
}

/// Why there is no new token.
enum RenewalError {
    /// The refresh token is no longer valid.
    Rejected,
    Failed(OauthError),
}

#[async_trait]
impl Credentials for LoginGrant {
    async fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialsError> {
        let token = self.token().await;
        let is_missing = matches!(token, Err(NoTokenError::Consent));
        self.consent.missing.store(is_missing, Ordering::Relaxed);
        match token {
            Ok(token) => Ok(vec![(AUTHORIZATION, bearer(&token)?)]),
            Err(NoTokenError::Consent) => Err(OauthError::NeedsLogin(self.server.clone()).into()),
            Err(NoTokenError::Other(why)) => Err(why.into()),
        }
    }

    /// Asks for a retry after a 401: if there is no token, the next `headers` returns the reason.
    async fn handle_refusal(&self, status: StatusCode, _: Option<&str>) -> bool {
        let Ok(store) = &self.store else { return false };
        if status == StatusCode::FORBIDDEN {
            return false;
        }
        let _flight = self.flight.lock().await;
        let now = self.clock.wall();
        match store.stored_token().await {
            Ok(Some(held)) if held.age(now).is_some_and(|age| age < STILL_NEW) => return true,
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return true,
        }
        if let Err(RenewalError::Rejected) = self.renew(store).await {
            // The token is no longer valid.
            let _ = store.forget().await;
        }
        true
    }
}
