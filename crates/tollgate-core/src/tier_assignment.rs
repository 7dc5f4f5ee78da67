//! Tier of a tool, with hysteresis, and the reason: from measured latency, else from the declared
//! one.
//!
//! One state machine per tool, evaluated whenever a sample or a timer may change the result.
//! Independent of tools and clocks: time is an argument and may stand still.

use std::time::{Duration, Instant};

use crate::budget::Tier;
use crate::latency::{LatencyStats, LatencyWindow, Sample, SampleEnding};

mod assigned_tier;
mod expected_tier;
mod health;
mod saved_assignment;
mod tier_facts;
mod trial;

pub use assigned_tier::{AssignedTier, HealthProblem, TierBasis, TierCause, TierHold, TierLift};
pub use health::{HealthComplaint, ToolHealth};
pub use saved_assignment::SavedTierAssignment;
pub use tier_facts::{DeclaredLatency, TierFacts, TierRules};

use expected_tier::{ExpectedTier, TierEvidence};
use trial::TierTrial;

/// This many good calls in a row outweigh everything before them.
pub const RUN: usize = 10;

/// A run that may have been luck doubles the length required of the next one, up to this.
const MAX_RUN_LEN: usize = 80;
/// Calls since the last run after which it was not luck: none of the run is left in the window.
const PROOF: u64 = 2 * LatencyWindow::SIZE as u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TierVerdict {
    Same,
    Moved { from: Tier, to: Tier },
}

/// The tier of one tool in one environment.
#[derive(Debug)]
pub struct TierAssignment {
    assigned: AssignedTier,
    footing: TierEvidence,
    health: ToolHealth,
    /// The lowest tier it ever had by measurement.
    home: Option<Tier>,
    /// The lowest tier it can reach: `home`, or the declared one.
    floor: Tier,
    /// Samples before this cursor no longer count.
    epoch: u64,
    /// Length of the run of good calls that begins the next epoch.
    run: usize,
    trial: Option<TierTrial>,
    /// Since the last good measurement.
    failed_trials: u32,
    /// Sample count at the last evaluation.
    seen: u64,
    /// When the last sample was seen, or a trial began.
    quiet_since: Instant,
    changed: Option<Instant>,
    next_look: Option<Instant>,
}

/// One reading of the window.
struct WindowReading {
    figures: LatencyStats,
    health: ToolHealth,
    expected: ExpectedTier,
    /// The tier by latency and health, without a trial.
    plain: Tier,
}

impl TierAssignment {
    pub fn new(facts: &TierFacts<'_>) -> Self {
        Self::restore(&SavedTierAssignment::default(), facts)
    }

    /// Restores the state after a restart. The window must be the one saved with it.
    pub fn restore(saved: &SavedTierAssignment, facts: &TierFacts<'_>) -> Self {
        let recorded = facts.window.recorded_count();
        let mut standing = Self {
            assigned: AssignedTier { tier: saved.tier(), ..AssignedTier::default() },
            footing: saved.measured.map_or(TierEvidence::None, TierEvidence::Measured),
            health: saved.health,
            home: saved.home,
            floor: saved.tier(),
            epoch: recorded.saturating_sub(u64::from(saved.epoch)),
            run: (saved.run as usize).clamp(RUN, MAX_RUN_LEN),
            trial: None,
            failed_trials: saved.failed_trials,
            seen: recorded,
            quiet_since: facts.now,
            changed: None,
            next_look: None,
        };
        standing.judge(facts);
        // The first assignment is not a change: the next may follow immediately.
        standing.changed = None;
        standing
    }

    /// Evaluates the window and the time, and reports whether the tier changed.
    pub fn judge(&mut self, facts: &TierFacts<'_>) -> TierVerdict {
        self.notice(facts);
        self.follow_trial(facts);
        let samples = facts.window.numbered_samples(self.epoch);
        let mut samples = samples.as_slice();
        let mut look = self.look(samples, facts);
        while let Some(run) = self.good_run(self.assigned.tier.max(look.plain), samples, facts) {
            samples = run;
            self.epoch = run[0].0;
            self.run = (self.run * 2).min(MAX_RUN_LEN);
            look = self.look(samples, facts);
        }
        self.health = look.health;
        let declared = facts.estimated_latency().map(|it| facts.rules.ceilings.fit(it));
        let hopes = [self.home, declared].into_iter().flatten();
        self.floor = hopes.fold(look.expected.tier, Tier::min);
        self.begin_or_end_trial(look.plain, facts);
        self.settle(look, facts)
    }

    pub fn assigned_tier(&self) -> &AssignedTier {
        &self.assigned
    }

    /// Whether probes would help: the tool is in a higher tier than it could reach.
    pub fn should_probe(&self) -> bool {
        self.trial.is_some()
            || self.health != ToolHealth::Healthy
            || self.assigned.tier > self.floor
    }

    /// When time alone may change the result. Samples may do so earlier.
    pub fn next_look(&self) -> Option<Instant> {
        self.next_look
    }

    pub fn to_saved(&self) -> SavedTierAssignment {
        let epoch = self.age().min(LatencyWindow::SIZE as u64);
        SavedTierAssignment {
            measured: match self.footing {
                TierEvidence::Measured(tier) => Some(tier),
                TierEvidence::None | TierEvidence::Declared(_) => None,
            },
            home: self.home,
            health: self.health,
            epoch: u32::try_from(epoch).unwrap_or(u32::MAX),
            run: u32::try_from(self.run).unwrap_or(u32::MAX),
            failed_trials: self.failed_trials,
        }
    }

    fn notice(&mut self, facts: &TierFacts<'_>) {
        let recorded = facts.window.recorded_count();
        if recorded != self.seen {
            self.seen = recorded;
            self.quiet_since = facts.now;
        }
    }

    /// Minimum samples for a measurement. A run always suffices.
    fn enough(&self, rules: &TierRules) -> usize {
        let most = if self.epoch > 0 { RUN } else { LatencyWindow::SIZE };
        (rules.min_samples as usize).clamp(1, most)
    }

    fn look(&self, samples: &[(u64, Sample)], facts: &TierFacts<'_>) -> WindowReading {
        let figures: LatencyStats = samples.iter().map(|(_, sample)| *sample).collect();
        let enough = self.enough(facts.rules);
        let health = self.health.after(&figures, enough, facts.declared.max);
        let expected = expected_tier::judge_latency(self.footing, &figures, enough, facts);
        WindowReading { plain: health.lift_tier(expected.tier), figures, health, expected }
    }

    /// The latest consecutive calls that fit the tier below `tier`, if they are enough to discard
    /// the earlier ones: a recovered tool moves down at once, not only when the window has rolled
    /// over.
    fn good_run<'s>(
        &self,
        tier: Tier,
        samples: &'s [(u64, Sample)],
        facts: &TierFacts<'_>,
    ) -> Option<&'s [(u64, Sample)]> {
        let limit = comfortable(facts.rules.ceilings.of(below(tier)?));
        let good = |sample: &Sample| is_good(sample, limit, facts.declared.max);
        let run = samples.iter().rev().take_while(|(_, sample)| good(sample)).count();
        (run >= self.run && run < samples.len()).then(|| &samples[samples.len() - run..])
    }

    /// Moves to the target tier, unless the hold time since the last change is running. Meanwhile
    /// the evidence is not updated either.
    fn settle(&mut self, look: WindowReading, facts: &TierFacts<'_>) -> TierVerdict {
        let WindowReading { figures, expected, plain, .. } = look;
        let from = self.assigned.tier;
        let tier = self.trial.map_or(plain, |trial| trial.tier);
        let waits = tier != from && !self.has_dwelt(facts);
        let to = if waits { from } else { tier };
        if to != from {
            self.changed = Some(facts.now);
        }
        if !waits {
            self.take(&expected, tier);
        }
        self.next_look =
            if waits { self.dwelt_at(facts.rules) } else { self.trial_due(tier, facts.rules) };
        let held = if waits {
            Some(TierHold::Dwell { to: tier, hold: facts.rules.hold })
        } else {
            expected.held
        };
        let lift = if !waits && tier > expected.tier { TierLift::OneUp } else { TierLift::None };
        let complaint = self.health.complaint(&figures, facts.declared.max);
        let trouble = complaint.map(|complaint| HealthProblem { complaint, lift });
        let cause = match self.trial {
            Some(trial) => TierCause::from(TierBasis::Trial { quiet: trial.quiet }),
            None => TierCause { basis: expected.basis, trouble, held },
        };
        let bimodal = is_bimodal(&cause, &figures, facts.rules.ceilings.of(to));
        self.assigned = AssignedTier { tier: to, cause, health: self.health, bimodal, figures };
        if to == from { TierVerdict::Same } else { TierVerdict::Moved { from, to } }
    }

    /// The result becomes the starting point of the next evaluation.
    fn take(&mut self, expected: &ExpectedTier, requested_tier: Tier) {
        self.footing = expected.footing();
        if let TierEvidence::Measured(tier) = self.footing {
            self.home = Some(self.home.map_or(tier, |home| home.min(tier)));
        }
        if self.trial.is_none() && requested_tier <= self.floor {
            self.failed_trials = 0;
            if self.age() >= PROOF {
                self.run = RUN;
            }
        }
    }

    /// Number of samples in the epoch.
    fn age(&self) -> u64 {
        self.seen.saturating_sub(self.epoch)
    }

    fn has_dwelt(&self, facts: &TierFacts<'_>) -> bool {
        let since = |changed| facts.now.saturating_duration_since(changed);
        self.changed.is_none_or(|changed| since(changed) >= facts.rules.hold)
    }

    fn dwelt_at(&self, rules: &TierRules) -> Option<Instant> {
        self.changed.and_then(|changed| changed.checked_add(rules.hold))
    }
}

/// Answered within the limit, and within the tool's own maximum.
fn is_good(sample: &Sample, limit: Duration, max: Option<Duration>) -> bool {
    let allowed = max.map_or(limit, |max| max.min(limit));
    sample.ending == SampleEnding::Answered && sample.span <= allowed
}

/// The expected latency fits the tier, but the tail does not.
fn is_bimodal(cause: &TierCause, figures: &LatencyStats, ceiling: Duration) -> bool {
    let TierBasis::Measured { expected, .. } = cause.basis else { return false };
    expected <= ceiling && figures.p95().is_some_and(|tail| tail > ceiling)
}

/// The limit for moving down to a tier. To stay in it, the ceiling itself suffices (hysteresis).
pub fn comfortable(ceiling: Duration) -> Duration {
    ceiling - ceiling / 10
}

fn above(tier: Tier) -> Tier {
    match tier {
        Tier::Fast => Tier::Standard,
        Tier::Standard | Tier::Deep => Tier::Deep,
    }
}

fn below(tier: Tier) -> Option<Tier> {
    match tier {
        Tier::Fast => None,
        Tier::Standard => Some(Tier::Fast),
        Tier::Deep => Some(Tier::Standard),
    }
}

#[cfg(test)]
mod tests;
