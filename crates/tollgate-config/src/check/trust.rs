//! Trust in tools of upstream servers: pins, quarantine on a change or on a prompt injection
//! finding. Settings of a server take precedence.

use tollgate_core::call::UntrustedMarking;
use tollgate_core::tool::TaintRule;
use tollgate_core::trust::{OnChange, OnFinding, Pinning, TrustPolicy};

use super::super::raw::SectionFields;

/// Default policy of servers without their own.
pub(super) fn usual(top: &SectionFields) -> TrustPolicy {
    policy(top, TrustPolicy::default())
}

/// The section `trust` of `fields`, on top of `usual`.
pub(super) fn policy(fields: &SectionFields, usual: TrustPolicy) -> TrustPolicy {
    let Some(section) = fields.section("trust") else { return usual };
    let word = |key: &str| section.text(key).map(|text| text.value);
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

/// Whether results are marked with their source for models, on top of `usual`.
pub(super) fn mark(fields: &SectionFields, usual: UntrustedMarking) -> UntrustedMarking {
    let trust_mark = fields.section("trust").and_then(|trust_mark| trust_mark.text("mark"));
    match trust_mark.map(|text| text.value) {
        Some("on") => UntrustedMarking::On,
        Some("off") => UntrustedMarking::Off,
        _ => usual,
    }
}
