//! A lost database does not open the gateway, and the audit trail reports what is missing.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::serving::Serving;
use crate::tollgate;

const OFFLINE: [&str; 2] = ["--listen", "127.0.0.1:0"];

fn data(folder: &Path, name: &str) -> PathBuf {
    folder.join(".tollgate").join(name)
}

fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let run = tollgate(folder, &[arguments, &OFFLINE[..]].concat());
    (run.code, format!("{}{}", run.stdout, run.stderr))
}

/// The last row that is anchored.
fn anchor_row(folder: &Path) -> u64 {
    let text = fs::read_to_string(data(folder, "tollgate-audit.anchor")).unwrap_or_default();
    let anchor: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    anchor["last"]["row"].as_u64().unwrap_or(0)
}

/// A gateway that was given a key, served, and was killed.
fn bytes_used() -> TempDir {
    let folder = TempDir::new().unwrap();
    let config = r#"{"budget": {"calibrate_interval_s": 0}}"#;
    fs::write(folder.path().join("tollgate.yaml"), config).unwrap();
    let gateway = Serving::start(folder.path());
    assert_eq!(gateway.ask("GET /v1/tools", "", "").status, 200, "open, while there are no keys");
    // So that a copy of the database has what there was before the key.
    fs::copy(data(folder.path(), "tollgate.db"), folder.path().join("before.db")).unwrap();
    let listen = ["keys", "create", "phone", "--listen", &gateway.address];
    let made = tollgate(folder.path(), &listen);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert_eq!(gateway.ask("GET /v1/tools", "", "").status, 401);
    let is_anchored = |_: &u32| {
        std::thread::sleep(Duration::from_millis(50));
        anchor_row(folder.path()) > 0
    };
    // The anchor follows; without it, what is lost is not missed, and tests say so.
    let _ = (0..100).any(|at| is_anchored(&at));
    gateway.kill();
    folder
}

fn remove(folder: &Path, names: &[&str]) {
    for name in names {
        let _ = fs::remove_file(data(folder, name));
    }
}

const DATABASE: [&str; 3] = ["tollgate.db", "tollgate.db-wal", "tollgate.db-shm"];

/// The ways to lose it, and whether rows of the trail are lost with it.
type Way = (&'static str, fn(&Path));

const WAYS: &[Way] = &[
    ("removed", |folder| remove(folder, &DATABASE)),
    ("truncated, with its log", |folder| {
        fs::write(data(folder, "tollgate.db"), "").unwrap();
        remove(folder, &DATABASE[1..]);
    }),
    ("without its log", |folder| remove(folder, &DATABASE[1..])),
    ("an empty file in its place", |folder| {
        remove(folder, &DATABASE);
        fs::write(data(folder, "tollgate.db"), "").unwrap();
    }),
    ("an older copy", |folder| {
        remove(folder, &DATABASE);
        fs::copy(folder.join("before.db"), data(folder, "tollgate.db")).unwrap();
    }),
    ("removed with all but the token", |folder| {
        remove(folder, &DATABASE);
        remove(folder, &["tollgate-keys.required", "tollgate-audit.anchor"]);
    }),
];

#[test]
fn losing_the_database_opens_nothing_and_the_trail_says_what_is_lost() {
    for (name, lose) in WAYS {
        let folder = bytes_used();
        lose(folder.path());
        let gateway = Serving::start(folder.path());
        for path in ["GET /v1/tools", "GET /mcp/status", "GET /api/keys", "POST /v1/tools/execute"]
        {
            assert_eq!(gateway.ask(path, "", "").status, 401, "{name}: {path}");
        }
        let token = fs::read_to_string(data(folder.path(), "admin.token")).unwrap();
        let admin = format!("x-api-key: {}\r\n", token.trim());
        assert_eq!(gateway.ask("GET /v1/tools", &admin, "").status, 200, "{name}");
        let text = gateway.kill();
        assert!(text.contains("tollgate keys open"), "{name}: {text}");
        assert!(!text.contains("#token="), "{name}: {text}");
        let (code, verified) = run(folder.path(), &["audit", "verify"]);
        assert_eq!(code, Some(1), "{name}: {verified}");
        assert!(verified.contains("the audit trail has lost rows"), "{name}: {verified}");
        let (code, json) = run(folder.path(), &["audit", "verify", "--json"]);
        assert_eq!(code, Some(1), "{name}");
        assert!(json.contains("\"ok\": false") || json.contains("\"ok\":false"), "{name}: {json}");
    }
}

#[test]
fn what_was_lost_is_opened_and_acknowledged_on_purpose_only() {
    let folder = bytes_used();
    remove(folder.path(), &DATABASE);
    let gateway = Serving::start(folder.path());
    assert_eq!(gateway.ask("GET /v1/tools", "", "").status, 401);
    let (code, text) = run(folder.path(), &["keys", "open"]);
    assert_eq!(code, Some(0), "{text}");
    let is_open = |_: &u32| {
        std::thread::sleep(Duration::from_millis(50));
        gateway.ask("GET /v1/tools", "", "").status == 200
    };
    assert!((0..400).any(|at| is_open(&at)), "the gateway notices");
    gateway.kill();
    let gateway = Serving::start(folder.path());
    assert_eq!(gateway.ask("GET /v1/tools", "", "").status, 200, "and stays open");
    gateway.kill();
    assert_eq!(run(folder.path(), &["audit", "verify"]).0, Some(1), "the loss is still known");
    let (code, text) = run(folder.path(), &["audit", "acknowledge"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("acknowledged: rows are missing from the end"), "{text}");
    let (code, text) = run(folder.path(), &["audit", "verify"]);
    assert_eq!(code, Some(0), "{text}");
    let (_, rows) = run(folder.path(), &["audit", "--kind", "lost", "--json"]);
    assert!(rows.contains("\"found\"") && rows.contains("\"acknowledged\""), "{rows}");
}

#[test]
fn keys_in_force_are_not_opened_by_command() {
    let folder = bytes_used();
    let (code, text) = run(folder.path(), &["keys", "open"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("revoke them first"), "{text}");
    assert_eq!(run(folder.path(), &["keys", "revoke", "phone"]).0, Some(0));
    assert_eq!(Serving::start(folder.path()).ask("GET /v1/tools", "", "").status, 401);
    assert_eq!(run(folder.path(), &["keys", "open"]).0, Some(0));
    assert_eq!(Serving::start(folder.path()).ask("GET /v1/tools", "", "").status, 200);
}

/// Rows that are taken out by whoever can write the file, while nothing runs.
#[test]
fn rows_that_somebody_took_out_are_missed_wherever_they_stood() {
    let taken = [
        ("the end", "DELETE FROM audit WHERE sequence = (SELECT max(sequence) FROM audit);
            UPDATE audit_chain SET last_sequence = coalesce((SELECT max(sequence) FROM audit), 0),
            last_hash = coalesce((SELECT hash FROM audit ORDER BY sequence DESC LIMIT 1), zeroblob(32))"),
        ("the beginning", "UPDATE audit_chain SET cut_sequence = 1,
            cut_hash = (SELECT hash FROM audit WHERE sequence = 1);
            DELETE FROM audit WHERE sequence = 1"),
        ("the middle", "DELETE FROM audit WHERE sequence = 2"),
        ("all of them", "DELETE FROM audit;
            UPDATE audit_chain SET last_sequence = 0, last_hash = zeroblob(32)"),
    ];
    for (place, sql) in taken {
        let folder = bytes_used();
        for name in ["car", "watch"] {
            assert_eq!(run(folder.path(), &["keys", "create", name]).0, Some(0));
        }
        assert_eq!(run(folder.path(), &["audit", "verify"]).0, Some(0), "{place}: whole before");
        let database = rusqlite::Connection::open(data(folder.path(), "tollgate.db")).unwrap();
        database.execute_batch(sql).unwrap();
        drop(database);
        let (code, text) = run(folder.path(), &["audit", "verify"]);
        assert_eq!(code, Some(1), "{place}: {text}");
    }
}
