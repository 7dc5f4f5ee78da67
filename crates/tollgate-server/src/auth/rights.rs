//! Rights of a key beyond reading what its agents see.

use http::StatusCode;

use crate::api_error::ApiError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Call tools.
    Execute,
    /// Ask for a latency tier above the agent's ceiling.
    OverrideTier,
    /// Decide on calls that wait for approval.
    Approve,
    /// See the status of servers and current events. The audit ledger needs `Admin`.
    Observe,
    /// Ask for models that the config does not list, by provider and id.
    AnyModel,
    /// Everything that changes the gateway: servers, keys, config, trust decisions.
    Admin,
}

/// The agents and models that a caller may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallerReach {
    Everybody,
    /// Some agents, and models only through them.
    Agents,
}

/// Presets of rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRole {
    Admin,
    Operator,
    Caller,
}

impl KeyRole {
    pub const ALL: [Self; 3] = [Self::Admin, Self::Operator, Self::Caller];

    /// Its name in the config.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Operator => "operator",
            Self::Caller => "caller",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
    }

    /// The named rights, or the defaults of the role. An admin has all of them.
    pub fn rights(self, named: Option<Rights>) -> Rights {
        match (self, named) {
            (Self::Admin, _) => Rights::ALL,
            (Self::Operator | Self::Caller, Some(named)) => named,
            (Self::Operator, None) => [Right::Approve, Right::Observe].into_iter().collect(),
            (Self::Caller, None) => [Right::Execute].into_iter().collect(),
        }
    }
}

impl Right {
    pub const ALL: [Self; 6] = [
        Self::Execute,
        Self::OverrideTier,
        Self::Approve,
        Self::Observe,
        Self::AnyModel,
        Self::Admin,
    ];

    /// Its name in the config.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Execute => "execute",
            Self::OverrideTier => "override_tier",
            Self::Approve => "approve",
            Self::Observe => "observe",
            Self::AnyModel => "any_model",
            Self::Admin => "admin",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|right| right.as_str() == text)
    }

    /// The refusal of a request that needs this right.
    pub(crate) fn lacking(self, why: &str) -> ApiError {
        let detail = format!("this key does not have the right `{}`: {why}", self.as_str());
        ApiError::with_detail(StatusCode::FORBIDDEN, NO_RIGHT, detail)
    }
}

pub(crate) const NO_RIGHT: &str = "no_right";

/// A set of rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights(u8);

impl Rights {
    pub const NONE: Self = Self(0);
    pub const ALL: Self = Self(u8::MAX);

    pub const fn has(self, right: Right) -> bool {
        self.0 & bit(right) != 0
    }

    /// The union.
    pub(crate) const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    pub fn iter(self) -> impl Iterator<Item = Right> {
        Right::ALL.into_iter().filter(move |right| self.has(*right))
    }

    pub(crate) fn need(self, right: Right) -> Result<(), ApiError> {
        if self.has(right) {
            return Ok(());
        }
        let detail = format!("this key does not have the right `{}`", right.as_str());
        Err(ApiError::with_detail(StatusCode::FORBIDDEN, NO_RIGHT, detail))
    }
}

impl FromIterator<Right> for Rights {
    fn from_iter<I: IntoIterator<Item = Right>>(rights: I) -> Self {
        Self(rights.into_iter().fold(0, |bits, right| bits | bit(right)))
    }
}

const fn bit(right: Right) -> u8 {
    1 << right as u8
}
