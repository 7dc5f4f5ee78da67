//! Trust in tools that others wrote: pins, quarantine on a change or on a prompt injection finding;
//! a server's own words first.

use tollgate_core::call::UntrustedMarking;
use tollgate_core::tool::TaintRule;
use tollgate_core::trust::{OnChange, OnFinding, Pinning, TrustPolicy};

use super::super::raw::SectionFields;

/// What holds for a server without words of its own.
pub(super) fn usual(top: &SectionFields) -> TrustPolicy {
    policy(top, TrustPolicy::default())
}

/// What `fields` say under `trust`, on top of `usual`.
pub(super) fn policy(fields: &SectionFields, usual: TrustPolicy) -> TrustPolicy {
    let Some(said) = fields.section("trust") else { return usual };
    let word = |key: &str| said.text(key).map(|text| text.value);
    TrustPolicy {
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
pub(super) fn mark(fields: &SectionFields, usual: UntrustedMarking) -> UntrustedMarking {
    let said = fields.section("trust").and_then(|said| said.text("mark"));
    match said.map(|text| text.value) {
        Some("on") => UntrustedMarking::On,
        Some("off") => UntrustedMarking::Off,
        _ => usual,
    }
}
