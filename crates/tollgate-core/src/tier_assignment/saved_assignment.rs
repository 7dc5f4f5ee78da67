//! The part of a tier assignment that survives a restart. Timers do not: they start again.

use super::{RUN, ToolHealth};
use crate::budget::Tier;
use crate::latency::LatencyWindow;

/// Any combination of values is accepted; inconsistent ones are corrected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SavedTierAssignment {
    /// The tier by measured latency, without health. The declared one is read again.
    pub measured: Option<Tier>,
    /// The lowest tier it ever had by measurement.
    pub home: Option<Tier>,
    pub health: ToolHealth,
    /// Number of samples at the end of the window that count.
    pub epoch: u32,
    /// Number of good calls in a row that outweigh all earlier ones.
    pub run: u32,
    /// Each doubled the delay before the next trial.
    pub failed_trials: u32,
}

impl Default for SavedTierAssignment {
    /// The default: all samples count, no other state.
    fn default() -> Self {
        Self {
            measured: None,
            home: None,
            health: ToolHealth::Healthy,
            epoch: LatencyWindow::SIZE as u32,
            run: RUN as u32,
            failed_trials: 0,
        }
    }
}

impl SavedTierAssignment {
    pub(super) fn tier(&self) -> Tier {
        self.health.lift_tier(self.measured.unwrap_or(Tier::Standard))
    }
}
