//! API key as the authenticator knows it, from the config or from the store.

use std::time::SystemTime;

use tollgate_core::id::AgentId;
use tollgate_core::lease::RevokedError;
use tollgate_core::turn::PrincipalGrant;

use super::{Fingerprint, KeyRole, Rights};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    pub name: String,
    pub fingerprint: Fingerprint,
    /// The previous secret, during the grace period of a rotation.
    pub former: Option<FormerSecret>,
    /// `None`: every agent. An empty list: none.
    pub agents: Option<Vec<AgentId>>,
    pub role: KeyRole,
    pub rights: Rights,
    pub grant: PrincipalGrant,
    pub expires: Option<SystemTime>,
    /// Creation time, if known: two keys may have had the same name.
    pub made: Option<SystemTime>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormerSecret {
    pub fingerprint: Fingerprint,
    pub until: SystemTime,
}

impl ApiKey {
    /// For every agent, without rights, without expiry.
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

    /// Whether both are the same key at two points in time.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.made == other.made
    }

    /// The reason why the holder of this key loses access when it becomes `next`. `None`: nothing
    /// is lost. Limits are not rights: running work continues under the new limits.
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

/// Permissions of a key or of a token rule.
pub(super) struct AccessPermissions<'h> {
    pub(super) rights: Rights,
    /// `None`: every agent.
    pub(super) agents: Option<&'h [AgentId]>,
    pub(super) grant: &'h PrincipalGrant,
}

impl AccessPermissions<'_> {
    /// Description of the permissions that `after` lacks.
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

/// Whether `after` contains all of `before`. Without a list, everything is allowed.
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
        let render = |what: &str| Some(format!("key `ada` was changed: it lost {what}"));
        assert_eq!(
            revocation_reason(|key| key.rights = Rights::NONE),
            render("the right execute, approve")
        );
        assert_eq!(
            revocation_reason(|key| key.agents = Some(key.agents.clone().unwrap()[..1].to_vec())),
            render("agents")
        );
        assert_eq!(
            revocation_reason(|key| key.grant.tools = Some(vec![Glob::new("dice_roll")])),
            render("tools")
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
