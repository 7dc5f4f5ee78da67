//! Why a turn got its tier, as text.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::budget::Tier;
use crate::text::HumanAgo;

/// The tier of a turn. Reads as `deep: "in detail" was said`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierChoice {
    pub tier: Tier,
    pub reason: TierReason,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TierReason {
    /// Set by a caller with that permission.
    Forced,
    Said {
        keyword: Arc<str>,
    },
    /// A deep keyword too soon after another deep turn: reduced.
    SaidTooSoon {
        keyword: Arc<str>,
        ago: Duration,
    },
    Crowd {
        waiting: u32,
    },
    FirstTurn,
    Nothing,
    /// The selection exceeded the agent's ceiling.
    Ceiling {
        ceiling: Tier,
        wanted: Box<Self>,
    },
}

impl TierReason {
    /// The rules by name, in a fixed order.
    pub const RULES: [&str; 7] =
        ["forced", "said", "said_too_soon", "crowd", "first_turn", "nothing", "ceiling"];

    /// Index of the rule in [`Self::RULES`].
    pub fn rule(&self) -> usize {
        match self {
            Self::Forced => 0,
            Self::Said { .. } => 1,
            Self::SaidTooSoon { .. } => 2,
            Self::Crowd { .. } => 3,
            Self::FirstTurn => 4,
            Self::Nothing => 5,
            Self::Ceiling { .. } => 6,
        }
    }
}

impl TierChoice {
    /// Limits the tier to the agent's ceiling, unless it was forced.
    pub fn cap_at(self, ceiling: Tier) -> Self {
        if self.tier <= ceiling || self.reason == TierReason::Forced {
            return self;
        }
        let wanted = match self.reason {
            TierReason::Ceiling { wanted, .. } => wanted,
            other => Box::new(other),
        };
        Self { tier: ceiling, reason: TierReason::Ceiling { ceiling, wanted } }
    }
}

impl fmt::Display for TierChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.tier, self.reason)
    }
}

impl fmt::Display for TierReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forced => f.write_str("requested explicitly"),
            Self::Said { keyword } => write!(f, "\"{keyword}\" was said"),
            Self::SaidTooSoon { keyword, ago } => {
                write!(f, "\"{keyword}\" was said, but the last deep turn was {}", HumanAgo(*ago))
            }
            Self::Crowd { waiting: 1 } => f.write_str("1 turn is waiting"),
            Self::Crowd { waiting } => write!(f, "{waiting} turns are waiting"),
            Self::FirstTurn => f.write_str("first turn of the conversation"),
            Self::Nothing => f.write_str("no reason for a higher tier"),
            Self::Ceiling { ceiling, wanted } => {
                write!(f, "{wanted}; the agent's ceiling is {ceiling}")
            }
        }
    }
}
