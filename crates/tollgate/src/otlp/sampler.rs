//! Which traces are kept, as `OTEL_TRACES_SAMPLER` says.

use tollgate_core::trace::{Context, Sampling, TraceId};

/// Of 2^56, by which the random part of a trace's id is measured.
const ALL: f64 = (1_u64 << 56) as f64;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sampler {
    pub(super) root: Root,
    pub(super) heeds: Heeds,
}

/// What is decided where nobody has decided before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Root {
    All,
    Nothing,
    /// This part of all, the same traces everywhere.
    Part(f64),
}

/// Whether a decision that was made before holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heeds {
    Parent,
    Nobody,
}

impl Default for Sampler {
    fn default() -> Self {
        Self { root: Root::All, heeds: Heeds::Parent }
    }
}

impl Sampler {
    /// `None` if there is no such sampler, or its argument is none.
    pub(super) fn parse(name: &str, argument: Option<&str>) -> Option<Self> {
        let (heeds, root) = match name.strip_prefix("parentbased_") {
            Some(root) => (Heeds::Parent, root),
            None => (Heeds::Nobody, name),
        };
        let root = match root {
            "always_on" => Root::All,
            "always_off" => Root::Nothing,
            "traceidratio" => {
                let ratio = argument.map_or(Some(1.0), |text| text.trim().parse::<f64>().ok())?;
                Root::Part((0.0..=1.0).contains(&ratio).then_some(ratio)?)
            }
            _ => return None,
        };
        Some(Self { root, heeds })
    }

    pub(super) fn percent(percent: u64) -> Self {
        Self { root: Root::Part(percent as f64 / 100.0), heeds: Heeds::Parent }
    }

    pub(super) fn samples(self, parent: Option<&Context>, trace: TraceId) -> Sampling {
        let keeps = match (self.heeds, parent) {
            (Heeds::Parent, Some(parent)) => parent.is_sampled(),
            (Heeds::Parent, None) | (Heeds::Nobody, _) => match self.root {
                Root::All => true,
                Root::Nothing => false,
                // Random numbers from the top on are kept, so that a smaller part is within a larger.
                Root::Part(part) => trace.randomness() >= ((1.0 - part) * ALL) as u64,
            },
        };
        if keeps { Sampling::Kept } else { Sampling::Dropped }
    }
}

#[cfg(test)]
mod tests;
