//! Health of a tool, with hysteresis: whether it fails or times out too often. Degrades at once,
//! recovers only when clearly better.

use std::fmt;
use std::time::Duration;

use super::above;
use crate::budget::Tier;
use crate::latency::LatencyStats;
use crate::text::HumanDuration;

/// Error rates above the first make a tool unhealthy, below the second healthy again.
const FAILING_PERCENT: usize = 30;
const WELL_PERCENT: usize = 20;

/// Timeouts at its own maximum that make a tool unhealthy, and the number at which it recovers.
const OVERRUNNING: usize = 3;
const FORGIVEN: usize = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolHealth {
    #[default]
    Healthy,
    Failing,
    Overrunning,
}

impl ToolHealth {
    pub const ALL: [Self; 3] = [Self::Healthy, Self::Failing, Self::Overrunning];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Failing => "failing",
            Self::Overrunning => "overrunning",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|health| health.as_str() == text)
    }

    pub(super) fn after(
        self,
        figures: &LatencyStats,
        enough: usize,
        max: Option<Duration>,
    ) -> Self {
        let errors = 100 * figures.errors();
        let overruns = overruns(figures, max);
        let failing = figures.count >= enough && errors > FAILING_PERCENT * figures.count;
        let still_failing = figures.count > 0 && errors >= WELL_PERCENT * figures.count;
        if failing || (self == Self::Failing && still_failing) {
            Self::Failing
        } else if overruns >= OVERRUNNING || (self == Self::Overrunning && overruns > FORGIVEN) {
            Self::Overrunning
        } else {
            Self::Healthy
        }
    }

    /// An unhealthy tool is one tier above that of its latency.
    pub(super) fn lift_tier(self, tier: Tier) -> Tier {
        match self {
            Self::Healthy => tier,
            Self::Failing | Self::Overrunning => above(tier),
        }
    }

    pub(super) fn complaint(
        self,
        figures: &LatencyStats,
        max: Option<Duration>,
    ) -> Option<HealthComplaint> {
        match self {
            Self::Healthy => None,
            Self::Failing => {
                let percent = (100 * figures.errors()).div_ceil(figures.count.max(1));
                Some(HealthComplaint::Failed { percent: u8::try_from(percent).unwrap_or(100) })
            }
            Self::Overrunning => Some(HealthComplaint::Overran {
                calls: overruns(figures, max),
                limit: max.unwrap_or_default(),
            }),
        }
    }
}

fn overruns(figures: &LatencyStats, max: Option<Duration>) -> usize {
    max.map_or(0, |max| figures.longer_than(max))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthComplaint {
    Failed { percent: u8 },
    Overran { calls: usize, limit: Duration },
}

impl fmt::Display for HealthComplaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Failed { percent } => write!(f, "{percent} % of the calls failed"),
            Self::Overran { calls, limit } => {
                write!(f, "{calls} calls took longer than {}", HumanDuration(limit))
            }
        }
    }
}
