//! The tier by latency alone: measured, else declared, else unknown.

use std::time::Duration;

use super::{TierBasis, TierFacts, TierHold, comfortable};
use crate::budget::{Ceilings, Tier};
use crate::latency::LatencyStats;

/// The evidence for the tier of a tool, without its health.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TierEvidence {
    /// No evidence: the first tier found is taken.
    None,
    Declared(Tier),
    Measured(Tier),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExpectedTier {
    pub(super) tier: Tier,
    pub(super) basis: TierBasis,
    pub(super) held: Option<TierHold>,
}

impl ExpectedTier {
    pub(super) fn footing(&self) -> TierEvidence {
        match self.basis {
            TierBasis::Measured { .. } | TierBasis::Earlier => TierEvidence::Measured(self.tier),
            TierBasis::Declared(_) => TierEvidence::Declared(self.tier),
            TierBasis::Unknown { .. } | TierBasis::Trial { .. } => TierEvidence::None,
        }
    }
}

pub(super) fn judge_latency(
    footing: TierEvidence,
    figures: &LatencyStats,
    enough: usize,
    facts: &TierFacts<'_>,
) -> ExpectedTier {
    let rules = facts.rules;
    let calls = figures.timed_calls();
    let percentile = rules.percentile.min(100);
    let measured = figures.percentile(percentile).filter(|_| calls >= enough);
    if let Some(expected) = measured {
        let sure = figures.surely(percentile).unwrap_or(expected);
        let (tier, held) = match footing {
            TierEvidence::None => (rules.ceilings.fit(expected), None),
            TierEvidence::Declared(tier) | TierEvidence::Measured(tier) => {
                step(tier, expected, sure, &rules.ceilings)
            }
        };
        return ExpectedTier {
            tier,
            basis: TierBasis::Measured { percentile, expected, calls },
            held,
        };
    }
    let (tier, basis) = match (footing, facts.estimated_latency()) {
        // A slow tool that now only fails is not as fast as declared.
        (TierEvidence::Measured(tier), _) => (tier, TierBasis::Earlier),
        (TierEvidence::None | TierEvidence::Declared(_), Some(span)) => {
            (rules.ceilings.fit(span), TierBasis::Declared(span))
        }
        (TierEvidence::None | TierEvidence::Declared(_), None) => {
            (Tier::UNKNOWN, TierBasis::Unknown { calls, enough })
        }
    };
    ExpectedTier { tier, basis, held: None }
}

/// Moves up as soon as it no longer fits; down only with a margin, and not by chance.
fn step(
    tier: Tier,
    expected: Duration,
    sure: Duration,
    ceilings: &Ceilings,
) -> (Tier, Option<TierHold>) {
    let fit = ceilings.fit(expected);
    if fit >= tier {
        return (fit, None);
    }
    let fits_well = |lower: &Tier| sure <= comfortable(ceilings.of(*lower));
    if let Some(lower) = Tier::ALL.into_iter().find(fits_well).filter(|lower| *lower < tier) {
        return (lower, hold_reason(lower, expected, ceilings));
    }
    (tier, hold_reason(tier, expected, ceilings))
}

/// Why it is not in the next lower tier, although its expected latency would fit.
fn hold_reason(tier: Tier, expected: Duration, ceilings: &Ceilings) -> Option<TierHold> {
    let lower = super::below(tier).filter(|lower| expected <= ceilings.of(*lower))?;
    let limit = comfortable(ceilings.of(lower));
    Some(if expected <= limit {
        TierHold::Uneven { lower }
    } else {
        TierHold::Border { lower, limit }
    })
}
