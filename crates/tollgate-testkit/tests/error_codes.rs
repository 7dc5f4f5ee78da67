//! Error codes of the HTTP APIs are a contract: each has one status, a row in `docs/errors.md`, and a
//! test that names it (R-39).

#![expect(clippy::unwrap_used, reason = "the patterns are constants")]

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use tollgate_testkit::{RepositoryFile, root, sources};

/// The one code whose status depends on who reads it: a caller lost access, or an approver decides
/// on a call whose caller did.
const TWO_STATUSES: &str = "revoked";

/// Codes that no test names yet, most of them because they need a fault of the machine. This list
/// may only become shorter.
const UNNAMED: [&str; 19] = [
    "audit_unreadable",
    "keys_in_force",
    "keys_unavailable",
    "memory_unavailable",
    "no_audit",
    "no_keyring",
    "no_room_for_answer",
    "no_socket",
    "no_stream_token",
    "no_worker_ready",
    "not_acceptable",
    "not_written",
    "session_busy",
    "too_many_programs",
    "too_many_tools",
    "too_many_trials",
    "unknown_verb",
    "usage_unreadable",
    "wrong_model",
];

const STATUSES: [(&str, &str); 22] = [
    ("BAD_GATEWAY", "502"),
    ("BAD_REQUEST", "400"),
    ("CONFLICT", "409"),
    ("FORBIDDEN", "403"),
    ("GATEWAY_TIMEOUT", "504"),
    ("HTTP_VERSION_NOT_SUPPORTED", "505"),
    ("INTERNAL_SERVER_ERROR", "500"),
    ("METHOD_NOT_ALLOWED", "405"),
    ("NOT_ACCEPTABLE", "406"),
    ("NOT_FOUND", "404"),
    ("NOT_IMPLEMENTED", "501"),
    ("PAYLOAD_TOO_LARGE", "413"),
    ("PRECONDITION_FAILED", "412"),
    ("PRECONDITION_REQUIRED", "428"),
    ("REQUEST_TIMEOUT", "408"),
    ("SERVICE_UNAVAILABLE", "503"),
    ("TOO_MANY_REQUESTS", "429"),
    ("UNAUTHORIZED", "401"),
    ("UNPROCESSABLE_ENTITY", "422"),
    ("UNSUPPORTED_MEDIA_TYPE", "415"),
    ("UPGRADE_REQUIRED", "426"),
    ("URI_TOO_LONG", "414"),
];

const OWN_FILE: &str = "tollgate-testkit/tests/error_codes.rs";

/// Codes and their statuses.
type Codes = BTreeMap<String, BTreeSet<String>>;

/// The first two columns of the tables: a status, and codes.
fn documented_codes() -> Codes {
    let text = std::fs::read_to_string(root().join("docs/errors.md")).expect("docs/errors.md");
    let row = Regex::new(r"(?m)^\| (\d{3}) \| ([^|]*) \|").unwrap();
    let code = Regex::new(r"`([a-z][a-z0-9_]+)`").unwrap();
    let mut codes = Codes::new();
    for found in row.captures_iter(&text) {
        for name in code.captures_iter(&found[2]) {
            codes.entry(name[1].to_owned()).or_default().insert(found[1].to_owned());
        }
    }
    assert!(codes.len() > 100, "the tables of docs/errors.md were not read");
    codes
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// Without the tests at the end of the file.
fn tested_part(file: &RepositoryFile) -> &str {
    file.text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

/// Where a status stands beside a code.
fn written_codes() -> Codes {
    let pair = Regex::new(r#"StatusCode::([A-Z_]+),\s*"([a-z][a-z0-9_]+)""#).unwrap();
    let statuses = BTreeMap::from(STATUSES);
    let mut codes = Codes::new();
    for file in sources("crates/tollgate-server/src", ".rs").iter().filter(|it| !is_test(&it.path))
    {
        for found in pair.captures_iter(tested_part(file)) {
            let status = statuses.get(&found[1]);
            let status = status.unwrap_or_else(|| panic!("add {} to STATUSES", &found[1]));
            codes.entry(found[2].to_owned()).or_default().insert((*status).to_owned());
        }
    }
    codes
}

#[test]
fn each_code_has_one_status_and_a_row_with_it() {
    let documented = documented_codes();
    for (code, statuses) in &documented {
        let is_one = statuses.len() == 1 || code == TWO_STATUSES;
        assert!(is_one, "docs/errors.md: `{code}` has the statuses {statuses:?}");
    }
    for (code, statuses) in written_codes() {
        let rows = documented.get(&code);
        assert!(
            rows.is_some_and(|rows| statuses.is_subset(rows)),
            "`{code}` has the statuses {statuses:?}, in docs/errors.md {rows:?}"
        );
    }
}

#[test]
fn r_39_each_code_is_named_by_a_test() {
    let mut tests = String::new();
    for file in sources("crates", ".rs").iter().filter(|it| !it.path.ends_with(OWN_FILE)) {
        let tail = if is_test(&file.path) { 0 } else { tested_part(file).len() };
        tests.push_str(&file.text[tail..]);
    }
    for file in sources("interop", ".py").iter().chain(&sources("ui/tests", ".ts")) {
        tests.push_str(&file.text);
    }
    let words: BTreeSet<&str> =
        tests.split(|it: char| !it.is_alphanumeric() && it != '_').collect();
    let documented = documented_codes();
    let unnamed: Vec<&str> =
        documented.keys().map(String::as_str).filter(|code| !words.contains(code)).collect();
    assert_eq!(unnamed, UNNAMED, "the codes that no test names");
}
