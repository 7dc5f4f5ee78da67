//! What latency alone says of a tool: measured, else declared, else nothing.

use std::time::Duration;

use super::{Basis, Facts, Held, comfortable};
use crate::budget::{Ceilings, Tier};
use crate::latency::Figures;

/// On what a tool stands in its tier, health aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Footing {
    /// Nothing is known: any tier that is found is the first.
    None,
    Declared(Tier),
    Measured(Tier),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) tier: Tier,
    pub(super) basis: Basis,
    pub(super) held: Option<Held>,
}

impl Expected {
    pub(super) fn footing(&self) -> Footing {
        match self.basis {
            Basis::Measured { .. } | Basis::Earlier => Footing::Measured(self.tier),
            Basis::Declared(_) => Footing::Declared(self.tier),
            Basis::Unknown { .. } | Basis::Trial { .. } => Footing::None,
        }
    }
}

pub(super) fn expected(
    footing: Footing,
    figures: &Figures,
    enough: usize,
    facts: &Facts<'_>,
) -> Expected {
    let (rules, calls) = (facts.rules, figures.timed());
    let percentile = rules.percentile.min(100);
    let measured = figures.percentile(percentile).filter(|_| calls >= enough);
    if let Some(expected) = measured {
        let sure = figures.surely(percentile).unwrap_or(expected);
        let (tier, held) = match footing {
            Footing::None => (rules.ceilings.fit(expected), None),
            Footing::Declared(tier) | Footing::Measured(tier) => {
                step(tier, expected, sure, &rules.ceilings)
            }
        };
        return Expected { tier, basis: Basis::Measured { percentile, expected, calls }, held };
    }
    let (tier, basis) = match (footing, facts.estimated()) {
        // A slow tool that only fails by now is not as fast as it was declared to be.
        (Footing::Measured(tier), _) => (tier, Basis::Earlier),
        (Footing::None | Footing::Declared(_), Some(span)) => {
            (rules.ceilings.fit(span), Basis::Declared(span))
        }
        (Footing::None | Footing::Declared(_), None) => {
            (Tier::UNKNOWN, Basis::Unknown { calls, enough })
        }
    };
    Expected { tier, basis, held: None }
}

/// Up as soon as it no longer fits; down only where it fits well, and not by chance.
fn step(
    tier: Tier,
    expected: Duration,
    sure: Duration,
    ceilings: &Ceilings,
) -> (Tier, Option<Held>) {
    let fit = ceilings.fit(expected);
    if fit >= tier {
        return (fit, None);
    }
    let fits_well = |lower: &Tier| sure <= comfortable(ceilings.of(*lower));
    if let Some(lower) = Tier::ALL.into_iter().find(fits_well).filter(|lower| *lower < tier) {
        return (lower, held(lower, expected, ceilings));
    }
    (tier, held(tier, expected, ceilings))
}

/// Why it is not in the next lower tier, where its expected latency would fit that.
fn held(tier: Tier, expected: Duration, ceilings: &Ceilings) -> Option<Held> {
    let lower = super::below(tier).filter(|lower| expected <= ceilings.of(*lower))?;
    let limit = comfortable(ceilings.of(lower));
    Some(if expected <= limit { Held::Uneven { lower } } else { Held::Border { lower, limit } })
}
