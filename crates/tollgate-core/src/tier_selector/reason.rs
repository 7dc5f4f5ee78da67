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
    Keyword {
        keyword: Arc<str>,
    },
    /// A deep keyword too soon after another deep turn: reduced.
    KeywordInCooldown {
        keyword: Arc<str>,
        ago: Duration,
    },
    Backlog {
        waiting: u32,
    },
    FirstTurn,
    Nothing,
    /// The selection exceeded the agent's ceiling.
    Ceiling {
        ceiling: Tier,
        selected: Box<Self>,
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
            Self::Keyword { .. } => 1,
            Self::KeywordInCooldown { .. } => 2,
            Self::Backlog { .. } => 3,
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
        let selected = match self.reason {
            TierReason::Ceiling { selected, .. } => selected,
            other => Box::new(other),
        };
        Self { tier: ceiling, reason: TierReason::Ceiling { ceiling, selected } }
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
            Self::Keyword { keyword } => write!(f, "\"{keyword}\" was said"),
            Self::KeywordInCooldown { keyword, ago } => {
                write!(f, "\"{keyword}\" was said, but the last deep turn was {}", HumanAgo(*ago))
            }
            Self::Backlog { waiting: 1 } => f.write_str("1 turn is waiting"),
            Self::Backlog { waiting } => write!(f, "{waiting} turns are waiting"),
            Self::FirstTurn => f.write_str("first turn of the conversation"),
            Self::Nothing => f.write_str("no reason for a higher tier"),
            Self::Ceiling { ceiling, selected: wanted } => {
                write!(f, "{wanted}; the agent's ceiling is {ceiling}")
            }
        }
    }
}
