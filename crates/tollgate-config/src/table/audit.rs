//! Config keys of the audit ledger: retention and redaction.

use super::{KeyKind, PLAIN, PLAINS, SectionSpec, key, required_key, whole};

pub(super) const AUDIT: SectionSpec = SectionSpec {
    title: "audit",
    keys: &[
        key(
            "arguments",
            KeyKind::Choice(&["none", "redacted"]),
            "none",
            "Stored arguments, in addition to their SHA-256. `redacted`: up to 16 KB, without \
             secrets",
        ),
        key(
            "redact",
            PLAINS,
            "none",
            "Names of secret arguments, in addition to `password`, `token`, `api_key` and similar",
        ),
        key(
            "durable",
            KeyKind::Choice(&["mutating", "all", "none"]),
            "mutating",
            "Calls whose row is written to disk before the response is sent: those of tools not \
             known as read-only, all, or none",
        ),
        key(
            "on_failure",
            KeyKind::Choice(&["refuse", "continue"]),
            "refuse",
            "What to do with those calls while the audit trail cannot be written",
        ),
        key(
            "keep_days",
            whole(0, 36_500, "days"),
            "90",
            "Older rows are removed. 0 keeps them forever",
        ),
        key(
            "keep_rows",
            whole(1_000, 1_000_000_000, "rows"),
            "10000000",
            "The oldest rows beyond this number are removed",
        ),
    ],
    elsewhere: &[],
};

pub(super) const SECRETS: SectionSpec = SectionSpec {
    title: "secrets",
    keys: &[
        key(
            "arguments",
            KeyKind::Choice(&["off", "mask", "refuse"]),
            "off",
            "What to do with a call whose arguments contain secrets",
        ),
        key(
            "results",
            KeyKind::Choice(&["off", "mask"]),
            "off",
            "Whether secrets in results are replaced by `[masked:KIND]`",
        ),
        key(
            "patterns",
            KeyKind::Entries(&PATTERN),
            "none",
            "Additional patterns of secrets, besides the well-known keys and tokens",
        ),
    ],
    elsewhere: &[],
};

const PATTERN: SectionSpec = SectionSpec {
    title: "secrets.patterns[]",
    keys: &[
        required_key("name", PLAIN, "Name in the replacement: `[masked:NAME]`"),
        required_key("pattern", super::PROSE, "A regular expression, without look-around"),
    ],
    elsewhere: &[],
};
