//! Latency budgets: tiers, their ceilings, and the deadline that nested calls inherit.

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
    /// The tier of a tool without any measurement.
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

/// The time limit of a turn's tools, by tier. Ascending.
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

    /// The lowest tier whose ceiling is not exceeded by `span`. Longer spans are deep.
    pub fn fit(&self, span: Duration) -> Tier {
        Tier::ALL.into_iter().find(|tier| span <= self.of(*tier)).unwrap_or(Tier::Deep)
    }
}

/// The stated duration of a tool's calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimate {
    /// Stated by the operator or by a trusted server.
    Believed(Duration),
    /// Stated by an untrusted server: cannot make the tool faster than one without measurements.
    Claimed(Duration),
}

impl Estimate {
    pub fn span(self) -> Duration {
        match self {
            Self::Believed(span) | Self::Claimed(span) => span,
        }
    }

    /// The duration, if it is taken into account.
    pub fn counting(self, ceilings: &Ceilings) -> Option<Duration> {
        match self {
            Self::Believed(span) => Some(span),
            Self::Claimed(span) => Some(span).filter(|span| *span > ceilings.of(Tier::UNKNOWN)),
        }
    }
}

/// The time at which a call is abandoned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    pub fn at(instant: Instant) -> Self {
        Self(instant)
    }

    pub fn after(now: Instant, span: Duration) -> Self {
        Self(now + span)
    }

    /// The deadline of a nested call: never later than that of its parent.
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

/// Limits that apply to every call, in addition to the deadline of the turn.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub global: Duration,
    /// Maximum JSON values in the arguments of a call, which are parsed into a tree for validation.
    pub argument_values: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { global: Duration::from_secs(30), argument_values: 100_000 }
    }
}
