//! Audit settings: retention, and redaction of recorded calls.

use std::time::Duration;

use tollgate_core::mask::MaskPattern;
use tollgate_engine::settings::{
    ArgumentRecording, Audit, AuditDurability, OnAuditFailure, SecretArgumentPolicy,
    SecretResultPolicy, SecretSettings,
};

use super::super::diagnostic::Problems;
use super::super::raw::SectionFields;

const DAY: u64 = 24 * 3_600;

pub(super) fn audit(top: &SectionFields) -> Audit {
    let usual = Audit::default();
    let Some(fields) = top.section("audit") else { return usual };
    let chosen = |key: &str| fields.text(key).map(|text| text.value);
    Audit {
        arguments: match chosen("arguments") {
            Some("redacted") => ArgumentRecording::Redacted,
            _ => ArgumentRecording::None,
        },
        redact: fields.texts("redact").iter().map(|text| text.value.to_owned()).collect(),
        durable: match chosen("durable") {
            Some("all") => AuditDurability::All,
            Some("none") => AuditDurability::None,
            _ => AuditDurability::Mutating,
        },
        on_failure: match chosen("on_failure") {
            Some("continue") => OnAuditFailure::Continue,
            _ => OnAuditFailure::Refuse,
        },
        keep: match fields.whole("keep_days").map(|days| days.value) {
            None => usual.keep,
            Some(0) => None,
            Some(days) => Some(Duration::from_secs(days * DAY)),
        },
        keep_rows: fields.whole("keep_rows").map_or(usual.keep_rows, |rows| rows.value),
    }
}

pub(super) fn secrets(top: &SectionFields, problems: &mut Problems) -> SecretSettings {
    let Some(fields) = top.section("secrets") else { return SecretSettings::default() };
    let chosen = |key: &str| fields.text(key).map(|text| text.value);
    let mut patterns = Vec::new();
    for entry in fields.entries("patterns") {
        let (Some(name), Some(pattern)) = (entry.text("name"), entry.text("pattern")) else {
            continue;
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.value.is_empty() || !name.value.chars().all(is_plain) {
            let message = format!("`{}` is not a valid pattern name", name.value);
            problems
                .error(name.at, &entry.path("name"), message)
                .help("use letters, digits, `_` and `-`");
        }
        match MaskPattern::new(name.value, pattern.value) {
            Ok(pattern) => patterns.push(pattern),
            Err(error) => {
                problems
                    .error(pattern.at, &entry.path("pattern"), format!("invalid pattern: {error}"))
                    .help("it must match at least one character; look-around is not supported");
            }
        }
    }
    SecretSettings {
        arguments: match chosen("arguments") {
            Some("mask") => SecretArgumentPolicy::Masked,
            Some("refuse") => SecretArgumentPolicy::Refused,
            _ => SecretArgumentPolicy::Passed,
        },
        results: match chosen("results") {
            Some("mask") => SecretResultPolicy::Masked,
            _ => SecretResultPolicy::Passed,
        },
        patterns,
    }
}
