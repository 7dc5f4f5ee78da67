//! database files that are moved, replaced or removed while the gateway runs.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::full_disk::{call, now};
use crate::serving::Serving;
use crate::tollgate;

const TIMEOUT: Duration = Duration::from_secs(30);

struct Place {
    folder: TempDir,
    files: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let files = folder.path().join("files");
        fs::create_dir(&files).unwrap();
        let config = json!({
            "builtin": {"files": files},
            "budget": {"calibrate_interval_s": 0},
        });
        fs::write(folder.path().join("tollgate.yaml"), config.to_string()).unwrap();
        Self { folder, files }
    }

    fn start(&self) -> Serving {
        Serving::start(self.folder.path())
    }

    fn data(&self, name: &str) -> PathBuf {
        self.folder.path().join(".tollgate").join(name)
    }

    fn admin(&self, gateway: &Serving, line: &str) -> Value {
        let token = fs::read_to_string(self.data("admin.token")).unwrap();
        let answer = gateway.ask(line, &format!("x-api-key: {}\r\n", token.trim()), "");
        let (_, body) = answer.text.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap_or_else(|_| Value::from(body))
    }
}

impl Place {
    fn count_rows(&self, gateway: &Serving, query: &str) -> usize {
        let mut rows = 0;
        let mut after = String::new();
        loop {
            let line = format!("GET /api/audit?{query}&limit=1000{after}");
            let page = self.admin(gateway, &line);
            rows += page["rows"].as_array().unwrap().len();
            match page["next"].as_u64() {
                Some(next) => after = format!("&after={next}"),
                None => return rows,
            }
        }
    }
}

fn assert_written(gateway: &Serving) {
    let written = write(gateway);
    assert!(written.contains("\"status\":\"ok\""), "{written}");
}

/// Again if it is not answered in time, as on a busy machine.
fn write(gateway: &Serving) -> String {
    let write = || call(gateway, "write_file", &json!({"path": "a.txt", "content": "x"}));
    let is_answered = |text: &String| !text.contains("\"status\":\"timeout\"");
    (0..20).map(|_| write()).find(is_answered).unwrap()
}

fn ready_state(gateway: &Serving) -> Value {
    let answer = gateway.ask("GET /readyz", "", "");
    let (_, body) = answer.text.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

/// Without a call: nothing but time may be needed to notice.
fn wait_for_state(gateway: &Serving, state: &str) -> Duration {
    let began = now();
    while ready_state(gateway)["state"] != state {
        assert!(began.elapsed() < TIMEOUT, "not {state} in time");
        thread::sleep(Duration::from_millis(20));
    }
    began.elapsed()
}

/// A way to displace a file, and whether something else is then in its place.
#[derive(Debug, Clone, Copy)]
enum Displacement {
    Moved,
    Replaced,
}

impl Displacement {
    fn apply(self, file: &Path, aside: &Path) {
        fs::rename(file, aside).unwrap();
        if matches!(self, Self::Replaced) {
            fs::copy(aside, file).unwrap();
        }
    }
}

const WAYS: [(&str, Displacement); 5] = [
    ("tollgate.db", Displacement::Moved),
    ("tollgate.db", Displacement::Replaced),
    ("tollgate.db-wal", Displacement::Moved),
    ("tollgate.db-wal", Displacement::Replaced),
    ("tollgate.db-shm", Displacement::Moved),
];

#[test]
fn r_26_a_database_that_is_moved_or_replaced_refuses_changes_until_it_is_back() {
    let place = Place::new();
    let gateway = place.start();
    let aside = place.folder.path().join("aside");
    for (name, way) in WAYS {
        assert_written(&gateway);
        fs::write(place.files.join("a.txt"), "before").unwrap();
        way.apply(&place.data(name), &aside);
        // The very next call, before any timer.
        let refused = write(&gateway);
        assert!(refused.contains("the audit trail cannot be written"), "{name} {way:?}: {refused}");
        assert!(refused.contains("removed or replaced while in use"), "{name} {way:?}: {refused}");
        assert_eq!(fs::read_to_string(place.files.join("a.txt")).unwrap(), "before", "{name}");
        let noticed = wait_for_state(&gateway, "audit_failing");
        assert!(noticed <= Duration::from_secs(5), "{name} {way:?}: {noticed:?}");
        let metrics = place.admin(&gateway, "GET /metrics").to_string();
        assert!(metrics.contains("tollgate_audit_writable 0"), "{name} {way:?}");
        let read = call(&gateway, "roll", &json!({"expression": "1d6"}));
        assert!(read.contains("\"status\":\"ok\""), "{name} {way:?}: reading goes on: {read}");
        fs::rename(&aside, place.data(name)).unwrap();
        let took = wait_for_state(&gateway, "ready");
        assert!(took <= Duration::from_secs(5), "{name} {way:?}: {took:?}");
    }
    assert_written(&gateway);
    let verified = place.admin(&gateway, "GET /api/audit/verify");
    assert_eq!(verified["ok"], true, "{verified}");
    let text = gateway.terminate();
    let lines = text.matches("the audit trail cannot be written").count();
    assert_eq!(lines, WAYS.len(), "one line each time: {text}");
}

/// While nobody calls, a timer notices; a restart says what is lost.
#[test]
fn r_26_a_database_that_is_removed_stops_changes_and_its_rows_are_missed() {
    let place = Place::new();
    let gateway = place.start();
    assert_written(&gateway);
    // What is not anchored yet is not missed.
    let began = now();
    let anchor = || fs::read_to_string(place.data("tollgate-audit.anchor")).unwrap_or_default();
    while serde_json::from_str::<Value>(&anchor()).unwrap_or_default()["last"]["row"]
        .as_u64()
        .unwrap_or(0)
        == 0
    {
        assert!(began.elapsed() < TIMEOUT, "{}", anchor());
        thread::sleep(Duration::from_millis(20));
    }
    for name in ["tollgate.db", "tollgate.db-wal", "tollgate.db-shm"] {
        fs::remove_file(place.data(name)).unwrap();
    }
    wait_for_state(&gateway, "audit_failing");
    let refused = write(&gateway);
    assert!(refused.contains("the audit trail cannot be written"), "{refused}");
    // A command makes a database in its place: it is not taken for the old one.
    let admin = fs::read_to_string(place.data("admin.token")).unwrap();
    let admin = format!("x-api-key: {}\r\n", admin.trim());
    let made = tollgate(place.folder.path(), &["audit", "verify", "--listen", "127.0.0.1:0"]);
    assert_ne!(made.code, Some(0), "{}{}", made.stdout, made.stderr);
    assert!(place.data("tollgate.db").exists());
    let body = json!({"name": "write_file", "arguments": {"path": "a.txt", "content": "x"}});
    let refused = gateway.ask("POST /v1/tools/execute", &admin, &body.to_string()).text;
    assert!(refused.contains("the audit trail cannot be written"), "{refused}");
    assert_eq!(ready_state(&gateway)["state"], "audit_failing");
    gateway.terminate();
    let gateway = place.start();
    wait_for_state(&gateway, "ready");
    let verified = place.admin(&gateway, "GET /api/audit/verify");
    assert_eq!(verified["ok"], false, "the loss is known: {verified}");
    assert!(!verified["losses"].as_array().unwrap().is_empty(), "{verified}");
}

#[test]
fn r_26_a_database_that_is_truncated_stops_changes() {
    let place = Place::new();
    let gateway = place.start();
    assert_written(&gateway);
    fs::File::options().write(true).open(place.data("tollgate.db")).unwrap().set_len(0).unwrap();
    let refused = write(&gateway);
    assert!(refused.contains("truncated while in use"), "{refused}");
    wait_for_state(&gateway, "audit_failing");
}

/// Every change that was made has its row, whenever the file was away.
#[test]
fn r_26_callers_in_parallel_change_nothing_without_a_row() {
    const CALLERS: usize = 4;
    let place = Place::new();
    let gateway = place.start();
    let aside = place.folder.path().join("aside");
    let done = AtomicBool::new(false);
    let acknowledged = AtomicUsize::new(0);
    let refused = AtomicUsize::new(0);
    thread::scope(|scope| {
        for caller in 0..CALLERS {
            let gateway = &gateway;
            let done = &done;
            let acknowledged = &acknowledged;
            let refused = &refused;
            scope.spawn(move || {
                for number in 0.. {
                    let path = format!("{caller}-{number}.txt");
                    let text = call(gateway, "write_file", &json!({"path": path, "content": "x"}));
                    let count =
                        if text.contains("\"status\":\"ok\"") { acknowledged } else { refused };
                    count.fetch_add(1, Ordering::SeqCst);
                    if done.load(Ordering::SeqCst) {
                        return;
                    }
                }
            });
        }
        let wait_for_more = |count: &AtomicUsize| {
            let began = now();
            let before = count.load(Ordering::SeqCst);
            while count.load(Ordering::SeqCst) < before + 4 {
                assert!(began.elapsed() < TIMEOUT, "no more calls");
                thread::sleep(Duration::from_millis(5));
            }
        };
        for _ in 0..5 {
            wait_for_more(&acknowledged);
            fs::rename(place.data("tollgate.db"), &aside).unwrap();
            wait_for_more(&refused);
            fs::rename(&aside, place.data("tollgate.db")).unwrap();
        }
        wait_for_more(&acknowledged);
        done.store(true, Ordering::SeqCst);
    });
    wait_for_state(&gateway, "ready");
    let changed = fs::read_dir(&place.files).unwrap().count();
    let began = now();
    let rows = loop {
        // A busy machine may not answer in time, but write the file.
        let rows = ["ok", "timeout"].map(|outcome| {
            place.count_rows(&gateway, &format!("tool=write_file&outcome={outcome}"))
        });
        let rows: usize = rows.into_iter().sum();
        // Rows that had to wait are written one after the other.
        if rows >= changed || began.elapsed() > TIMEOUT {
            break rows;
        }
        thread::sleep(Duration::from_millis(50));
    };
    assert!(
        rows >= changed,
        "{rows} rows, {changed} files, acknowledged: {acknowledged:?}, refused: {refused:?}"
    );
    assert!(acknowledged.load(Ordering::SeqCst) <= rows);
}

#[test]
fn r_26_a_memory_that_is_moved_acknowledges_nothing() {
    let place = Place::new();
    let gateway = place.start();
    let remember = || call(&gateway, "remember", &json!({"text": "the door is red"}));
    let stored = remember();
    assert!(stored.contains("\"status\":\"ok\""), "{stored}");
    let file = place.data("memory.db");
    let aside = place.folder.path().join("aside");
    fs::rename(&file, &aside).unwrap();
    let lost = remember();
    assert!(lost.contains("removed or replaced while in use"), "{lost}");
    let began = now();
    while ready_state(&gateway)["memory"] != "failed" {
        assert!(began.elapsed() < TIMEOUT, "{}", ready_state(&gateway));
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(ready_state(&gateway)["state"], "ready", "only the tools of the memory fail");
    fs::rename(&aside, &file).unwrap();
    let stored = remember();
    assert!(stored.contains("\"status\":\"ok\""), "{stored}");
}
