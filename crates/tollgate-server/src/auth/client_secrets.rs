//! Client secrets: short-lived credentials for browsers. Each is bound to the caller who requested
//! it, one agent, one model and a session configuration, and opens live sessions only.
//!
//! They are known by their SHA-256 only. Those that were requested with a key survive a restart.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::StatusCode;
use parking_lot::Mutex;
use tollgate_core::secret::Secret;
use tollgate_core::turn::Principal;
use tollgate_store::Store;
use tollgate_store::client_secrets::{MEMORY_OF_EXPIRED, StoredClientSecret};

use super::client_secret::stored::{self, SecretStorage};
use super::client_secret::{ClientSecret, ClientSecretGrant};
use super::secret::{self, SecretCheck, SecretKind};
use super::{AuthenticatedCaller, Fingerprint};
use crate::api_error::ApiError;

/// The only paths that a client secret opens.
pub(crate) const CLIENT_SECRET_PATHS: [&str; 2] = ["/v1/realtime", "/v1/realtime/calls"];

/// Valid secrets, of all callers and of one.
const MAX_SECRETS: usize = 20_000;
const MAX_SECRETS_PER_PRINCIPAL: usize = 2_000;
/// Session configurations of all secrets together, and of one caller.
const MAX_CONFIG_BYTES: usize = 32 << 20;
const MAX_CONFIG_BYTES_PER_PRINCIPAL: usize = MAX_CONFIG_BYTES / 4;
/// When to ask for a secret again if the caller has too many.
const RETRY_WHEN_FULL: Duration = Duration::from_secs(10);

pub(super) const UNKNOWN: ApiError = ApiError::new(
    StatusCode::UNAUTHORIZED,
    "wrong_key",
    "this client secret is unknown: it was revoked, or it expired long ago; request a new one from \
     `/v1/realtime/client_secrets`",
);
const MISTYPED: ApiError = ApiError::new(
    StatusCode::UNAUTHORIZED,
    "mistyped_key",
    "this client secret is malformed: a character is wrong or missing",
);
const EXPIRED: ApiError = ApiError::new(
    StatusCode::UNAUTHORIZED,
    "expired_client_secret",
    "this client secret has expired; request a new one from `/v1/realtime/client_secrets`",
);
const OTHER_PATH: ApiError = ApiError::new(
    StatusCode::FORBIDDEN,
    "not_for_client_secrets",
    "a client secret opens live sessions only: `POST /v1/realtime/calls` and the WebSocket \
     `/v1/realtime`",
);

#[derive(Default)]
pub(super) struct ClientSecrets {
    issued: Mutex<HashMap<u128, IssuedSecret>>,
}

struct IssuedSecret {
    fingerprint: Fingerprint,
    /// The caller who requested it, as far as the secret goes.
    caller: AuthenticatedCaller,
    secret: Arc<ClientSecret>,
}

impl ClientSecrets {
    /// A new secret for this caller.
    pub(super) fn issue(
        &self,
        caller: &AuthenticatedCaller,
        grant: ClientSecretGrant,
        lifetime: Duration,
        now: SystemTime,
    ) -> Result<Secret, ApiError> {
        let mut issued = self.issued.lock();
        issued.retain(|_, it| !it.is_forgettable(now));
        check_share(&issued, &caller.principal, grant.session_bytes, now)?;
        make_room(&mut issued, grant.session_bytes, now);
        let text = secret::make(SecretKind::Client).ok_or_else(no_randomness)?;
        let fingerprint = Fingerprint::of(text.reveal().as_bytes());
        let until = now + lifetime;
        let secret = ClientSecret::new(grant, until);
        issued.insert(fingerprint.place(), IssuedSecret::new(fingerprint, caller, secret));
        Ok(text)
    }

    /// Stores a secret that was just issued to the holder of a key. If that fails, it does not
    /// survive a restart.
    pub(super) async fn keep(
        &self,
        store: &Arc<Store>,
        text: &Secret,
        key: &Fingerprint,
        now: SystemTime,
    ) {
        let fingerprint = Fingerprint::of(text.reveal().as_bytes());
        let found = self.issued.lock().get(&fingerprint.place()).map(|it| Arc::clone(&it.secret));
        let Some(secret) = found else { return };
        let binding = stored::bind(text.reveal().as_bytes(), key);
        let row = secret.grant.to_stored(&fingerprint, binding, secret.until);
        let kept = stored::run_blocking(store, move |store| store.client_secrets().keep(&row, now));
        if kept.await.is_ok() {
            let _ = secret.storage.set(SecretStorage::new(store, fingerprint));
        }
    }

    /// Adds a stored secret of this holder of a key; `false`: it allows nothing any more.
    pub(super) fn restore(
        &self,
        store: &Arc<Store>,
        stored: &StoredClientSecret,
        holder: &AuthenticatedCaller,
    ) -> bool {
        let Some(grant) = ClientSecretGrant::restore(stored, holder.agents()) else { return false };
        let fingerprint = Fingerprint::from_bytes(stored.fingerprint);
        let secret = ClientSecret::new(grant, stored.until);
        let _ = secret.storage.set(SecretStorage::new(store, fingerprint));
        let restored = IssuedSecret::new(fingerprint, holder, secret);
        self.issued.lock().entry(fingerprint.place()).or_insert(restored);
        true
    }

    /// The caller who requested this secret. `None`: it is no client secret.
    pub(super) fn admit(
        &self,
        presented: &[u8],
        path: &str,
        now: SystemTime,
    ) -> Option<Result<AuthenticatedCaller, ApiError>> {
        let text = std::str::from_utf8(presented).ok()?;
        text.starts_with(SecretKind::Client.prefix()).then(|| self.find(text, path, now))
    }

    fn find(
        &self,
        text: &str,
        path: &str,
        now: SystemTime,
    ) -> Result<AuthenticatedCaller, ApiError> {
        if secret::check(text) != SecretCheck::Sound {
            return Err(MISTYPED);
        }
        let fingerprint = Fingerprint::of(text.as_bytes());
        let issued = self.issued.lock();
        let found = issued.get(&fingerprint.place());
        let found = found.filter(|it| it.fingerprint.is(&fingerprint)).ok_or(UNKNOWN)?;
        if let Some(why) = found.caller.lease.terms().revocation() {
            return Err(ApiError::from_revocation(why));
        }
        if found.secret.until <= now || found.caller.lease.until().is_some_and(|it| it <= now) {
            return Err(EXPIRED);
        }
        if !CLIENT_SECRET_PATHS.contains(&path) {
            return Err(OTHER_PATH);
        }
        Ok(found.caller.clone())
    }
}

impl IssuedSecret {
    fn new(fingerprint: Fingerprint, holder: &AuthenticatedCaller, secret: ClientSecret) -> Self {
        let secret = Arc::new(secret);
        Self { fingerprint, caller: holder.with_client_secret(&secret), secret }
    }

    fn is_forgettable(&self, now: SystemTime) -> bool {
        self.secret.until + MEMORY_OF_EXPIRED <= now
    }

    /// What it takes of the room for all: a place, and bytes.
    fn share(&self) -> usize {
        MAX_CONFIG_BYTES / MAX_SECRETS + self.secret.grant.session_bytes
    }
}

/// The share of one caller.
fn check_share(
    issued: &HashMap<u128, IssuedSecret>,
    principal: &Principal,
    bytes: usize,
    now: SystemTime,
) -> Result<(), ApiError> {
    let is_own = |it: &&IssuedSecret| it.caller.principal == *principal && it.secret.until > now;
    let own = || issued.values().filter(is_own).map(|it| it.secret.grant.session_bytes);
    let used = own().sum::<usize>();
    if own().count() < MAX_SECRETS_PER_PRINCIPAL && used + bytes <= MAX_CONFIG_BYTES_PER_PRINCIPAL {
        return Ok(());
    }
    let detail = format!(
        "this key has as many valid client secrets as it may: {MAX_SECRETS_PER_PRINCIPAL}, with \
         session configurations of {MAX_CONFIG_BYTES_PER_PRINCIPAL} bytes; let them expire sooner \
         (`expires_after`)"
    );
    let status = StatusCode::TOO_MANY_REQUESTS;
    Err(ApiError::with_detail(status, "too_many_at_once", detail).later(RETRY_WHEN_FULL))
}

/// Forgets expired secrets, and then the oldest of the caller with the most: no caller is kept out
/// by the secrets of another.
fn make_room(issued: &mut HashMap<u128, IssuedSecret>, bytes: usize, now: SystemTime) {
    if has_room(issued, bytes) {
        return;
    }
    issued.retain(|_, it| it.secret.until > now);
    while !has_room(issued, bytes) {
        let mut shares: HashMap<&Principal, usize> = HashMap::new();
        for it in issued.values() {
            *shares.entry(&it.caller.principal).or_default() += it.share();
        }
        let most = shares.values().max().copied();
        let of_largest = |it: &&IssuedSecret| shares.get(&it.caller.principal).copied() == most;
        let oldest = issued.values().filter(of_largest).min_by_key(|it| it.secret.until);
        let Some(place) = oldest.map(|it| it.fingerprint.place()) else { return };
        issued.remove(&place);
    }
}

fn has_room(issued: &HashMap<u128, IssuedSecret>, bytes: usize) -> bool {
    let used = issued.values().map(|it| it.secret.grant.session_bytes).sum::<usize>();
    issued.len() < MAX_SECRETS && used + bytes <= MAX_CONFIG_BYTES
}

fn no_randomness() -> ApiError {
    let detail = "the system has no randomness for a secret; try again later";
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "keys_unavailable", detail)
}

#[cfg(test)]
mod tests;
