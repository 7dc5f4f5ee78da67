//! The audit trail after crashes: every answered call has its row.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_core::digest::{DigestBuilder, hex};

use crate::{Run, tollgate};

struct Gateway {
    process: Child,
    address: String,
}

impl Gateway {
    fn start(folder: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_tollgate"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .current_dir(folder)
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let ready = lines.by_ref().find_map(|line| {
            let line = line.unwrap();
            line.split_once("ready on http://").map(|(_, address)| address.trim().to_owned())
        });
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, address: ready.unwrap() }
    }

    /// Whether the call was answered, and well; `None` if the gateway went away.
    fn write(&self, arguments: &str) -> Option<bool> {
        let body = format!("{{\"name\":\"write_file\",\"arguments\":{arguments}}}");
        let mut stream = TcpStream::connect(&self.address).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
        let host = &self.address;
        let length = body.len();
        let head = format!("POST /v1/tools/execute HTTP/1.1\r\nhost: {host}\r\n");
        let head = format!("{head}content-type: application/json\r\nconnection: close\r\n");
        stream
            .write_all(format!("{head}content-length: {length}\r\n\r\n{body}").as_bytes())
            .ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (_, body) = answer.split_once("\r\n\r\n")?;
        let body: Value = serde_json::from_str(body).ok()?;
        Some(body["status"] == "ok")
    }

    fn audit(&self, folder: &Path, arguments: &[&str]) -> Run {
        let mut all = vec!["audit", "--listen", &self.address];
        all.extend(arguments);
        tollgate(folder, &all)
    }
}

impl Drop for Gateway {
    /// `kill -9`
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// With the built-in tools for everybody, and nothing that calls them by itself.
fn folder(others: &Value) -> TempDir {
    let folder = TempDir::new().unwrap();
    let mut config = json!({"budget": {"calibrate_interval_s": 0}});
    config.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
    std::fs::write(folder.path().join("tollgate.yaml"), config.to_string()).unwrap();
    folder
}

fn arguments(number: usize) -> String {
    json!({"path": format!("f{}.txt", number % 7), "content": number.to_string()}).to_string()
}

fn lines(run: &Run) -> Vec<Value> {
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// So often is a gateway killed; `TOLLGATE_KILLS=N` says otherwise, and `TOLLGATE_SOAK` means 200.
fn kills() -> usize {
    let number = std::env::var_os("TOLLGATE_KILLS");
    let number = number.map(|number| number.into_string().unwrap().parse().unwrap());
    number.unwrap_or_else(|| if is_soak() { 200 } else { 12 })
}

#[expect(clippy::disallowed_methods, reason = "measures from outside")]
fn now() -> Instant {
    Instant::now()
}

fn is_soak() -> bool {
    std::env::var_os("TOLLGATE_SOAK").is_some()
}

/// One trail is killed so often before it is looked through.
const KILLS_OF_A_TRAIL: usize = 12;
/// Rows of one run.
const MAX_ROWS: usize = 10_000;

/// whatever was answered is in the trail, and the trail holds together.
#[test]
fn r_25_no_answered_call_is_lost_by_a_kill() {
    let mut left = kills();
    let mut answered = 0;
    let mut starts = Vec::new();
    let begun = left;
    while left > 0 {
        let folder = folder(&json!({}));
        let numbers = AtomicUsize::new(0);
        let mut of_trail = HashSet::new();
        for _ in 0..left.min(KILLS_OF_A_TRAIL) {
            let began = now();
            let gateway = Gateway::start(folder.path());
            starts.push(began.elapsed());
            of_trail.extend(calls_until_killed(&gateway, &numbers, left));
            left -= 1;
        }
        check_trail(folder.path(), &of_trail);
        answered += of_trail.len();
    }
    starts.sort_unstable();
    let middle = starts[starts.len() / 2];
    let last = starts[starts.len() - 1];
    let _ = writeln!(
        std::io::stderr(),
        "{begun} kills, {answered} answered calls, start {middle:?} (p50), {last:?} (max)"
    );
    assert!(answered > 20, "only {answered} calls were answered");
    assert!(!is_soak() || middle <= Duration::from_secs(1), "a start takes {middle:?}");
}

/// The numbers of the calls that were answered before the gateway was killed, at some moment.
fn calls_until_killed(gateway: &Gateway, numbers: &AtomicUsize, round: usize) -> Vec<usize> {
    let stop = AtomicBool::new(false);
    let first = numbers.load(Ordering::Relaxed);
    std::thread::scope(|threads| {
        let client = || {
            let mut answered = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let number = numbers.fetch_add(1, Ordering::Relaxed);
                if number - first >= MAX_ROWS {
                    break;
                }
                match gateway.write(&arguments(number)) {
                    Some(true) => answered.push(number),
                    Some(false) => {}
                    None => break,
                }
            }
            answered
        };
        let clients: Vec<_> = (0..4).map(|_| threads.spawn(client)).collect();
        let random = RandomState::new().hash_one(round);
        std::thread::sleep(Duration::from_micros(40_000 + random % 500_000));
        let pid = gateway.process.id().to_string();
        assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
        stop.store(true, Ordering::Relaxed);
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    })
}

/// All of them are there, none is torn, and the file is sound.
fn check_trail(folder: &Path, answered: &HashSet<usize>) {
    let rows = lines(&tollgate(folder, &["audit", "--format", "jsonl", "--tool", "write_*"]));
    let retained: HashSet<&str> =
        rows.iter().filter_map(|row| row["arguments_hash"].as_str()).collect();
    for number in answered {
        let hash = hex(&DigestBuilder::default().with(arguments(*number)).finish());
        assert!(
            retained.contains(hash.as_str()),
            "call {number} was answered and is not in the trail"
        );
    }
    let verified = tollgate(folder, &["audit", "verify"]);
    assert_eq!(verified.code, Some(0), "{} {}", verified.stdout, verified.stderr);
    assert!(verified.stdout.contains("the audit trail is intact"), "{}", verified.stdout);
    let file = folder.join(".tollgate/tollgate.db");
    let checked: String = rusqlite::Connection::open(file)
        .unwrap()
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(checked, "ok");
}

#[test]
fn the_trail_is_shown_filtered_followed_and_checked() {
    let folder = folder(&json!({}));
    let gateway = Gateway::start(folder.path());
    gateway.write("{\"path\": 5}");
    for number in 0..3 {
        assert_eq!(gateway.write(&arguments(number)), Some(true));
    }
    let table = gateway.audit(folder.path(), &["--tool", "write_*"]);
    let last = table.stdout.lines().last().unwrap();
    assert!(table.stdout.starts_with("ROW"), "{}", table.stdout);
    assert!(last.contains("write_file") && last.contains("ok"), "{last}");
    assert!(table.stdout.contains("invalid_arguments"), "{}", table.stdout);
    let ok = lines(&gateway.audit(
        folder.path(),
        &["--json", "--outcome", "ok", "--since", "1h", "--tool", "write_*"],
    ));
    assert_eq!(ok.len(), 3);
    assert_eq!(ok[0]["principal"], "local");
    assert!(ok[0]["sequence"].as_u64() < ok[2]["sequence"].as_u64(), "oldest first");
    let csv = gateway.audit(folder.path(), &["--format", "csv", "--limit", "2"]).stdout;
    assert!(csv.starts_with("sequence,at,kind,"), "{csv}");
    assert_eq!(csv.lines().count(), 3);
    let none = gateway.audit(folder.path(), &["--json", "--agent", "nobody"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""));
    let wrong = gateway.audit(folder.path(), &["--since", "soon"]);
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.stderr.contains("`since` is a time"), "{}", wrong.stderr);
    assert_eq!(gateway.audit(folder.path(), &["verify"]).code, Some(0));
    assert_eq!(gateway.audit(folder.path(), &["--tool", "x", "verify"]).code, Some(2));

    let mut follower = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args([
            "audit",
            "--listen",
            &gateway.address,
            "--follow",
            "--format",
            "jsonl",
            "--limit",
            "1",
            // The gateway's own probes are in the trail, too.
            "--tool",
            "write_file",
        ])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut followed = BufReader::new(follower.stdout.take().unwrap()).lines();
    assert!(followed.next().unwrap().unwrap().contains("write_file"));
    gateway.write(&arguments(9));
    let row: Value = serde_json::from_str(&followed.next().unwrap().unwrap()).unwrap();
    assert_eq!((&row["outcome"], &row["name"]), (&json!("ok"), &json!("write_file")));
    follower.kill().unwrap();
    follower.wait().unwrap();

    drop(gateway);
    let file = folder.path().join(".tollgate/tollgate.db");
    let tamper = "DROP TRIGGER audit_is_kept_as_written; UPDATE audit SET principal = 'x' WHERE sequence = 2";
    rusqlite::Connection::open(file).unwrap().execute_batch(tamper).unwrap();
    let verified = tollgate(folder.path(), &["audit", "verify"]);
    assert_eq!(verified.code, Some(1));
    assert!(verified.stdout.contains("row 2 was modified or moved"), "{}", verified.stdout);
}

/// S-23: what is kept of arguments has no secrets in it.
#[test]
fn s_23_kept_arguments_have_no_secrets_in_them() {
    let folder = folder(&json!({
        "audit": {"arguments": "redacted", "redact": ["path"]},
        "secrets": {"results": "mask", "patterns": [{"name": "canary", "pattern": "CANARY-\\d+"}]},
    }));
    let gateway = Gateway::start(folder.path());
    let secret = ["ghp_", "0123456789abcdefghij0123456789ABCDEF"].concat();
    let content = format!("CANARY-17 {secret} and password=hunter2");
    let arguments = json!({"path": "PATH-CANARY.txt", "content": content}).to_string();
    assert_eq!(gateway.write(&arguments), Some(true));
    let rows = gateway.audit(folder.path(), &["--json", "--tool", "write_file"]);
    let row = &lines(&rows)[0];
    assert_eq!(row["arguments"]["path"], "[masked:redacted]");
    assert_eq!(
        row["arguments"]["content"],
        "[masked:canary] [masked:github] and password=[masked:password]"
    );
    for canary in [secret.as_str(), "CANARY-17", "hunter2", "PATH-CANARY"] {
        assert!(!rows.stdout.contains(canary), "{canary}");
    }
    drop(gateway);
    for file in ["tollgate.db", "tollgate.db-wal"] {
        let bytes = std::fs::read(folder.path().join(".tollgate").join(file)).unwrap_or_default();
        for canary in [secret.as_str(), "CANARY-17", "hunter2", "PATH-CANARY"] {
            let found = bytes.windows(canary.len()).any(|part| part == canary.as_bytes());
            assert!(!found, "{canary} in {file}");
        }
    }
}
