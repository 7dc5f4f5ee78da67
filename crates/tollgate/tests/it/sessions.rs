//! `tollgate sessions` against the fake gateway.

use serde_json::Value;
use tempfile::TempDir;

use crate::{Run, fake, tollgate};

const ROUTES: &[(&str, &str)] = &[
    ("GET /healthz", r#"{"tollgate":"0.1.0"}"#),
    (
        "GET /api/sessions",
        r#"{"sessions":[{"id":"s1","principal":"key:phone","agent":"barkeep","dialect":"gemini-live",
            "model":"voice","tier":null,"tier_reason":"\u001b[2Jnothing","tools":3,
            "since":"2026-11-16T01:00:00Z","turns":7,"calls":2}]}"#,
    ),
    ("DELETE /api/sessions/a%2Fb", "{}"),
    ("POST /api/sessions/s1/tier", r#"{"id":"s1","tier":"fast"}"#),
];

/// What a command says, and what it asked the gateway for beside looking for it.
fn run(arguments: &[&str]) -> (Run, Vec<String>) {
    let folder = TempDir::new().expect("a folder");
    let gateway = fake::serve(ROUTES);
    let listen = gateway.address.to_string();
    let arguments = [&["sessions"], arguments, &["--listen", &listen]].concat();
    let run = tollgate(folder.path(), &arguments);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let requests =
        gateway.make_request().into_iter().filter(|it| !it.contains("/healthz")).collect();
    (run, requests)
}

#[test]
fn sessions_are_shown_to_people_and_to_programs() {
    for arguments in [&[][..], &["list"]] {
        let (listed, _) = run(arguments);
        for word in ["s1", "key:phone", "barkeep", "gemini-live", "voice", "7"] {
            assert!(listed.stdout.contains(word), "{word}: {}", listed.stdout);
        }
        assert!(!listed.stdout.contains('\u{1b}'), "{:?}", listed.stdout);
    }
    let (listed, _) = run(&["--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    assert_eq!(listed["sessions"][0]["turns"], 7);
}

#[test]
fn a_session_is_closed_or_given_a_tier() {
    for (arguments, expected, text) in [
        (&["close", "a/b"][..], "DELETE /api/sessions/a%2Fb", "`a/b` is closed"),
        (
            &["tier", "s1", "fast"],
            r#"POST /api/sessions/s1/tier {"tier":"fast"}"#,
            "`s1` is fast from now on",
        ),
        (
            &["tier", "s1", "auto"],
            r#"POST /api/sessions/s1/tier {"tier":null}"#,
            "`s1` is back to automatic tier selection",
        ),
    ] {
        let (done, requests) = run(arguments);
        assert_eq!(requests, [expected], "{arguments:?}");
        assert!(done.stderr.contains(text), "{}", done.stderr);
    }
}

#[test]
fn without_a_gateway_nobody_talks() {
    let folder = TempDir::new().expect("a folder");
    let run = tollgate(folder.path(), &["sessions", "--listen", "127.0.0.1:9"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("no gateway is running at 127.0.0.1:9"), "{}", run.stderr);
}
