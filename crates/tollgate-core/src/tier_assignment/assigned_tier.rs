//! The assigned tier of a tool, with its reason as a sentence.

use std::fmt;
use std::time::Duration;

use super::{HealthComplaint, ToolHealth};
use crate::budget::Tier;
use crate::latency::LatencyStats;
use crate::text::HumanDuration;

/// Shown as `standard: measured p50 620 ms over 37 calls`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignedTier {
    pub tier: Tier,
    /// The reason; its text does not name the tier.
    pub cause: TierCause,
    pub health: ToolHealth,
    /// The typical latency fits the tier, but p95 does not.
    pub bimodal: bool,
    /// Of the samples that count.
    pub figures: LatencyStats,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TierCause {
    pub basis: TierBasis,
    pub trouble: Option<HealthProblem>,
    pub held: Option<TierHold>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TierBasis {
    /// Too few calls were answered.
    Unknown {
        calls: usize,
        enough: usize,
    },
    Declared(Duration),
    Measured {
        percentile: u8,
        expected: Duration,
        calls: usize,
    },
    /// Measured before, but too few recent calls were answered to measure again.
    Earlier,
    Trial {
        quiet: Duration,
    },
}

/// The tool is not healthy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HealthProblem {
    pub complaint: HealthComplaint,
    pub lift: TierLift,
}

/// The effect of the problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TierLift {
    OneUp,
    /// Already in the highest tier, or the hold time is running.
    None,
}

/// Why it is not in another tier that its latency would suggest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TierHold {
    /// The hold time since the last change is running.
    Dwell { to: Tier, hold: Duration },
    /// Too close to the ceiling to move down.
    Border { lower: Tier, limit: Duration },
    /// So many calls are slow that the measurement may be chance.
    Uneven { lower: Tier },
}

impl Default for AssignedTier {
    fn default() -> Self {
        Self {
            tier: Tier::UNKNOWN,
            cause: TierCause::from(TierBasis::Unknown { calls: 0, enough: 0 }),
            health: ToolHealth::Healthy,
            bimodal: false,
            figures: LatencyStats::default(),
        }
    }
}

impl From<TierBasis> for TierCause {
    fn from(basis: TierBasis) -> Self {
        Self { basis, trouble: None, held: None }
    }
}

impl fmt::Display for AssignedTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.tier, self.cause)
    }
}

impl fmt::Display for TierCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.basis)?;
        match self.trouble {
            Some(HealthProblem { complaint, lift: TierLift::OneUp }) => {
                write!(f, ", one up: {complaint}")?
            }
            Some(HealthProblem { complaint, lift: TierLift::None }) => {
                write!(f, ", but {complaint}")?
            }
            None => {}
        }
        match self.held {
            Some(held) => write!(f, ", {held}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for TierBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Unknown { calls: 0, .. } => f.write_str("not measured yet"),
            Self::Unknown { calls, enough } => {
                write!(f, "not measured yet, {calls} of {enough} calls")
            }
            Self::Declared(span) => write!(f, "declared {}", HumanDuration(span)),
            Self::Measured { percentile, expected, calls } => {
                let noun = if calls == 1 { "call" } else { "calls" };
                write!(f, "measured p{percentile} {} over {calls} {noun}", HumanDuration(expected))
            }
            Self::Earlier => f.write_str("measured earlier, too few responses since"),
            Self::Trial { quiet } => {
                write!(f, "on trial after {} without a call", HumanDuration(quiet))
            }
        }
    }
}

impl fmt::Display for TierHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Dwell { to, hold } => {
                write!(f, "{to} when this has lasted {}", HumanDuration(hold))
            }
            Self::Border { lower, limit } => {
                write!(f, "{lower} only at {} or less", HumanDuration(limit))
            }
            Self::Uneven { lower } => write!(f, "too uneven for {lower}"),
        }
    }
}
