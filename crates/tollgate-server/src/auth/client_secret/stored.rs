//! Client secrets that outlive the process: what is stored of one, and how its caller is found again.
//!
//! A stored secret is bound to the key that it was requested with by a hash of both, so that neither
//! of them is in the database, and a key of the same name is another key.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::SystemTime;

use ring::digest::{Context, SHA256};
use serde_json::{Value, json};
use tollgate_core::budget::Tier;
use tollgate_core::filter::RequestFilter;
use tollgate_core::glob::Glob;
use tollgate_core::id::AgentId;
use tollgate_store::Store;
use tollgate_store::client_secrets::StoredClientSecret;

use super::super::{CallerReach, Fingerprint};
use super::ClientSecretGrant;
use crate::api_error::{ApiError, FAULT};

/// Where a secret is stored.
#[derive(Debug)]
pub(in super::super) struct SecretStorage {
    store: Arc<Store>,
    fingerprint: Fingerprint,
    /// Uses that were taken and led to no session. They are given back to this process only.
    returned: AtomicU32,
}

impl SecretStorage {
    pub(in super::super) fn new(store: &Arc<Store>, fingerprint: Fingerprint) -> Self {
        Self { store: Arc::clone(store), fingerprint, returned: AtomicU32::new(0) }
    }

    /// `false`: there is no use left.
    pub(super) async fn take_use(&self) -> Result<bool, ApiError> {
        let is_returned =
            self.returned.fetch_update(Relaxed, Relaxed, |count| count.checked_sub(1));
        if is_returned.is_ok() {
            return Ok(true);
        }
        let fingerprint = *self.fingerprint.as_bytes();
        run_blocking(&self.store, move |store| store.client_secrets().take_use(fingerprint)).await
    }

    pub(super) fn return_use(&self) {
        self.returned.fetch_add(1, Relaxed);
    }
}

/// Runs work of the store, which may block.
pub(in super::super) async fn run_blocking<T: Send + 'static>(
    store: &Arc<Store>,
    work: impl FnOnce(&Store) -> Result<T, tollgate_store::Error> + Send + 'static,
) -> Result<T, ApiError> {
    let store = Arc::clone(store);
    let done = tokio::task::spawn_blocking(move || work(&store)).await.map_err(|_| FAULT)?;
    done.map_err(|error| {
        tracing::error!(%error, "cannot read or write client secrets");
        FAULT
    })
}

/// Binds a secret to a key; useless without the secret.
pub(in super::super) fn bind(secret: &[u8], key: &Fingerprint) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    context.update(b"tollgate client secret");
    context.update(key.as_bytes());
    context.update(secret);
    context.finish().as_ref().try_into().unwrap_or_default()
}

impl ClientSecretGrant {
    fn to_terms(&self) -> String {
        json!({
            "agent": self.agent.as_str(),
            "model": self.model,
            "session": self.session,
            "session_bytes": self.session_bytes,
            "reach": match self.reach {
                CallerReach::Everybody => "everybody",
                CallerReach::Agents => "agents",
            },
            "include_servers": lists_of_texts(&self.narrow.include_servers),
            "exclude_servers": texts(&self.narrow.exclude_servers),
            "include_tools": lists_of_texts(&self.narrow.include_tools),
            "exclude_tools": texts(&self.narrow.exclude_tools),
            "tier": self.tier.map(Tier::as_str),
            "conversation": self.conversation,
            "variables": self.variables,
        })
        .to_string()
    }

    /// `None`: the row is of another version. What is not understood might be a restriction.
    fn from_terms(terms: &str, max_uses: Option<u32>) -> Option<Self> {
        let terms: Value = serde_json::from_str(terms).ok()?;
        let text = |key: &str| terms.get(key)?.as_str().map(str::to_owned);
        let optional = |key: &str| match terms.get(key)? {
            Value::Null => Some(None),
            Value::String(text) => Some(Some(text.clone())),
            _ => None,
        };
        let tier = match optional("tier")? {
            Some(name) => Some(Tier::parse(&name)?),
            None => None,
        };
        Some(Self {
            agent: AgentId::parse(&text("agent")?).ok()?,
            model: text("model")?,
            session: terms.get("session")?.as_object()?.clone(),
            session_bytes: usize::try_from(terms.get("session_bytes")?.as_u64()?).ok()?,
            reach: match text("reach")?.as_str() {
                "everybody" => CallerReach::Everybody,
                "agents" => CallerReach::Agents,
                _ => return None,
            },
            narrow: RequestFilter {
                include_servers: read_lists(terms.get("include_servers")?)?,
                exclude_servers: read_list(terms.get("exclude_servers")?)?,
                include_tools: read_lists(terms.get("include_tools")?)?,
                exclude_tools: read_list(terms.get("exclude_tools")?)?,
            },
            tier,
            conversation: optional("conversation")?,
            variables: serde_json::from_value(terms.get("variables")?.clone()).ok()?,
            max_uses: match max_uses {
                Some(uses) => Some(NonZeroU32::new(uses)?),
                None => None,
            },
        })
    }

    /// What a stored secret allows if its key has these agents, which may be fewer than it had.
    pub(in super::super) fn restore(
        stored: &StoredClientSecret,
        agents: Option<&[AgentId]>,
    ) -> Option<Self> {
        let grant = Self::from_terms(&stored.terms, stored.max_uses)?;
        match agents {
            None => Some(grant),
            Some(agents) => agents
                .contains(&grant.agent)
                .then_some(Self { reach: CallerReach::Agents, ..grant }),
        }
    }

    pub(in super::super) fn to_stored(
        &self,
        fingerprint: &Fingerprint,
        binding: [u8; 32],
        until: SystemTime,
    ) -> StoredClientSecret {
        StoredClientSecret {
            fingerprint: *fingerprint.as_bytes(),
            binding,
            terms: self.to_terms(),
            until,
            max_uses: self.max_uses.map(NonZeroU32::get),
        }
    }
}

fn texts(globs: &[Glob]) -> Vec<&str> {
    globs.iter().map(Glob::as_str).collect()
}

fn lists_of_texts(lists: &[Vec<Glob>]) -> Vec<Vec<&str>> {
    lists.iter().map(|list| texts(list)).collect()
}

fn read_list(list: &Value) -> Option<Vec<Glob>> {
    list.as_array()?.iter().map(|it| it.as_str().map(Glob::new)).collect()
}

fn read_lists(lists: &Value) -> Option<Vec<Vec<Glob>>> {
    lists.as_array()?.iter().map(read_list).collect()
}
