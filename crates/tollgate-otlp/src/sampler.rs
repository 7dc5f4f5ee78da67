//! Trace sampler, as selected by `OTEL_TRACES_SAMPLER`.

use tollgate_core::trace::{Sampling, SpanContext, TraceId};

/// 2^56, the range of the random part of a trace id.
const ALL: f64 = (1_u64 << 56) as f64;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sampler {
    pub(super) root: RootSampling,
    pub(super) heeds: ParentSampling,
}

/// Decision for traces without a parent decision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RootSampling {
    All,
    Nothing,
    /// This fraction, with the same decision for a trace everywhere.
    Part(f64),
}

/// Whether the parent's decision applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParentSampling {
    Parent,
    Nobody,
}

impl Default for Sampler {
    fn default() -> Self {
        Self { root: RootSampling::All, heeds: ParentSampling::Parent }
    }
}

impl Sampler {
    /// `None` if the sampler is unknown or its argument invalid.
    pub(super) fn parse(name: &str, argument: Option<&str>) -> Option<Self> {
        let (heeds, root) = match name.strip_prefix("parentbased_") {
            Some(root) => (ParentSampling::Parent, root),
            None => (ParentSampling::Nobody, name),
        };
        let root = match root {
            "always_on" => RootSampling::All,
            "always_off" => RootSampling::Nothing,
            "traceidratio" => {
                let ratio = argument.map_or(Some(1.0), |text| text.trim().parse::<f64>().ok())?;
                RootSampling::Part((0.0..=1.0).contains(&ratio).then_some(ratio)?)
            }
            _ => return None,
        };
        Some(Self { root, heeds })
    }

    pub(super) fn percent(percent: u64) -> Self {
        Self { root: RootSampling::Part(percent as f64 / 100.0), heeds: ParentSampling::Parent }
    }

    pub(super) fn samples(self, parent: Option<&SpanContext>, trace: TraceId) -> Sampling {
        let keeps = match (self.heeds, parent) {
            (ParentSampling::Parent, Some(parent)) => parent.is_sampled(),
            (ParentSampling::Parent, None) | (ParentSampling::Nobody, _) => match self.root {
                RootSampling::All => true,
                RootSampling::Nothing => false,
                // High random numbers are kept, so that a smaller fraction is a subset of a larger
                // one.
                RootSampling::Part(part) => trace.randomness() >= ((1.0 - part) * ALL) as u64,
            },
        };
        if keeps { Sampling::Sampled } else { Sampling::Dropped }
    }
}

#[cfg(test)]
mod tests;
