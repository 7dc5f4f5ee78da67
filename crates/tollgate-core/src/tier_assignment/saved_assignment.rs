//! What of a tool's standing outlasts a restart. Moments do not: all waiting starts anew.

use super::{RUN, ToolHealth};
use crate::budget::Tier;
use crate::latency::LatencyWindow;

/// Plain values in any combination are taken; what makes no sense is put right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SavedTierAssignment {
    /// The tier by measured latency, health aside. What is declared is looked at anew.
    pub measured: Option<Tier>,
    /// The lowest tier where it ever stood by measurement.
    pub home: Option<Tier>,
    pub health: ToolHealth,
    /// How many samples at the end of the window count.
    pub epoch: u32,
    /// How many good calls in a row outweigh all before them.
    pub run: u32,
    /// Each doubled the pause before the next trial.
    pub failed_trials: u32,
}

impl Default for SavedTierAssignment {
    /// Nothing was saved: all samples count, and nothing else.
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
