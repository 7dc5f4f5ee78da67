//! How long a call may take: one deadline, inherited by everything inside it.

use std::fmt;
use std::time::{Duration, Instant};

/// The latency budget of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    Fast,
    Standard,
    Deep,
}

impl Tier {
    pub const ALL: [Self; 3] = [Self::Fast, Self::Standard, Self::Deep];
    /// Of a tool of which nothing is known.
    pub const UNKNOWN: Self = Self::Standard;

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Standard => "standard",
            Self::Deep => "deep",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.as_str() == text)
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How long the tools of a turn may take, by tier. Ascending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceilings {
    pub fast: Duration,
    pub standard: Duration,
    pub deep: Duration,
}

impl Default for Ceilings {
    fn default() -> Self {
        Self {
            fast: Duration::from_millis(500),
            standard: Duration::from_millis(1_500),
            deep: Duration::from_millis(4_000),
        }
    }
}

impl Ceilings {
    pub fn of(&self, tier: Tier) -> Duration {
        match tier {
            Tier::Fast => self.fast,
            Tier::Standard => self.standard,
            Tier::Deep => self.deep,
        }
    }

    /// The lowest tier that `span` fits into. What fits nowhere is deep.
    pub fn fit(&self, span: Duration) -> Tier {
        Tier::ALL.into_iter().find(|tier| span <= self.of(*tier)).unwrap_or(Tier::Deep)
    }
}

/// How long calls of a tool are said to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimate {
    /// By the operator, or by a server that is trusted.
    Believed(Duration),
    /// By any other server: it cannot make itself faster than a tool of which nothing is known.
    Claimed(Duration),
}

impl Estimate {
    pub fn span(self) -> Duration {
        match self {
            Self::Believed(span) | Self::Claimed(span) => span,
        }
    }

    /// The span, if it counts.
    pub fn counting(self, ceilings: &Ceilings) -> Option<Duration> {
        match self {
            Self::Believed(span) => Some(span),
            Self::Claimed(span) => Some(span).filter(|span| *span > ceilings.of(Tier::UNKNOWN)),
        }
    }
}

/// The moment at which whatever has not answered is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    pub fn at(instant: Instant) -> Self {
        Self(instant)
    }

    pub fn after(now: Instant, span: Duration) -> Self {
        Self(now + span)
    }

    /// What a nested call may take: never more than its parent has left.
    pub fn cap(self, now: Instant, own: Duration) -> Self {
        Self(self.0.min(now + own))
    }

    pub fn remaining(self, now: Instant) -> Duration {
        self.0.saturating_duration_since(now)
    }

    pub fn instant(self) -> Instant {
        self.0
    }
}

/// The limits that hold for every call, beside the turn's own deadline.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub global: Duration,
    /// JSON values in the arguments of one call, which become a tree to be checked.
    pub argument_values: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { global: Duration::from_secs(30), argument_values: 100_000 }
    }
}
