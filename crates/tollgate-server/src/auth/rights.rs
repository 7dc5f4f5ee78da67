//! What a key may do beside reading what its agents see.

use http::StatusCode;

use crate::problem::Problem;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Call tools.
    Execute,
    /// Ask for a latency tier above the agent's ceiling.
    OverrideTier,
    /// Agree to calls that wait for a person.
    Approve,
    /// See and try the servers, see what is wrong with their tools.
    Admin,
}

impl Right {
    pub const ALL: [Self; 4] = [Self::Execute, Self::OverrideTier, Self::Approve, Self::Admin];

    /// As the config writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Execute => "execute",
            Self::OverrideTier => "override_tier",
            Self::Approve => "approve",
            Self::Admin => "admin",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|right| right.as_str() == text)
    }

    /// Why what needs it is refused.
    pub(crate) fn lacking(self, why: &str) -> Problem {
        let detail = format!("this key lacks the right `{}`: {why}", self.as_str());
        Problem::told(StatusCode::FORBIDDEN, NO_RIGHT, detail)
    }
}

const NO_RIGHT: &str = "no_right";

/// A set of rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights(u8);

impl Rights {
    pub const NONE: Self = Self(0);
    pub const ALL: Self = Self(u8::MAX);

    pub const fn has(self, right: Right) -> bool {
        self.0 & bit(right) != 0
    }

    pub(crate) fn need(self, right: Right) -> Result<(), Problem> {
        if self.has(right) {
            return Ok(());
        }
        let detail = format!("this key lacks the right `{}`", right.as_str());
        Err(Problem::told(StatusCode::FORBIDDEN, NO_RIGHT, detail))
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
