//! A key as the front has to know it, wherever it was made.

use std::time::SystemTime;

use tollgate_core::id::AgentId;
use tollgate_core::turn::Grant;

use super::{Fingerprint, Rights, Role};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub name: String,
    pub fingerprint: Fingerprint,
    /// What it was before, while both let in.
    pub former: Option<Former>,
    /// `None`: every agent. An empty list: none.
    pub agents: Option<Vec<AgentId>>,
    pub role: Role,
    pub rights: Rights,
    pub grant: Grant,
    pub expires: Option<SystemTime>,
    /// When it was made, if that is known: two keys may have had one name.
    pub made: Option<SystemTime>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Former {
    pub fingerprint: Fingerprint,
    pub until: SystemTime,
}

impl Key {
    /// For every agent, without any right, for ever.
    pub fn new(name: impl Into<String>, fingerprint: Fingerprint) -> Self {
        Self {
            name: name.into(),
            fingerprint,
            former: None,
            agents: None,
            role: Role::Caller,
            rights: Rights::NONE,
            grant: Grant::default(),
            expires: None,
            made: None,
        }
    }

    /// Whether both let the same holder do the same: only the secret may differ.
    pub(super) fn is_for_the_same(&self, other: &Self) -> bool {
        let facts = |key: &Self| (key.rights, key.expires, key.made);
        self.name == other.name
            && facts(self) == facts(other)
            && self.agents == other.agents
            && self.grant == other.grant
    }
}
