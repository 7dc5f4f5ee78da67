//! Trials in a lower tier for tools that are no longer called because few turns see their tier.

use std::time::{Duration, Instant};

use super::expected_tier::TierEvidence;
use super::{RUN, TierAssignment, TierFacts, TierRules, ToolHealth, below, is_good};
use crate::budget::Tier;

/// Maximum delay before the next trial, however many failed.
const MAX_TRIAL_DELAY: Duration = Duration::from_secs(3_600);

/// One tier lower: until the first bad call, or permanently after some good ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct TierTrial {
    pub(super) tier: Tier,
    /// The time without calls before the trial.
    pub(super) quiet: Duration,
    /// Its samples start here.
    mark: u64,
}

impl TierAssignment {
    pub(super) fn follow_trial(&mut self, facts: &TierFacts<'_>) {
        let Some(trial) = self.trial else { return };
        let ceiling = facts.rules.ceilings.of(trial.tier);
        let samples = facts.window.latest(trial.mark);
        if !samples.iter().all(|sample| is_good(sample, ceiling, facts.declared.max)) {
            self.trial = None;
            self.failed_trials = self.failed_trials.saturating_add(1);
        } else if samples.len() >= RUN {
            self.trial = None;
            self.failed_trials = 0;
            self.epoch = trial.mark;
            self.footing = TierEvidence::Measured(trial.tier);
            self.health = ToolHealth::Healthy;
        }
    }

    /// `plain` is the tier without a trial.
    pub(super) fn begin_or_end_trial(&mut self, plain: Tier, facts: &TierFacts<'_>) {
        if self.trial.is_some_and(|trial| plain <= trial.tier) {
            self.trial = None;
        }
        let present = self.trial.map_or(plain, |trial| trial.tier);
        let due = self.trial_due(present, facts.rules).is_some_and(|due| due <= facts.now);
        // No trial while the tool has not yet moved to its own tier.
        let Some(lower) = below(present).filter(|_| due && self.assigned.tier == present) else {
            return;
        };
        let before = self.trial.map_or(Duration::ZERO, |trial| trial.quiet);
        let quiet = before.saturating_add(self.pause(facts.rules));
        self.trial = Some(TierTrial { tier: lower, quiet, mark: self.seen });
        self.quiet_since = facts.now;
    }

    /// When a tool in this tier gets a trial, if it is not called before.
    pub(super) fn trial_due(&self, present: Tier, rules: &TierRules) -> Option<Instant> {
        if present <= self.floor {
            return None;
        }
        let rested = self.quiet_since.checked_add(self.pause(rules))?;
        Some(self.dwelt_at(rules).map_or(rested, |dwelt| dwelt.max(rested)))
    }

    fn pause(&self, rules: &TierRules) -> Duration {
        let doubled = rules.recovery.saturating_mul(1 << self.failed_trials.min(20));
        doubled.min(MAX_TRIAL_DELAY.max(rules.recovery)).max(rules.hold)
    }
}
