//! Trust in tools that others wrote: a server's own words first, then those for all.

use tollgate_core::call::Mark;
use tollgate_core::tool::TaintRule;
use tollgate_core::trust::{OnChange, OnFinding, Pinning, Policy};

use super::super::raw::Fields;

/// What holds for a server without words of its own.
pub(super) fn usual(top: &Fields) -> Policy {
    policy(top, Policy::default())
}

/// What `fields` say under `trust`, on top of `usual`.
pub(super) fn policy(fields: &Fields, usual: Policy) -> Policy {
    let Some(said) = fields.section("trust") else { return usual };
    let word = |key: &str| said.text(key).map(|text| text.value);
    Policy {
        pin: match word("pin") {
            Some("first_use") => Pinning::FirstUse,
            Some("reviewed") => Pinning::Reviewed,
            Some("off") => Pinning::Off,
            _ => usual.pin,
        },
        on_change: match word("on_change") {
            Some("quarantine") => OnChange::Quarantine,
            Some("flag") => OnChange::Flag,
            _ => usual.on_change,
        },
        on_finding: match word("on_finding") {
            Some("quarantine") => OnFinding::Quarantine,
            Some("flag") => OnFinding::Flag,
            _ => usual.on_finding,
        },
        taint: match word("taint") {
            Some("off") => TaintRule::Off,
            Some("ask") => TaintRule::Ask,
            Some("deny") => TaintRule::Deny,
            _ => usual.taint,
        },
    }
}

/// Whether models are told in the text of results whose they are, on top of `usual`.
pub(super) fn mark(fields: &Fields, usual: Mark) -> Mark {
    let said = fields.section("trust").and_then(|said| said.text("mark"));
    match said.map(|text| text.value) {
        Some("on") => Mark::On,
        Some("off") => Mark::Off,
        _ => usual,
    }
}
