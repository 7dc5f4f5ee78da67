//! Where a tool stands, with the reason in words.

use std::fmt;
use std::time::Duration;

use super::Health;
use crate::budget::Tier;
use crate::latency::Figures;
use crate::text::Span;

/// Shown as `standard: measured p50 620 ms over 37 calls`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assigned {
    pub tier: Tier,
    /// The reason; its words do not name the tier.
    pub cause: Cause,
    pub health: Health,
    /// It fits its tier as a rule, but its p95 does not.
    pub bimodal: bool,
    /// Of the calls that count.
    pub figures: Figures,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cause {
    pub basis: Basis,
    pub trouble: Option<Trouble>,
    pub held: Option<Held>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
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
    /// It was measured, but too few calls of late were answered to do so again.
    Earlier,
    Trial {
        quiet: Duration,
    },
}

/// The tool is not healthy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trouble {
    pub complaint: Complaint,
    pub lift: Lift,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Complaint {
    Failed { percent: u8 },
    Overran { calls: usize, limit: Duration },
}

/// What came of the trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lift {
    OneUp,
    /// It is in the highest tier already, or cannot change yet.
    None,
}

/// Why it is not in another tier, where its latency would be a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// It changed lately.
    Dwell { to: Tier, hold: Duration },
    /// Too near the ceiling to come down.
    Border { lower: Tier, limit: Duration },
    /// Enough calls are slow that it could be chance.
    Uneven { lower: Tier },
}

impl Default for Assigned {
    fn default() -> Self {
        Self {
            tier: Tier::UNKNOWN,
            cause: Cause::from(Basis::Unknown { calls: 0, enough: 0 }),
            health: Health::Healthy,
            bimodal: false,
            figures: Figures::default(),
        }
    }
}

impl From<Basis> for Cause {
    fn from(basis: Basis) -> Self {
        Self { basis, trouble: None, held: None }
    }
}

impl fmt::Display for Assigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.tier, self.cause)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.basis)?;
        match self.trouble {
            Some(Trouble { complaint, lift: Lift::OneUp }) => write!(f, ", one up: {complaint}")?,
            Some(Trouble { complaint, lift: Lift::None }) => write!(f, ", but {complaint}")?,
            None => {}
        }
        match self.held {
            Some(held) => write!(f, ", {held}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Unknown { calls: 0, .. } => f.write_str("nothing is known yet"),
            Self::Unknown { calls, enough } => {
                write!(f, "nothing is known yet, {calls} of {enough} calls")
            }
            Self::Declared(span) => write!(f, "declared {}", Span(span)),
            Self::Measured { percentile, expected, calls } => {
                let noun = if calls == 1 { "call" } else { "calls" };
                write!(f, "measured p{percentile} {} over {calls} {noun}", Span(expected))
            }
            Self::Earlier => f.write_str("measured earlier, too few answers since"),
            Self::Trial { quiet } => write!(f, "on trial after {} without a call", Span(quiet)),
        }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Failed { percent } => write!(f, "{percent} % of the calls failed"),
            Self::Overran { calls, limit } => {
                write!(f, "{calls} calls took longer than {}", Span(limit))
            }
        }
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Dwell { to, hold } => write!(f, "{to} once it has stood for {}", Span(hold)),
            Self::Border { lower, limit } => write!(f, "{lower} only from {} down", Span(limit)),
            Self::Uneven { lower } => write!(f, "too uneven for {lower}"),
        }
    }
}
