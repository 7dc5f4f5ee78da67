//! Trust in tools that others wrote: a server's own words first, then those for all.

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
    }
}
