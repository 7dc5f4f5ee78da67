//! Config keys of the audit ledger: retention and redaction.

use super::{KeyKind, PLAIN, PLAINS, SectionSpec, key, required_key, whole};

pub(super) const AUDIT: SectionSpec = SectionSpec {
    title: "audit",
    keys: &[
        key(
            "arguments",
            KeyKind::Choice(&["none", "redacted"]),
            "none",
            "What is kept of arguments beside their SHA-256. `redacted`: up to 16 KB, without secrets",
        ),
        key(
            "redact",
            PLAINS,
            "none",
            "Names of arguments that are secret, beside `password`, `token`, `api_key` and the like",
        ),
        key(
            "durable",
            KeyKind::Choice(&["mutating", "all", "none"]),
            "mutating",
            "Whose row is on the disk before the answer leaves: calls of tools that are not believed to \
             only read, all, or none",
        ),
        key(
            "on_failure",
            KeyKind::Choice(&["refuse", "continue"]),
            "refuse",
            "What becomes of those calls while nothing can be written",
        ),
        key(
            "keep_days",
            whole(0, 36_500, "days"),
            "90",
            "Older rows are removed. 0 keeps them for ever",
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
            "What becomes of a call that has secrets in its arguments",
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
            "What else is a secret, beside the keys and tokens that everybody knows",
        ),
    ],
    elsewhere: &[],
};

const PATTERN: SectionSpec = SectionSpec {
    title: "secrets.patterns[]",
    keys: &[
        required_key("name", PLAIN, "Stands in its place: `[masked:NAME]`"),
        required_key("pattern", super::PROSE, "A regular expression, without look-around"),
    ],
    elsewhere: &[],
};
