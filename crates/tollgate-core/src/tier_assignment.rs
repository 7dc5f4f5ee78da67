//! Which tier a tool belongs to, with hysteresis, and why: from measured latency, else from what
//! was declared.
//!
//! One state machine per tool, asked whenever a sample or a moment may have changed something.
//! Knows no tools and no clock: time is an argument and may stand still.

use std::time::{Duration, Instant};

use crate::budget::Tier;
use crate::latency::{LatencyStats, LatencyWindow, Sample, SampleEnding};

mod assigned_tier;
mod expected_tier;
mod health;
mod saved_assignment;
mod tier_facts;
mod trial;

pub use assigned_tier::{
    AssignedTier, HealthComplaint, HealthProblem, TierBasis, TierCause, TierHold, TierLift,
};
pub use health::ToolHealth;
pub use saved_assignment::SavedTierAssignment;
pub use tier_facts::{DeclaredLatency, TierFacts, TierRules};

use expected_tier::{ExpectedTier, TierEvidence};
use trial::TierTrial;

/// So many good calls in a row say more than all that was before them.
pub const RUN: usize = 10;

/// A run that may have been luck makes the next one twice as long, up to this.
const LONGEST_RUN: usize = 80;
/// Calls since the last run after which it was no luck: none of the run itself is in the window.
const PROOF: u64 = 2 * LatencyWindow::SIZE as u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TierVerdict {
    Same,
    Moved { from: Tier, to: Tier },
}

/// Where one tool stands in one environment.
#[derive(Debug)]
pub struct TierAssignment {
    assigned: AssignedTier,
    footing: TierEvidence,
    health: ToolHealth,
    /// The lowest tier where it ever stood by measurement.
    home: Option<Tier>,
    /// The lowest tier that it may hope for: its home, or what is declared.
    floor: Tier,
    /// Samples before this mark no longer count.
    epoch: u64,
    /// How many good calls in a row begin the next epoch.
    run: usize,
    trial: Option<TierTrial>,
    /// Since the tool was last measured well.
    failed_trials: u32,
    /// Samples that were there at the last look.
    seen: u64,
    /// When the last sample was noticed, or a trial began.
    quiet_since: Instant,
    changed: Option<Instant>,
    next_look: Option<Instant>,
}

/// One reading of the window.
struct WindowReading {
    figures: LatencyStats,
    health: ToolHealth,
    expected: ExpectedTier,
    /// The tier by latency and health, trials aside.
    plain: Tier,
}

impl TierAssignment {
    pub fn new(facts: &TierFacts<'_>) -> Self {
        Self::restore(&SavedTierAssignment::default(), facts)
    }

    /// As it was before a restart. The window must be the one that was kept with it.
    pub fn restore(saved: &SavedTierAssignment, facts: &TierFacts<'_>) -> Self {
        let recorded = facts.window.recorded_count();
        let mut standing = Self {
            assigned: AssignedTier { tier: saved.tier(), ..AssignedTier::default() },
            footing: saved.measured.map_or(TierEvidence::None, TierEvidence::Measured),
            health: saved.health,
            home: saved.home,
            floor: saved.tier(),
            epoch: recorded.saturating_sub(u64::from(saved.epoch)),
            run: (saved.run as usize).clamp(RUN, LONGEST_RUN),
            trial: None,
            failed_trials: saved.failed_trials,
            seen: recorded,
            quiet_since: facts.now,
            changed: None,
            next_look: None,
        };
        standing.judge(facts);
        // The first assignment is no change: the next may follow at once.
        standing.changed = None;
        standing
    }

    /// Looks at the window and the time, and says whether the tier is another one now.
    pub fn judge(&mut self, facts: &TierFacts<'_>) -> TierVerdict {
        self.notice(facts);
        self.follow_trial(facts);
        let samples = facts.window.numbered_samples(self.epoch);
        let mut samples = samples.as_slice();
        let mut look = self.look(samples, facts);
        while let Some(run) = self.good_run(self.assigned.tier.max(look.plain), samples, facts) {
            samples = run;
            self.epoch = run[0].0;
            self.run = (self.run * 2).min(LONGEST_RUN);
            look = self.look(samples, facts);
        }
        self.health = look.health;
        let declared = facts.estimated_latency().map(|it| facts.rules.ceilings.fit(it));
        let hopes = [self.home, declared].into_iter().flatten();
        self.floor = hopes.fold(look.expected.tier, Tier::min);
        self.begin_or_end_trial(look.plain, facts);
        self.settle(look, facts)
    }

    pub fn assigned(&self) -> &AssignedTier {
        &self.assigned
    }

    /// Would calls that nobody asked for help it? They would where it stands higher than it hopes.
    pub fn should_probe(&self) -> bool {
        self.trial.is_some()
            || self.health != ToolHealth::Healthy
            || self.assigned.tier > self.floor
    }

    /// When time alone may change something. Samples may do so before.
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

    /// How many samples measure something. A run does in any case.
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

    /// The calls at the end that would all do below `tier`, if they are enough to forget those
    /// before: a tool that is good again comes back at once, not when the window has rolled.
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

    /// Takes the wanted tier, unless it changed lately. While it waits, its footing waits too.
    fn settle(&mut self, look: WindowReading, facts: &TierFacts<'_>) -> TierVerdict {
        let WindowReading { figures, expected, plain, .. } = look;
        let from = self.assigned.tier;
        let wanted = self.trial.map_or(plain, |trial| trial.tier);
        let waits = wanted != from && !self.has_dwelt(facts);
        let to = if waits { from } else { wanted };
        if to != from {
            self.changed = Some(facts.now);
        }
        if !waits {
            self.take(&expected, wanted);
        }
        self.next_look =
            if waits { self.dwelt_at(facts.rules) } else { self.trial_due(wanted, facts.rules) };
        let held = if waits {
            Some(TierHold::Dwell { to: wanted, hold: facts.rules.hold })
        } else {
            expected.held
        };
        let lift = if !waits && wanted > expected.tier { TierLift::OneUp } else { TierLift::None };
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

    /// What was found becomes what the next judgement starts from.
    fn take(&mut self, expected: &ExpectedTier, wanted: Tier) {
        self.footing = expected.footing();
        if let TierEvidence::Measured(tier) = self.footing {
            self.home = Some(self.home.map_or(tier, |home| home.min(tier)));
        }
        if self.trial.is_none() && wanted <= self.floor {
            self.failed_trials = 0;
            if self.age() >= PROOF {
                self.run = RUN;
            }
        }
    }

    /// How many samples the epoch has had.
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

/// Answered within the limit, and within what the tool itself is allowed.
fn is_good(sample: &Sample, limit: Duration, max: Option<Duration>) -> bool {
    let allowed = max.map_or(limit, |max| max.min(limit));
    sample.ending == SampleEnding::Answered && sample.span <= allowed
}

/// It is expected to fit its tier, but its tail does not.
fn is_bimodal(cause: &TierCause, figures: &LatencyStats, ceiling: Duration) -> bool {
    let TierBasis::Measured { expected, .. } = cause.basis else { return false };
    expected <= ceiling && figures.p95().is_some_and(|tail| tail > ceiling)
}

/// What a span must fit to bring a tool down to a tier. Up to the ceiling itself it may stay.
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
