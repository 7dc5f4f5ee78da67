//! `tollgate tools review|diff|accept|reject` against the fake gateway.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::fake::{self, Gateway};
use crate::{Run, tollgate};

const ROUTES: &[(&str, &str)] = &[
    ("GET /healthz", r#"{"tollgate":"0.1.0"}"#),
    (
        "GET /api/tools/bank/pay",
        r#"{"name":"bank_pay","server":"bank","tool":"pay","verdict":"withheld","reason":"changed",
            "why":"its server changed it since it was trusted","hash":"abcdef0123456789",
            "findings":[{"kind":"secrecy","at":"/description","text":"`/description` asks\u001b[8m that"}],
            "changes":[{"at":"/description","before":"Pays","after":"Pays\u001b[8m\u200b more"},
              {"at":"/new","before":null,"after":"1"}],"offered":{},"trusted":{}}"#,
    ),
    (
        "GET /api/tools/bank/a%2Fb%20c",
        r#"{"name":"bank_a_b_c","verdict":"withheld","why":"new","hash":"00","findings":[],
            "changes":null,"offered":{"name":"a/b c","description":"\u202eevil\u0007"}}"#,
    ),
    (
        "GET /api/tools",
        r#"{"tools":[
            {"name":"bank_pay","server":"bank","tool":"pay","verdict":"withheld","reason":"changed",
             "why":"its server changed it since it was trusted","hash":"abcdef0123456789"},
            {"name":"bank_a_b_c","server":"bank","tool":"a/b c","verdict":"withheld","reason":"new",
             "why":"\u001b[2Jit is new","hash":"00"},
            {"name":"bank_old","server":"bank","tool":"old","verdict":"withheld","reason":"rejected",
             "why":"this definition of it was rejected","hash":"11"},
            {"name":"web_find","server":"web","tool":"find","verdict":"flagged","reason":"finding",
             "why":"it looks suspicious","hash":"22"},
            {"name":"roll","server":"dice","tool":"roll","verdict":"served","hash":"33"}]}"#,
    ),
    ("POST /api/tools/bank/pay/accept", r#"{"name":"bank_pay","verdict":"served"}"#),
    ("POST /api/tools/bank/a%2Fb%20c/accept", r#"{"name":"bank_a_b_c","verdict":"served"}"#),
    ("POST /api/tools/bank/pay/reject", r#"{"name":"bank_pay","verdict":"withheld"}"#),
];

fn at(gateway: &Gateway, folder: &Path, arguments: &[&str]) -> Run {
    let listen = gateway.address.to_string();
    tollgate(folder, &[arguments, &["--listen", &listen]].concat())
}

fn stage() -> (Gateway, TempDir) {
    (fake::serve(ROUTES), TempDir::new().expect("a folder"))
}

fn is_safe(text: &str) -> bool {
    !text.chars().any(|c| (c.is_control() && c != '\n') || matches!(c, '\u{200b}' | '\u{202e}'))
}

#[test]
fn what_waits_is_shown_with_its_reason_and_nothing_that_a_terminal_obeys() {
    let (gateway, folder) = stage();
    let run = at(&gateway, folder.path(), &["tools", "review"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("bank_pay    bank    withheld  abcdef012345  its server changed"));
    assert!(run.stdout.contains("\\u{1b}[2Jit is new") && is_safe(&run.stdout), "{}", run.stdout);
    assert!(!run.stdout.contains("roll"), "{}", run.stdout);
    assert!(run.stderr.contains("3 tools withheld, 1 served with a warning"), "{}", run.stderr);
    let run = at(&gateway, folder.path(), &["tools", "review", "--server", "web", "--json"]);
    let shown: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(shown["tools"].as_array().unwrap().len(), 1);
}

#[test]
fn a_diff_shows_what_changed_and_what_hides() {
    let (gateway, folder) = stage();
    let run = at(&gateway, folder.path(), &["tools", "diff", "bank_pay"]);
    assert_eq!(
        run.stdout,
        "bank_pay is withheld: its server changed it since it was trusted\n\
         offered abcdef0123456789\n\
         found: `/description` asks\\u{1b}[8m that\n\
         /description\n  - Pays\n  + Pays\\u{1b}[8m\\u{200b} more\n/new\n  + 1\n"
    );
    let run = at(&gateway, folder.path(), &["tools", "diff", "bank/a/b c"]);
    assert!(run.stdout.contains("\\u{202e}evil\\u0007") && is_safe(&run.stdout), "{}", run.stdout);
    let run = at(&gateway, folder.path(), &["tools", "diff", "nothing"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("no server lists a tool `nothing` now"), "{}", run.stderr);
}

#[test]
fn a_decision_sends_the_hash_that_was_shown() {
    let (gateway, folder) = stage();
    let run = at(&gateway, folder.path(), &["tools", "accept", "bank/pay"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "accepted bank_pay: served now\n"));
    let requests = gateway.make_request();
    let last = requests.last().unwrap();
    assert_eq!(last, r#"POST /api/tools/bank/pay/accept {"hash":"abcdef0123456789"}"#);
    let run = at(&gateway, folder.path(), &["tools", "reject", "bank_pay", "--hash", "ABCDEF"]);
    assert_eq!(run.stdout, "rejected bank_pay: withheld now\n");
    let run = at(&gateway, folder.path(), &["tools", "accept", "bank_pay", "--hash", "99"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("now has another definition"), "{}", run.stderr);
}

#[test]
fn all_that_wait_are_accepted_but_not_what_was_rejected() {
    let (gateway, folder) = stage();
    let run = at(&gateway, folder.path(), &["tools", "accept", "--all", "--server", "bank"]);
    assert_eq!(run.stdout, "accepted bank_pay: served now\naccepted bank_a_b_c: served now\n");
    let run = at(&gateway, folder.path(), &["tools", "accept", "--all", "--server", "web"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    for wrong in
        [&["tools", "accept"][..], &["tools", "reject"], &["tools", "accept", "a", "--all"]]
    {
        assert_eq!(at(&gateway, folder.path(), wrong).code, Some(2), "{wrong:?}");
    }
    let run = at(&gateway, folder.path(), &["tools", "--agent", "x"]);
    assert_ne!(run.code, Some(2), "flags beside the commands: {}", run.stderr);
}
