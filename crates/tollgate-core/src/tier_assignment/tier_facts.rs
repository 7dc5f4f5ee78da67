//! Inputs of a tier evaluation.

use std::time::{Duration, Instant};

use crate::budget::{Ceilings, Estimate};
use crate::latency::LatencyWindow;

/// Rules for all tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TierRules {
    pub ceilings: Ceilings,
    /// The percentile that is the expected latency of a tool.
    pub percentile: u8,
    /// Minimum calls for a measurement.
    pub min_samples: u32,
    /// A tool without calls for this long gets a trial in a lower tier.
    pub recovery: Duration,
    /// Minimum time between tier changes of a tool: changed lists invalidate prompt caches.
    pub hold: Duration,
}

/// The latency declared by the operator or the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeclaredLatency {
    pub estimated: Option<Estimate>,
    pub max: Option<Duration>,
}

/// All inputs of an evaluation.
#[derive(Debug, Clone, Copy)]
pub struct TierFacts<'a> {
    pub window: &'a LatencyWindow,
    pub declared: DeclaredLatency,
    pub rules: &'a TierRules,
    pub now: Instant,
}

impl TierFacts<'_> {
    /// The declared latency, if it counts.
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
