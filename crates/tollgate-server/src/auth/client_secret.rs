//! One client secret: what it allows, until when, and how often it has been used.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use http::StatusCode;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tollgate_core::budget::Tier;
use tollgate_core::filter::RequestFilter;
use tollgate_core::id::AgentId;

use super::CallerReach;
use crate::api_error::ApiError;

pub(super) mod stored;

use stored::SecretStorage;

const USED_UP: ApiError = ApiError::new(
    StatusCode::UNAUTHORIZED,
    "used_client_secret",
    "this client secret has been used as often as its `max_uses` allows; request a new one",
);

/// What a client secret allows, decided by the caller who requested it.
#[derive(Debug)]
pub(crate) struct ClientSecretGrant {
    pub(crate) agent: AgentId,
    /// The gateway's name of the model.
    pub(crate) model: String,
    /// Session configuration that a client may replace.
    pub(crate) session: Map<String, Value>,
    /// Approximate size of the configuration.
    pub(crate) session_bytes: usize,
    pub(crate) reach: CallerReach,
    pub(crate) narrow: RequestFilter,
    pub(crate) tier: Option<Tier>,
    pub(crate) conversation: Option<String>,
    pub(crate) variables: BTreeMap<String, String>,
    /// `None`: until it expires.
    pub(crate) max_uses: Option<NonZeroU32>,
}

/// A secret that was issued.
#[derive(Debug)]
pub(crate) struct ClientSecret {
    pub(crate) grant: ClientSecretGrant,
    pub(super) until: SystemTime,
    uses: Mutex<u32>,
    /// Where it is stored; its uses are counted there.
    pub(super) storage: OnceLock<SecretStorage>,
}

/// One use of a secret. Dropping it gives the use back, unless it was kept.
#[derive(Debug)]
pub(crate) struct ClientSecretUse {
    secret: Arc<ClientSecret>,
    is_kept: bool,
}

impl ClientSecret {
    pub(super) fn new(grant: ClientSecretGrant, until: SystemTime) -> Self {
        Self { grant, until, uses: Mutex::new(0), storage: OnceLock::new() }
    }

    /// For a session that is to begin.
    pub(crate) async fn begin_use(self: &Arc<Self>) -> Result<ClientSecretUse, ApiError> {
        let has_left = match (self.grant.max_uses, self.storage.get()) {
            (None, _) => true,
            (Some(_), Some(storage)) => storage.take_use().await?,
            (Some(most), None) => {
                let mut uses = self.uses.lock();
                let has_left = *uses < most.get();
                *uses += u32::from(has_left);
                has_left
            }
        };
        let usage = || ClientSecretUse { secret: Arc::clone(self), is_kept: false };
        has_left.then(usage).ok_or(USED_UP)
    }

    fn return_use(&self) {
        match (self.grant.max_uses, self.storage.get()) {
            (None, _) => {}
            (Some(_), Some(storage)) => storage.return_use(),
            (Some(_), None) => {
                let mut uses = self.uses.lock();
                *uses = uses.saturating_sub(1);
            }
        }
    }
}

impl ClientSecretUse {
    /// The session has begun.
    pub(crate) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for ClientSecretUse {
    fn drop(&mut self) {
        if !self.is_kept {
            self.secret.return_use();
        }
    }
}
