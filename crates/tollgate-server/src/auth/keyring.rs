//! Keyring: keys created by command and kept in the store. A secret is shown once, to the caller
//! that created the key. Only its fingerprint is stored. Every method may block.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tollgate_core::glob::Glob;
use tollgate_core::id::AgentId;
use tollgate_core::memory::MemoryName;
use tollgate_core::model_usage::ModelLimit;
use tollgate_core::rate::RateLimit;
use tollgate_core::secret::Secret;
use tollgate_core::turn::PrincipalGrant;
use tollgate_engine::clock::Clock;
use tollgate_store::Store;
use tollgate_store::keys::{KeyChange, StoredKey};

use super::secret::{self, SecretKind};
use super::{ApiKey, Fingerprint, FormerSecret, KeyRole, Right, Rights};

mod request;
mod summary;

pub use request::{KeyRequest, MAX_GRACE};
pub use summary::KeySummary;

pub struct Keyring {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    #[error("a key `{0}` already exists; revoke it first, or use another name")]
    Taken(String),
    #[error("there is no key `{0}`")]
    Unknown(String),
    #[error("there are active keys; revoke them first: `tollgate keys list`")]
    InForce,
    #[error("the system's random number generator failed")]
    NoRandomness,
    #[error("cannot read or write the keys: {0}")]
    Store(#[from] tollgate_store::Error),
}

/// A key that was just created. Its secret exists nowhere else.
#[derive(Debug)]
pub struct IssuedKey {
    pub shown: KeySummary,
    pub secret: Secret,
}

impl Keyring {
    pub fn new(store: Arc<Store>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub fn load(&self) -> Result<Vec<StoredKey>, KeyringError> {
        Ok(self.store.keys().load()?)
    }

    /// Whether a key is required: one was created, even if the database has lost it.
    pub fn is_required(&self) -> Result<bool, KeyringError> {
        Ok(self.store.keys().is_required()?)
    }

    /// Allows local access without a key again, unless a valid key exists.
    pub fn open(&self) -> Result<(), KeyringError> {
        if self.store.keys().forget()? { Ok(()) } else { Err(KeyringError::InForce) }
    }

    /// Number of valid keys.
    pub fn in_force(&self) -> Result<usize, KeyringError> {
        let now = self.clock.wall();
        let is_live = |key: &&StoredKey| {
            key.revoked.is_none() && key.expires.is_none_or(|expires| now < expires)
        };
        Ok(self.load()?.iter().filter(is_live).count())
    }

    pub fn make(&self, request: &KeyRequest) -> Result<IssuedKey, KeyringError> {
        let secret = secret::make(SecretKind::Key).ok_or(KeyringError::NoRandomness)?;
        let key = request.to_stored(fingerprint(&secret), self.clock.wall());
        match self.store.keys().keep(&key)? {
            KeyChange::Done => Ok(IssuedKey { shown: KeySummary::from_stored(&key), secret }),
            KeyChange::Taken | KeyChange::Missing => Err(KeyringError::Taken(key.name)),
        }
    }

    pub fn revoke(&self, name: &str) -> Result<(), KeyringError> {
        match self.store.keys().revoke(name, self.clock.wall())? {
            KeyChange::Done => Ok(()),
            KeyChange::Missing | KeyChange::Taken => Err(KeyringError::Unknown(name.to_owned())),
        }
    }

    /// A new secret for the same key. The previous one stays valid for `grace`.
    pub fn rotate(&self, name: &str, grace: Duration) -> Result<IssuedKey, KeyringError> {
        let secret = secret::make(SecretKind::Key).ok_or(KeyringError::NoRandomness)?;
        let until = (!grace.is_zero()).then(|| self.clock.wall() + grace.min(MAX_GRACE));
        let unknown = || KeyringError::Unknown(name.to_owned());
        match self.store.keys().rotate(name, fingerprint(&secret), until)? {
            KeyChange::Done => {
                let key = self.load()?.into_iter().find(|key| key.name == name);
                Ok(IssuedKey { shown: KeySummary::from_stored(&key.ok_or_else(unknown)?), secret })
            }
            KeyChange::Missing | KeyChange::Taken => Err(unknown()),
        }
    }

    pub fn keep_use(&self, used: &[(String, SystemTime)]) -> Result<(), KeyringError> {
        if used.is_empty() {
            return Ok(());
        }
        Ok(self.store.keys().record_uses(used)?)
    }

    /// Changes whenever another process may have created or revoked a key.
    pub(crate) fn version(&self) -> Result<(i64, bool), KeyringError> {
        Ok((self.store.data_version()?, self.is_required()?))
    }
}

fn fingerprint(secret: &Secret) -> [u8; 32] {
    *Fingerprint::of(secret.reveal().as_bytes()).as_bytes()
}

/// Converts a stored key. `None` for a row of another version that cannot be understood: its
/// restrictions are unknown, so it grants nothing.
pub(super) fn key(stored: &StoredKey) -> Option<ApiKey> {
    let former = stored
        .secret
        .former
        .map(|(bytes, until)| FormerSecret { fingerprint: Fingerprint::from_bytes(bytes), until });
    let rights: Option<Vec<Right>> = stored.rights.iter().map(|it| Right::parse(it)).collect();
    let agents: Option<Vec<AgentId>> = match &stored.agents {
        None => None,
        Some(names) => {
            Some(names.iter().map(|name| AgentId::parse(name).ok()).collect::<Option<_>>()?)
        }
    };
    let rate_limit = match &stored.rate_limit {
        None => None,
        Some(text) => Some(RateLimit::parse(text)?),
    };
    let model_limits = match &stored.model_limits {
        None => None,
        Some(texts) => {
            Some(texts.iter().map(|text| ModelLimit::parse(text)).collect::<Option<Vec<_>>>()?)
        }
    };
    let tenant = match &stored.tenant {
        None => None,
        Some(text) => Some(MemoryName::parse(text).ok()?),
    };
    let tools = stored.tools.as_deref().map(|globs| globs.iter().map(Glob::new).collect());
    Some(ApiKey {
        name: stored.name.clone(),
        fingerprint: Fingerprint::from_bytes(stored.secret.fingerprint),
        former,
        agents,
        role: KeyRole::parse(&stored.role)?,
        rights: rights?.into_iter().collect(),
        grant: PrincipalGrant {
            tools,
            rate_limit,
            model_limits,
            concurrent: stored.concurrent,
            tenant,
        },
        expires: stored.expires,
        made: Some(stored.made),
    })
}
