//! Authentication: from a request to its caller.
//!
//! Only the credentials decide: a key or the admin token in a header, or nothing on loopback while
//! no keys exist. Keys are known by their SHA-256 only. They can be replaced while requests are
//! served.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use arc_swap::{ArcSwap, ArcSwapOption};
use axum::response::Response;
use http::StatusCode;
use http::request::Parts;
use parking_lot::Mutex;
use tollgate_core::secret::Secret;
use tollgate_engine::clock::Clock;
use tollgate_store::Store;
use tollgate_store::keys::StoredKey;

use crate::api_error::{ApiError, ApiErrorFormat};

mod caller;
pub(crate) mod client_secret;
pub(crate) mod client_secrets;
pub(crate) mod credentials;
mod fingerprint;
mod key;
mod key_snapshot;
pub mod keyring;
mod lease;
pub(crate) mod logins;
pub mod oidc;
mod rights;
pub mod secret;

pub(crate) use caller::{AuthenticatedCaller, ResolvedIdentity};
pub(crate) use credentials::refuse_keys_in_query;
pub use fingerprint::Fingerprint;
use key::AccessPermissions;
pub use key::{ApiKey, FormerSecret};
pub(crate) use lease::CallerLease;
pub(crate) use logins::{ConnectionPeer, TransportSecurity, line};
pub(crate) use rights::{CallerReach, NO_RIGHT};
pub use rights::{KeyRole, Right, Rights};

use client_secret::{ClientSecretGrant, stored};
use client_secrets::ClientSecrets;
use key_snapshot::{KeySnapshot, KeylessPolicy};
use keyring::{KeySummary, Keyring, KeyringError};
use logins::{BrowserLogins, LoginCookie};
use oidc::{Oidc, OidcConfig, resource};

/// Authenticates requests. Its rules change while requests are served. A caller that loses access
/// loses its sessions and streams.
pub(crate) struct Authenticator {
    known: ArcSwap<KeySnapshot>,
    /// Sources of the keys. Every change holds this lock.
    sources: Mutex<KeySources>,
    /// Held while stored keys are read, so that an older state never overwrites a newer one. The
    /// disk may be slow: no task that serves requests takes this lock.
    refreshing: Mutex<()>,
    /// Creates keys, if this process can.
    pub(crate) keyring: Option<Arc<Keyring>>,
    admin: Option<Fingerprint>,
    /// Issuer whose tokens are accepted as well.
    oidc: ArcSwapOption<Oidc>,
    issuer_pause: Duration,
    /// Whether only this machine can connect.
    loopback: AtomicBool,
    clock: Arc<dyn Clock>,
    /// Browsers that exchanged a key for a cookie.
    logins: BrowserLogins,
    client_secrets: ClientSecrets,
}

#[derive(Debug, Default)]
struct KeySources {
    configured: Vec<ApiKey>,
    /// Including revoked keys.
    made: Vec<StoredKey>,
    /// A key was created before, even if the database has lost it.
    is_required: bool,
}

/// Credentials accepted beside the keys of the config.
#[derive(Clone, Default)]
pub(crate) struct AuthenticatorOptions {
    pub(crate) keyring: Option<Arc<Keyring>>,
    pub(crate) admin: Option<Fingerprint>,
    /// Minimum interval between two fetches of an issuer's keys.
    pub(crate) issuer_pause: Duration,
}

const NO_KEY: ApiError = ApiError::new(
    StatusCode::UNAUTHORIZED,
    "no_key",
    "send a key as `authorization: Bearer …` or `x-api-key`",
);
const WRONG_KEY: ApiError =
    ApiError::new(StatusCode::UNAUTHORIZED, "wrong_key", "this key is unknown");
const MISTYPED_KEY: ApiError = ApiError::new(
    StatusCode::UNAUTHORIZED,
    "mistyped_key",
    "this key is malformed: a character is wrong or missing",
);
const EXPIRED_KEY: ApiError = ApiError::new(
    StatusCode::UNAUTHORIZED,
    "expired_key",
    "this key has expired; request a new one",
);

impl Authenticator {
    /// Without keys. Accepts local callers once [`Self::only_loopback`] was called.
    pub(crate) fn new(clock: Arc<dyn Clock>, lock: AuthenticatorOptions) -> Self {
        let AuthenticatorOptions { keyring, admin, issuer_pause } = lock;
        Self {
            known: ArcSwap::from_pointee(KeySnapshot::empty()),
            sources: Mutex::default(),
            refreshing: Mutex::default(),
            keyring,
            admin,
            oidc: ArcSwapOption::empty(),
            issuer_pause,
            loopback: AtomicBool::new(false),
            clock,
            logins: BrowserLogins::default(),
            client_secrets: ClientSecrets::default(),
        }
    }

    /// Replaces the keys of the config and the token issuer in one step, so access is never open in
    /// between. Credentials that did not change keep their sessions and streams. Must be called
    /// within a runtime.
    pub(crate) fn configure(&self, keys: Vec<ApiKey>, auth: Option<OidcConfig>) {
        let mut sources = self.sources.lock();
        sources.configured = keys;
        let before = self.oidc.load_full();
        if before.as_ref().map(|oidc| &oidc.auth) != auth.as_ref() {
            let trusted = auth.map(|auth| Arc::new(Oidc::new(auth, self.issuer_pause)));
            self.oidc.store(trusted.clone());
            before.iter().for_each(|before| before.give_way(trusted.as_deref()));
        }
        self.publish(&sources);
    }

    /// Ends the leases of credentials that have expired.
    pub(crate) fn expire(&self) {
        self.known.load().expire(self.clock.wall());
    }

    pub(crate) fn oidc(&self) -> Option<Arc<Oidc>> {
        self.oidc.load_full()
    }

    /// Reads the stored keys. May block.
    pub(crate) fn refresh(&self) -> Result<(), KeyringError> {
        let Some(keyring) = &self.keyring else { return Ok(()) };
        let _order = self.refreshing.lock();
        let made = keyring.load()?;
        let is_required = keyring.is_required()?;
        let mut sources = self.sources.lock();
        if made != sources.made || is_required != sources.is_required {
            (sources.made, sources.is_required) = (made, is_required);
            self.publish(&sources);
        }
        Ok(())
    }

    fn publish(&self, sources: &KeySources) {
        let KeySources { configured, made, is_required } = sources;
        let is_configured = |made: &&StoredKey| configured.iter().any(|key| key.name == made.name);
        let in_force = made.iter().filter(|made| made.revoked.is_none() && !is_configured(made));
        let keys: Vec<ApiKey> =
            configured.iter().cloned().chain(in_force.filter_map(keyring::key)).collect();
        // Once a key was created, losing it must not open the gateway to everyone.
        let is_open = made.is_empty() && !is_required && self.oidc.load().is_none();
        let without_keys = if is_open { KeylessPolicy::ThisMachine } else { KeylessPolicy::Nobody };
        let before = self.known.load_full();
        self.known.store(Arc::new(before.followed_by(&keys, without_keys)));
    }

    /// All keys, including revoked ones, for display.
    pub(crate) fn key_summaries(&self) -> Vec<KeySummary> {
        let sources = self.sources.lock();
        let used = self.known.load().last_uses();
        let configured = sources.configured.iter().map(KeySummary::from_config);
        let made = sources.made.iter().map(KeySummary::from_stored);
        let all = configured.chain(made).map(|shown| shown.with_use(&used));
        all.collect()
    }

    pub(crate) fn is_configured(&self, name: &str) -> bool {
        self.sources.lock().configured.iter().any(|key| key.name == name)
    }

    /// Stores when keys were last used. May block.
    pub(crate) fn keep_use(&self) -> Result<(), KeyringError> {
        let Some(keyring) = &self.keyring else { return Ok(()) };
        let used: Vec<(String, SystemTime)> = self.known.load().last_uses().into_iter().collect();
        keyring.keep_use(&used)
    }

    /// Keys were created, but the database has none of them.
    pub(crate) fn are_lost(&self) -> bool {
        let sources = self.sources.lock();
        sources.is_required && sources.made.is_empty()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.known.load().passer_by().is_some()
    }

    /// Only this machine can connect: without any keys, accept it.
    pub(crate) fn only_loopback(&self) {
        self.loopback.store(true, Ordering::Relaxed);
    }

    /// Authenticates a request. Waits, with a timeout, only for the keys of an issuer.
    pub(crate) async fn admit(&self, request: &Parts) -> Result<AuthenticatedCaller, ApiError> {
        let presented = credentials::read_credential(&request.headers)?;
        if let Some(secret) = presented
            && let Some(found) =
                self.client_secrets.admit(secret, request.uri.path(), self.clock.wall())
        {
            return match found {
                Err(problem) if problem.code == client_secrets::UNKNOWN.code => {
                    self.restore_client_secret(secret, request.uri.path()).await
                }
                found => found,
            };
        }
        match (presented, self.oidc()) {
            (Some(token), Some(oidc)) if Oidc::is_token(token) => {
                let admitted = oidc.admit(token, request.uri.path(), self.clock.wall()).await?;
                // The rules may have changed meanwhile: apply the new ones, or refuse.
                match (admitted, self.oidc()) {
                    (Some(visitor), _) => Ok(visitor),
                    (None, Some(now)) => {
                        let again = now.admit(token, request.uri.path(), self.clock.wall()).await?;
                        again.ok_or(oidc::UNREACHABLE)
                    }
                    (None, None) => Err(NO_KEY),
                }
            }
            (Some(key), _) => self.admit_key(key),
            (None, _) => match self.logins.read_login(request, self.clock.wall())? {
                Some(login) => {
                    let holder = self.holder(&login.key).unwrap_or(Err(NO_KEY))?;
                    Ok(holder.for_no_longer_than(&login.term, login.until))
                }
                None => self.passer_by().ok_or(NO_KEY),
            },
        }
    }

    fn admit_key(&self, presented: &[u8]) -> Result<AuthenticatedCaller, ApiError> {
        let found = self.holder(&Fingerprint::of(presented));
        // Clients that cannot work without a key send one even where none is needed.
        found.unwrap_or_else(|| self.passer_by().ok_or_else(|| unknown(presented)))
    }

    /// The caller that holds the key with this fingerprint.
    fn holder(&self, key: &Fingerprint) -> Option<Result<AuthenticatedCaller, ApiError>> {
        if self.admin.as_ref().is_some_and(|admin| admin.is(key)) {
            return Some(Ok(AuthenticatedCaller::admin()));
        }
        let known = self.known.load();
        let found = known.find(key)?;
        let now = self.clock.wall();
        Some(if found.is_over(now) { Err(EXPIRED_KEY) } else { Ok(found.visitor(now)) })
    }

    /// The holder of the key with this name, for callers that prove themselves in another way.
    pub(crate) fn key_holder(&self, name: &str) -> Option<Result<AuthenticatedCaller, ApiError>> {
        let known = self.known.load();
        let found = known.holder_named(name)?;
        let is_over = found.lease.until().is_some_and(|until| self.clock.wall() >= until);
        Some(if is_over { Err(EXPIRED_KEY) } else { Ok(found) })
    }

    /// The caller without a key, where none is needed.
    fn passer_by(&self) -> Option<AuthenticatedCaller> {
        let is_near = self.loopback.load(Ordering::Relaxed);
        self.known.load().passer_by().filter(|_| is_near).cloned()
    }

    /// Exchanges a valid key for a login.
    pub(crate) fn log_in(
        &self,
        key: &str,
        sent: &Parts,
    ) -> Result<(AuthenticatedCaller, Option<LoginCookie>), ApiError> {
        let fingerprint = Fingerprint::of(key.as_bytes());
        let known = self.holder(&fingerprint);
        let visitor = known.unwrap_or_else(|| Err(unknown(key.as_bytes())))?;
        Ok((visitor, self.logins.open(fingerprint, sent, self.clock.wall())))
    }

    /// A client secret for this caller, and when it expires.
    pub(crate) async fn issue_client_secret(
        &self,
        caller: &AuthenticatedCaller,
        grant: ClientSecretGrant,
        lifetime: Duration,
    ) -> Result<(Secret, SystemTime), ApiError> {
        let now = self.clock.wall();
        let secret = self.client_secrets.issue(caller, grant, lifetime, now)?;
        let key = self.known.load().presented_key(&caller.lease).copied();
        if let (Some(keyring), Some(key)) = (&self.keyring, key) {
            self.client_secrets.keep(keyring.store(), &secret, &key, now).await;
        }
        Ok((secret, now + lifetime))
    }

    /// A client secret that an earlier process issued, if its key is still in force.
    async fn restore_client_secret(
        &self,
        presented: &[u8],
        path: &str,
    ) -> Result<AuthenticatedCaller, ApiError> {
        let Some(keyring) = &self.keyring else { return Err(client_secrets::UNKNOWN) };
        let fingerprint = *Fingerprint::of(presented).as_bytes();
        let load = move |store: &Store| store.client_secrets().load(fingerprint);
        let stored = stored::run_blocking(keyring.store(), load).await?;
        let stored = stored.ok_or(client_secrets::UNKNOWN)?;
        let is_its_key = |key: &Fingerprint| stored::bind(presented, key) == stored.binding;
        let now = self.clock.wall();
        let holder = self.known.load().holder_of(is_its_key, now);
        let holder = holder.ok_or(client_secrets::UNKNOWN)?;
        if !self.client_secrets.restore(keyring.store(), &stored, &holder) {
            return Err(client_secrets::UNKNOWN);
        }
        let found = self.client_secrets.admit(presented, path, now);
        found.unwrap_or(Err(client_secrets::UNKNOWN))
    }

    /// A cookie that clears the login cookie.
    pub(crate) fn log_out(&self, sent: &Parts) -> String {
        self.logins.close(sent)
    }

    /// The CSRF token of the request's login and its expiry, if the request was authenticated by a
    /// login.
    pub(crate) fn login(&self, sent: &Parts) -> Option<(String, SystemTime)> {
        let by_key = credentials::read_credential(&sent.headers).is_ok_and(|key| key.is_some());
        let login = self.logins.read_login(sent, self.clock.wall()).ok().flatten();
        login.filter(|_| !by_key).map(|login| (login.proof, login.until))
    }

    /// Adds a `WWW-Authenticate` challenge, which names a missing scope.
    pub(crate) fn add_auth_challenge(
        &self,
        response: Response,
        visitor: &AuthenticatedCaller,
        path: &str,
    ) -> Response {
        match (response.status(), self.oidc()) {
            (StatusCode::FORBIDDEN, Some(oidc)) if visitor.has_token() => {
                resource::stepping_up(response, &oidc, visitor, path)
            }
            (StatusCode::UNAUTHORIZED, _) => resource::asking(response),
            _ => response,
        }
    }

    /// The refusal, with a challenge that says how to authenticate.
    pub(crate) fn refuse(&self, problem: &ApiError, path: &str) -> Response {
        let response = problem.response(ApiErrorFormat::of(path));
        resource::challenging(response, self.oidc().as_deref(), problem, path)
    }

    /// The caller that this request was authenticated as.
    pub(crate) fn visitor(&self, request: &Parts) -> Result<AuthenticatedCaller, ApiError> {
        request.extensions.get::<AuthenticatedCaller>().cloned().ok_or(NO_KEY)
    }
}

/// Distinguishes a mistyped key from a foreign one by its checksum, without a lookup.
fn unknown(presented: &[u8]) -> ApiError {
    match std::str::from_utf8(presented).map(secret::check) {
        Ok(secret::SecretCheck::Mistyped) => MISTYPED_KEY,
        Ok(secret::SecretCheck::Sound | secret::SecretCheck::Foreign) | Err(_) => WRONG_KEY,
    }
}

#[cfg(test)]
mod tests;
