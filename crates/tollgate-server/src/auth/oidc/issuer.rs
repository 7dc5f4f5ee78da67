//! The keys of an issuer: fetched by one task, read by everybody. A token signed by a key that is
//! not known makes the task look again, but not more often than it should; while the issuer is
//! away, the keys that are known go on counting.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use tokio::sync::{Notify, watch};
use tollgate_engine::clock::{Clock, SystemClock};
use tollgate_engine::web::fetch::Fetch;
use tollgate_engine::web::place::Place;
use tollgate_mcp::tasks::{self, Task};

use super::Auth;
use super::jwk::{Jwk, Jwks};
use super::token::Token;

/// Keys that an issuer took back are forgotten by then.
const REFRESH: Duration = Duration::from_secs(600);
/// So soon after a failure it is tried again; each time twice as late, up to the last.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);
/// How long a request waits for keys that are being fetched.
const PATIENCE: Duration = Duration::from_secs(5);
/// Without a word from the issuer its keys count no longer.
const STALE: Duration = Duration::from_secs(86_400);

pub(super) struct Issuer {
    shared: Arc<Shared>,
    _keeper: Task,
}

struct Shared {
    keys: ArcSwapOption<Fetched>,
    /// Somebody brought a token by a key that is not known.
    wish: Notify,
    /// When it was last tried, well or not.
    attempted: watch::Sender<Option<Instant>>,
    /// Whatever tokens say, the issuer is not asked more often.
    pause: Duration,
}

struct Fetched {
    keys: Jwks,
    at: Instant,
}

/// What there is of the key of a token.
pub(super) enum Found {
    Key(Jwk),
    Unknown,
    /// Nothing is known of the issuer's keys.
    Unreachable,
}

impl Issuer {
    /// Must be called within a runtime.
    pub(super) fn new(auth: &Auth, pause: Duration) -> Self {
        let shared = Arc::new(Shared {
            keys: ArcSwapOption::empty(),
            wish: Notify::new(),
            attempted: watch::Sender::new(None),
            pause,
        });
        let keeper = Keeper {
            issuer: auth.issuer.clone(),
            jwks_url: auth.jwks_url.clone(),
            shared: Arc::clone(&shared),
        };
        Self { shared, _keeper: tasks::spawn("issuer", keeper.run()) }
    }

    /// The key that signed the token. Asks the issuer again if it is not known, and waits, bounded.
    pub(super) async fn find(&self, token: &Token<'_>) -> Found {
        // Before anything is looked at: keys that come after that are waited for, and the rest
        // that begins with them is none for this token.
        let mut attempted = self.shared.attempted.subscribe();
        let rest = self.shared.rest();
        match self.shared.look(token) {
            Found::Unknown if !rest.is_zero() => return Found::Unknown,
            Found::Unknown | Found::Unreachable => {}
            found @ Found::Key(_) => return found,
        }
        self.shared.wish.notify_waiters();
        // Whether it came or not, what is known then is all there is.
        let _ = tokio::time::timeout(PATIENCE, attempted.changed()).await;
        self.shared.look(token)
    }
}

impl Shared {
    fn look(&self, token: &Token<'_>) -> Found {
        let fetched = self.keys.load();
        let Some(fetched) = fetched.as_ref() else { return Found::Unreachable };
        let age = SystemClock.now().saturating_duration_since(fetched.at);
        match fetched.keys.find(token) {
            _ if age >= STALE => Found::Unreachable,
            Some(key) => Found::Key(key.clone()),
            None => Found::Unknown,
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
struct Keeper {
    issuer: String,
    jwks_url: Option<String>,
    shared: Arc<Shared>,
}

impl Keeper {
    async fn run(self) {
        let mut retry = FIRST_RETRY;
        loop {
            let wait = match self.fetch().await {
                Ok(keys) => {
                    tracing::debug!(issuer = %self.issuer, keys = keys.len(), "keys were fetched");
                    let at = SystemClock.now();
                    self.shared.keys.store(Some(Arc::new(Fetched { keys, at })));
                    retry = FIRST_RETRY;
                    REFRESH
                }
                Err(error) => {
                    tracing::warn!(issuer = %self.issuer, %error, "no keys could be fetched");
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
        let fetch = Fetch::new(self.jwks_url.as_deref().unwrap_or(&self.issuer))?;
        let url = match &self.jwks_url {
            Some(url) => url.clone(),
            None => self.discover(&fetch).await?,
        };
        let answer = fetch.get(&url).await?;
        if !answer.status.is_success() {
            return Err(format!("`{url}` answered {}", answer.status));
        }
        let keys = answer.body.as_ref().and_then(Jwks::read);
        let keys = keys.ok_or_else(|| format!("`{url}` has no set of keys"))?;
        match keys.len() {
            0 => Err(format!("`{url}` has no key that can be used")),
            _ => Ok(keys),
        }
    }

    /// Where the metadata of the issuer says that its keys are.
    async fn discover(&self, fetch: &Fetch) -> Result<String, String> {
        let issuer = Place::parse(&self.issuer)?;
        let places = [
            issuer.appended("openid-configuration"),
            issuer.inserted("oauth-authorization-server"),
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
                return Err(format!("`{url}` speaks for another issuer"));
            }
            let keys = body["jwks_uri"].as_str();
            let keys = keys.ok_or_else(|| format!("`{url}` has no `jwks_uri`"))?;
            Place::parse(keys)?.may_get_secrets_from(&issuer)?;
            return Ok(keys.to_owned());
        }
        Err(trouble)
    }
}
