//! A key as the front has to know it, wherever it was made.

use std::time::SystemTime;

use tollgate_core::id::AgentId;
use tollgate_core::lease::RevokedError;
use tollgate_core::turn::PrincipalGrant;

use super::{Fingerprint, KeyRole, Rights};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    pub name: String,
    pub fingerprint: Fingerprint,
    /// What it was before, while both let in.
    pub former: Option<FormerSecret>,
    /// `None`: every agent. An empty list: none.
    pub agents: Option<Vec<AgentId>>,
    pub role: KeyRole,
    pub rights: Rights,
    pub grant: PrincipalGrant,
    pub expires: Option<SystemTime>,
    /// When it was made, if that is known: two keys may have had one name.
    pub made: Option<SystemTime>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormerSecret {
    pub fingerprint: Fingerprint,
    pub until: SystemTime,
}

impl ApiKey {
    /// For every agent, without any right, for ever.
    pub fn new(name: impl Into<String>, fingerprint: Fingerprint) -> Self {
        Self {
            name: name.into(),
            fingerprint,
            former: None,
            agents: None,
            role: KeyRole::Caller,
            rights: Rights::NONE,
            grant: PrincipalGrant::default(),
            expires: None,
            made: None,
        }
    }

    /// Whether both are one key, at two times.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.made == other.made
    }

    /// Why whoever holds this key has less once it is `next`; `None`: they have all that they had.
    /// Limits are no rights: what runs goes on under them.
    pub(super) fn loses_by(&self, next: &Self) -> Option<RevokedError> {
        let before = AccessPermissions {
            rights: self.rights,
            agents: self.agents.as_deref(),
            grant: &self.grant,
        };
        let after = AccessPermissions {
            rights: next.rights,
            agents: next.agents.as_deref(),
            grant: &next.grant,
        };
        let lost = before.lost_by(&after)?;
        Some(RevokedError::because(format!("key `{}` was changed: it lost {lost}", self.name)))
    }
}

/// What somebody may do, by a key or by a rule for tokens.
pub(super) struct AccessPermissions<'h> {
    pub(super) rights: Rights,
    /// `None`: every agent.
    pub(super) agents: Option<&'h [AgentId]>,
    pub(super) grant: &'h PrincipalGrant,
}

impl AccessPermissions<'_> {
    /// What is not in `after` any more, in words.
    pub(super) fn lost_by(&self, after: &AccessPermissions<'_>) -> Option<String> {
        let rights: Vec<&str> = self
            .rights
            .iter()
            .filter(|right| !after.rights.has(*right))
            .map(super::Right::as_str)
            .collect();
        if !rights.is_empty() {
            return Some(format!("the right {}", rights.join(", ")));
        }
        if !is_within(self.agents, after.agents) {
            return Some("agents".to_owned());
        }
        if !is_within(self.grant.tools.as_deref(), after.grant.tools.as_deref()) {
            return Some("tools".to_owned());
        }
        (self.grant.tenant != after.grant.tenant).then(|| "its tenant".to_owned())
    }
}

/// Whether a list has all that another one had; without a list, all there is.
fn is_within<T: PartialEq>(before: Option<&[T]>, after: Option<&[T]>) -> bool {
    match (before, after) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(before), Some(after)) => before.iter().all(|it| after.contains(it)),
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::glob::Glob;
    use tollgate_core::id::AgentId;
    use tollgate_core::rate::RateLimit;
    use tollgate_core::turn::PrincipalGrant;

    use super::{ApiKey, Fingerprint};
    use crate::auth::{Right, Rights};

    fn key() -> ApiKey {
        let agents = ["dm", "npc"].map(|name| AgentId::parse(name).unwrap());
        ApiKey {
            rights: [Right::Execute, Right::Approve].into_iter().collect(),
            agents: Some(agents.to_vec()),
            grant: PrincipalGrant {
                tools: Some(vec![Glob::new("dice_*")]),
                ..PrincipalGrant::default()
            },
            ..ApiKey::new("ada", Fingerprint::of(b"secret"))
        }
    }

    fn revocation_reason(change: impl FnOnce(&mut ApiKey)) -> Option<String> {
        let mut next = key();
        change(&mut next);
        key().loses_by(&next).map(|why| why.to_string())
    }

    #[test]
    fn what_is_taken_away_is_named_and_what_is_given_is_no_loss() {
        let said = |what: &str| Some(format!("key `ada` was changed: it lost {what}"));
        assert_eq!(
            revocation_reason(|key| key.rights = Rights::NONE),
            said("the right execute, approve")
        );
        assert_eq!(
            revocation_reason(|key| key.agents = Some(key.agents.clone().unwrap()[..1].to_vec())),
            said("agents")
        );
        assert_eq!(
            revocation_reason(|key| key.grant.tools = Some(vec![Glob::new("dice_roll")])),
            said("tools")
        );
        assert_eq!(revocation_reason(|key| key.rights = Rights::ALL), None);
        assert_eq!(revocation_reason(|key| key.agents = None), None);
        assert_eq!(revocation_reason(|key| key.grant.tools = None), None);
        assert_eq!(
            revocation_reason(|key| key.agents.as_mut().unwrap().reverse()),
            None,
            "an order is no right"
        );
        assert_eq!(
            revocation_reason(|key| key.grant.rate_limit = RateLimit::parse("1/m")),
            None,
            "nor is a limit"
        );
        let mut first = key();
        first.agents = None;
        assert!(first.loses_by(&key()).is_some(), "from all agents to some");
    }
}
