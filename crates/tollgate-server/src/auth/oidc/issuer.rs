//! Keys of a JWT issuer (JWKS): fetched by one task, cached for all requests.
//!
//! A token signed by an unknown key triggers a new fetch, but only after a cooldown. While the
//! issuer is unreachable, the cached keys stay valid.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use http::StatusCode;
use tokio::sync::{Notify, watch};
use tollgate_engine::clock::{Clock, SystemClock};
use tollgate_engine::web::FetchError;
use tollgate_engine::web::fetch::{ExchangeError, OperatorHttpClient};
use tollgate_engine::web::place::{OauthUrl, OauthUrlError};
use tollgate_mcp::tasks::{self, Task};

use super::OidcConfig;
use super::jwk::{Jwk, Jwks};
use super::jwt::Jwt;

/// Fetch interval. Bounds how long a withdrawn key stays valid.
const REFRESH: Duration = Duration::from_secs(600);
/// Delay before the first retry after a failure. It doubles up to the last.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);
/// How long a request waits for a fetch.
const JWKS_WAIT_TIMEOUT: Duration = Duration::from_secs(5);
/// Cached keys expire after this time without a successful fetch.
const STALE: Duration = Duration::from_secs(86_400);

pub(super) struct Issuer {
    shared: Arc<IssuerState>,
    _refresh: Task,
}

struct IssuerState {
    keys: ArcSwapOption<FetchedJwks>,
    /// Signals a token with an unknown key.
    wish: Notify,
    /// Time of the last attempt, successful or not.
    attempted: watch::Sender<Option<Instant>>,
    /// Minimum interval between fetches triggered by tokens.
    pause: Duration,
}

struct FetchedJwks {
    keys: Jwks,
    at: Instant,
}

/// Result of looking up a token's key.
pub(super) enum JwkLookup {
    Key(Jwk),
    Unknown,
    /// No keys of the issuer are available.
    Unreachable,
}

impl Issuer {
    /// Must be called within a runtime.
    pub(super) fn new(auth: &OidcConfig, pause: Duration) -> Self {
        let shared = Arc::new(IssuerState {
            keys: ArcSwapOption::empty(),
            wish: Notify::new(),
            attempted: watch::Sender::new(None),
            pause,
        });
        let refresher = JwksRefresher {
            issuer: auth.issuer.clone(),
            jwks_url: auth.jwks_url.clone(),
            shared: Arc::clone(&shared),
        };
        Self { shared, _refresh: tasks::spawn("issuer", refresher.run()) }
    }

    /// The key that signed the token. If it is unknown, triggers a fetch and waits, with a timeout.
    pub(super) async fn find(&self, token: &Jwt<'_>) -> JwkLookup {
        // Subscribe first: a fetch that finishes after this point is waited for, and the cooldown
        // that it starts does not apply to this token.
        let mut attempted = self.shared.attempted.subscribe();
        let rest = self.shared.rest();
        match self.shared.look(token) {
            JwkLookup::Unknown if !rest.is_zero() => return JwkLookup::Unknown,
            JwkLookup::Unknown | JwkLookup::Unreachable => {}
            found @ JwkLookup::Key(_) => return found,
        }
        self.shared.wish.notify_waiters();
        // Successful or not, use the keys that are cached now.
        let _ = tokio::time::timeout(JWKS_WAIT_TIMEOUT, attempted.changed()).await;
        self.shared.look(token)
    }
}

impl IssuerState {
    fn look(&self, token: &Jwt<'_>) -> JwkLookup {
        let fetched = self.keys.load();
        let Some(fetched) = fetched.as_ref() else { return JwkLookup::Unreachable };
        let age = SystemClock.now().saturating_duration_since(fetched.at);
        match fetched.keys.find(token.algorithm, token.kid.as_deref()) {
            _ if age >= STALE => JwkLookup::Unreachable,
            Some(key) => JwkLookup::Key(key.clone()),
            None => JwkLookup::Unknown,
        }
    }

    /// Remaining cooldown before a token may trigger a fetch. Failures count as well: otherwise
    /// anybody could make us flood an issuer that is in trouble.
    fn rest(&self) -> Duration {
        let since = |at| SystemClock.now().saturating_duration_since(at);
        let attempted = *self.attempted.borrow();
        attempted.map_or(Duration::ZERO, |at| self.pause.saturating_sub(since(at)))
    }
}

/// Why the keys of an issuer cannot be fetched.
#[derive(Debug, thiserror::Error)]
enum JwksError {
    #[error(transparent)]
    Client(#[from] FetchError),
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    #[error(transparent)]
    Url(#[from] OauthUrlError),
    #[error("`{url}` answered {status}")]
    Status { url: String, status: StatusCode },
    #[error("`{url}` has no key set")]
    NoKeySet { url: String },
    #[error("`{url}` has no usable key")]
    NoUsableKey { url: String },
    #[error("`{url}` has no metadata")]
    NoMetadata { url: String },
    #[error("`{url}` is of another issuer")]
    OtherIssuer { url: String },
    #[error("`{url}` has no `jwks_uri`")]
    NoJwksUri { url: String },
}

/// Fetches the keys periodically.
struct JwksRefresher {
    issuer: String,
    jwks_url: Option<String>,
    shared: Arc<IssuerState>,
}

impl JwksRefresher {
    async fn run(self) {
        let mut retry = FIRST_RETRY;
        loop {
            let wait = match self.fetch().await {
                Ok(keys) => {
                    tracing::debug!(issuer = %self.issuer, keys = keys.len(), "keys were fetched");
                    let at = SystemClock.now();
                    self.shared.keys.store(Some(Arc::new(FetchedJwks { keys, at })));
                    retry = FIRST_RETRY;
                    REFRESH
                }
                Err(error) => {
                    tracing::warn!(issuer = %self.issuer, %error, "cannot fetch the keys");
                    let wait = retry;
                    retry = (retry * 2).min(LAST_RETRY);
                    wait
                }
            };
            // Register before publishing, so that no signal in between is lost.
            let wish = self.shared.wish.notified();
            self.shared.attempted.send_replace(Some(SystemClock.now()));
            let wished = async {
                wish.await;
                tokio::time::sleep(self.shared.rest()).await;
            };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = wished => {}
            }
        }
    }

    async fn fetch(&self) -> Result<Jwks, JwksError> {
        let client = OperatorHttpClient::new(self.jwks_url.as_deref().unwrap_or(&self.issuer))?;
        let url = match &self.jwks_url {
            Some(url) => url.clone(),
            None => self.discover(&client).await?,
        };
        let response = client.get(&url).await?;
        if !response.status.is_success() {
            return Err(JwksError::Status { url, status: response.status });
        }
        let Some(keys) = response.body.as_ref().and_then(Jwks::read) else {
            return Err(JwksError::NoKeySet { url });
        };
        match keys.len() {
            0 => Err(JwksError::NoUsableKey { url }),
            _ => Ok(keys),
        }
    }

    /// The JWKS URL from the issuer's metadata.
    async fn discover(&self, client: &OperatorHttpClient) -> Result<String, JwksError> {
        let issuer = OauthUrl::parse(&self.issuer)?;
        let first = issuer.append_well_known("openid-configuration");
        match self.discover_at(client, &issuer, first).await {
            // The document is not there: it may have the name that OAuth gives it.
            Err(JwksError::Exchange(_) | JwksError::Status { .. }) => {
                let second = issuer.insert_well_known("oauth-authorization-server");
                self.discover_at(client, &issuer, second).await
            }
            found => found,
        }
    }

    async fn discover_at(
        &self,
        client: &OperatorHttpClient,
        issuer: &OauthUrl,
        url: String,
    ) -> Result<String, JwksError> {
        let response = client.get(&url).await?;
        if !response.status.is_success() {
            return Err(JwksError::Status { url, status: response.status });
        }
        let Some(metadata) = response.body else { return Err(JwksError::NoMetadata { url }) };
        // Metadata of another issuer must not supply keys for this one.
        if metadata["issuer"].as_str() != Some(&self.issuer) {
            return Err(JwksError::OtherIssuer { url });
        }
        let Some(keys) = metadata["jwks_uri"].as_str() else {
            return Err(JwksError::NoJwksUri { url });
        };
        OauthUrl::parse(keys)?.may_get_secrets_from(issuer)?;
        Ok(keys.to_owned())
    }
}
