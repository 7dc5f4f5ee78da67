//! Keys of a JWT issuer (JWKS): fetched by one task, cached for all requests.
//!
//! A token signed by an unknown key triggers a new fetch, but only after a cooldown. While the
//! issuer is unreachable, the cached keys stay valid.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use tokio::sync::{Notify, watch};
use tollgate_engine::clock::{Clock, SystemClock};
use tollgate_engine::web::fetch::OperatorHttpClient;
use tollgate_engine::web::place::OauthUrl;
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
    _keeper: Task,
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
        let keeper = JwksRefresher {
            issuer: auth.issuer.clone(),
            jwks_url: auth.jwks_url.clone(),
            shared: Arc::clone(&shared),
        };
        Self { shared, _keeper: tasks::spawn("issuer", keeper.run()) }
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
        match fetched.keys.find(token) {
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

    async fn fetch(&self) -> Result<Jwks, String> {
        let fetch = OperatorHttpClient::new(self.jwks_url.as_deref().unwrap_or(&self.issuer))
            .map_err(|error| error.to_string())?;
        let url = match &self.jwks_url {
            Some(url) => url.clone(),
            None => self.discover(&fetch).await?,
        };
        let answer = fetch.get(&url).await.map_err(|error| error.to_string())?;
        if !answer.status.is_success() {
            return Err(format!("`{url}` answered {}", answer.status));
        }
        let keys = answer.body.as_ref().and_then(Jwks::read);
        let keys = keys.ok_or_else(|| format!("`{url}` has no key set"))?;
        match keys.len() {
            0 => Err(format!("`{url}` has no usable key")),
            _ => Ok(keys),
        }
    }

    /// The JWKS URL from the issuer's metadata.
    async fn discover(&self, fetch: &OperatorHttpClient) -> Result<String, String> {
        let issuer = OauthUrl::parse(&self.issuer).map_err(|error| error.to_string())?;
        let places = [
            issuer.append_well_known("openid-configuration"),
            issuer.insert_well_known("oauth-authorization-server"),
        ];
        let mut trouble = String::new();
        for url in places {
            let answer = match fetch.get(&url).await {
                Ok(answer) if answer.status.is_success() => answer,
                Ok(answer) => {
                    trouble = format!("`{url}` answered {}", answer.status);
                    continue;
                }
                Err(error) => {
                    trouble = error.to_string();
                    continue;
                }
            };
            let body = answer.body.ok_or_else(|| format!("`{url}` has no metadata"))?;
            // Metadata of another issuer must not supply keys for this one.
            if body["issuer"].as_str() != Some(&self.issuer) {
                return Err(format!("`{url}` is of another issuer"));
            }
            let keys = body["jwks_uri"].as_str();
            let keys = keys.ok_or_else(|| format!("`{url}` has no `jwks_uri`"))?;
            OauthUrl::parse(keys)
                .and_then(|keys| keys.may_get_secrets_from(&issuer))
                .map_err(|error| error.to_string())?;
            return Ok(keys.to_owned());
        }
        Err(trouble)
    }
}
