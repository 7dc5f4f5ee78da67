//! What a judgement of a tool rests on.

use std::time::{Duration, Instant};

use crate::budget::{Ceilings, Estimate};
use crate::latency::LatencyWindow;

/// What holds for all tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TierRules {
    pub ceilings: Ceilings,
    /// Which percentile of the window is what to expect of a tool.
    pub percentile: u8,
    /// Fewer calls than this measure nothing.
    pub min_samples: u32,
    /// After so long without a call a tool gets a chance in a lower tier.
    pub recovery: Duration,
    /// A tool changes its tier at most once in this time: lists that change cost prompt caches.
    pub hold: Duration,
}

/// What was said of a tool by its operator, or by its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeclaredLatency {
    pub estimated: Option<Estimate>,
    pub max: Option<Duration>,
}

/// All that a judgement rests on.
#[derive(Debug, Clone, Copy)]
pub struct TierFacts<'a> {
    pub window: &'a LatencyWindow,
    pub declared: DeclaredLatency,
    pub rules: &'a TierRules,
    pub now: Instant,
}

impl TierFacts<'_> {
    /// What was said of its latency, if it counts.
    pub(super) fn estimated_latency(&self) -> Option<Duration> {
        self.declared.estimated?.counting(&self.rules.ceilings)
    }
}

impl Default for TierRules {
    fn default() -> Self {
        Self {
            ceilings: Ceilings::default(),
            percentile: 50,
            min_samples: 5,
            recovery: Duration::from_secs(600),
            hold: Duration::from_secs(30),
        }
    }
}
