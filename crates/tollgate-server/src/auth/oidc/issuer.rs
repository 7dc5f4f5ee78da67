//! The keys of a JWT issuer (JWKS): fetched by one task, read by everybody.
//!
//! A token signed by a key that is not known makes the task fetch again, but only after a cooldown;
//! while the issuer is away, the keys that are known go on counting.

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

/// Keys that an issuer took back are forgotten by then.
const REFRESH: Duration = Duration::from_secs(600);
/// So soon after a failure it is tried again; each time twice as late, up to the last.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);
/// How long a request waits for keys that are being fetched.
const JWKS_WAIT_TIMEOUT: Duration = Duration::from_secs(5);
/// Without a word from the issuer its keys count no longer.
const STALE: Duration = Duration::from_secs(86_400);

pub(super) struct Issuer {
    shared: Arc<IssuerState>,
    _keeper: Task,
}

struct IssuerState {
    keys: ArcSwapOption<FetchedJwks>,
    /// Somebody brought a token by a key that is not known.
    wish: Notify,
    /// When it was last tried, well or not.
    attempted: watch::Sender<Option<Instant>>,
    /// Whatever tokens say, the issuer is not asked more often.
    pause: Duration,
}

struct FetchedJwks {
    keys: Jwks,
    at: Instant,
}

/// What there is of the key of a token.
pub(super) enum JwkLookup {
    Key(Jwk),
    Unknown,
    /// Nothing is known of the issuer's keys.
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

    /// The key that signed the token. Asks the issuer again if it is not known, and waits, bounded.
    pub(super) async fn find(&self, token: &Jwt<'_>) -> JwkLookup {
        // Before anything is looked at: keys that come after that are waited for, and the rest
        // that begins with them is none for this token.
        let mut attempted = self.shared.attempted.subscribe();
        let rest = self.shared.rest();
        match self.shared.look(token) {
            JwkLookup::Unknown if !rest.is_zero() => return JwkLookup::Unknown,
            JwkLookup::Unknown | JwkLookup::Unreachable => {}
            found @ JwkLookup::Key(_) => return found,
        }
        self.shared.wish.notify_waiters();
        // Whether it came or not, what is known then is all there is.
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

    /// How long no token makes the issuer be asked again. A failure counts as well: otherwise any
    /// stranger could make us ask an issuer that is in trouble without end.
    fn rest(&self) -> Duration {
        let since = |at| SystemClock.now().saturating_duration_since(at);
        let attempted = *self.attempted.borrow();
        attempted.map_or(Duration::ZERO, |at| self.pause.saturating_sub(since(at)))
    }
}

/// Fetches the keys again and again.
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
            // Listens before it tells: a wish that comes in between is heard.
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
        let fetch = OperatorHttpClient::new(self.jwks_url.as_deref().unwrap_or(&self.issuer))?;
        let url = match &self.jwks_url {
            Some(url) => url.clone(),
            None => self.discover(&fetch).await?,
        };
        let answer = fetch.get(&url).await?;
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

    /// Where the metadata of the issuer says that its keys are.
    async fn discover(&self, fetch: &OperatorHttpClient) -> Result<String, String> {
        let issuer = OauthUrl::parse(&self.issuer)?;
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
                    trouble = error;
                    continue;
                }
            };
            let body = answer.body.ok_or_else(|| format!("`{url}` has no metadata"))?;
            // Whoever speaks for another issuer must not give us its keys.
            if body["issuer"].as_str() != Some(&self.issuer) {
                return Err(format!("`{url}` is of another issuer"));
            }
            let keys = body["jwks_uri"].as_str();
            let keys = keys.ok_or_else(|| format!("`{url}` has no `jwks_uri`"))?;
            OauthUrl::parse(keys)?.may_get_secrets_from(&issuer)?;
            return Ok(keys.to_owned());
        }
        Err(trouble)
    }
}
