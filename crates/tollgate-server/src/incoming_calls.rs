//! Webhooks for incoming telephone calls, and the events that came lately.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use parking_lot::Mutex;
use ring::hmac;
use tollgate_core::id::AgentId;
use tollgate_core::lease::{LeaseTerm, RevokedError};
use tollgate_core::secret::Secret;

use crate::api_error::ApiError;

const SECRET_PREFIX: &str = "whsec_";
/// How old an event may be, or how far in the future.
pub(crate) const MAX_AGE: Duration = Duration::from_secs(300);
/// How long an event is known. Later it is too old to be repeated.
const EVENT_MEMORY: Duration = Duration::from_secs(2 * MAX_AGE.as_secs());
pub(crate) const MAX_EVENTS: usize = 10_000;

/// A webhook of the config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncomingCallSettings {
    /// The last part of its path.
    pub name: String,
    /// `whsec_` and base64, as the provider shows it.
    pub secret: Secret,
    pub agent: AgentId,
    /// `None`: the agent's own.
    pub model: Option<String>,
}

impl IncomingCallSettings {
    /// Whether the secret is one.
    pub fn is_secret(text: &str) -> bool {
        signing_key(text).is_some()
    }
}

pub(crate) fn signing_key(secret: &str) -> Option<hmac::Key> {
    let bytes = STANDARD.decode(secret.strip_prefix(SECRET_PREFIX)?).ok()?;
    (bytes.len() >= 16).then(|| hmac::Key::new(hmac::HMAC_SHA256, &bytes))
}

/// All webhooks, and the events that came lately.
#[derive(Default)]
pub(crate) struct IncomingCalls {
    webhooks: ArcSwap<HashMap<String, Arc<IncomingCallWebhook>>>,
    events: Mutex<HashMap<String, SystemTime>>,
}

pub(crate) struct IncomingCallWebhook {
    pub(crate) settings: IncomingCallSettings,
    /// Ended when the config no longer has it.
    pub(crate) term: LeaseTerm,
}

impl IncomingCalls {
    /// Replaces the webhooks. Calls of one that was removed or changed end.
    pub(crate) fn configure(&self, settings: &[IncomingCallSettings]) {
        let before = self.webhooks.load_full();
        let webhook = |settings: &IncomingCallSettings| {
            let known = before.get(&settings.name).filter(|known| known.settings == *settings);
            let new = || {
                let term = LeaseTerm::new();
                Arc::new(IncomingCallWebhook { settings: settings.clone(), term })
            };
            (settings.name.clone(), known.map_or_else(new, Arc::clone))
        };
        let next: HashMap<_, _> = settings.iter().map(webhook).collect();
        for (name, known) in before.iter() {
            if next.get(name).is_none_or(|now| !Arc::ptr_eq(now, known)) {
                let why = format!("the webhook `{name}` was removed or changed");
                known.term.end(RevokedError::because(why));
            }
        }
        self.webhooks.store(Arc::new(next));
    }

    pub(crate) fn find(&self, name: &str) -> Option<Arc<IncomingCallWebhook>> {
        self.webhooks.load().get(name).map(Arc::clone)
    }

    /// Whether the event is new. It is known from then on.
    pub(crate) fn is_new(&self, id: &str, now: SystemTime) -> Result<bool, ApiError> {
        let mut events = self.events.lock();
        if events.contains_key(id) {
            return Ok(false);
        }
        if events.len() >= MAX_EVENTS {
            events.retain(|_, came| *came + EVENT_MEMORY > now);
        }
        if events.len() >= MAX_EVENTS {
            return Err(TOO_MANY_EVENTS);
        }
        events.insert(id.to_owned(), now);
        Ok(true)
    }

    /// The provider sends an event again that was not handled.
    pub(crate) fn forget(&self, id: &str) {
        self.events.lock().remove(id);
    }
}

const TOO_MANY_EVENTS: ApiError = ApiError::new(
    StatusCode::SERVICE_UNAVAILABLE,
    "too_busy",
    "too many events came within ten minutes; send it again later",
)
.later(MAX_AGE);
