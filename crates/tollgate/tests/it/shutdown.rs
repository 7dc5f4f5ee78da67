//! R-33 with the real program: signals at any time.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_testkit::skip;

use crate::isolated_gateway::{Gateway, Python};

fn signal(process: u32, name: &str) {
    let sent = Command::new("kill").args([name, &process.to_string()]).status().unwrap();
    assert!(sent.success());
}

/// How it ended, and after how long; it must end within the limit.
fn wait_for_end(process: &mut Child, limit: Duration) -> (ExitStatus, Duration) {
    #[expect(clippy::disallowed_methods, reason = "a test measures what happens outside")]
    let began = Instant::now();
    loop {
        if let Some(status) = process.try_wait().unwrap() {
            return (status, began.elapsed());
        }
        assert!(began.elapsed() < limit, "it goes on after {limit:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn readiness(gateway: &Gateway) -> Value {
    let answer = gateway.send("GET /readyz", "", "");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

/// A server whose tool `do` runs Python.
fn with_python(shutdown: &Value) -> Gateway {
    let folder = TempDir::new().unwrap();
    let server = Python::found().start_confined(folder.path(), "evil", &json!({}));
    let config = json!({"servers": {"evil": server}, "shutdown": shutdown});
    Gateway::start_in(folder, &config, |command| command).ready(&["evil"])
}

#[test]
fn r_33_sigterm_is_seen_before_it_is_felt() {
    let mut gateway = with_python(&json!({"grace_s": 3, "drain_s": 30}));
    let address = gateway.address.clone();
    let (sent, call) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let calling = &gateway;
        scope.spawn(move || {
            sent.send(calling.evil("evil", "import time; time.sleep(6); print('slept')")).unwrap();
        });
        std::thread::sleep(Duration::from_millis(500));
        signal(gateway.process.id(), "-TERM");
        while readiness(&gateway)["state"] != "stopping" {
            std::thread::sleep(Duration::from_millis(5));
        }
        let answered = gateway.send("GET /v1/tools", "", "");
        assert!(answered.starts_with("HTTP/1.1 200"), "{answered}");
        assert!(answered.contains("connection: close"), "{answered}");
        let refused = loop {
            let answer = gateway.send("GET /v1/tools", "", "");
            if !answer.starts_with("HTTP/1.1 200") {
                break answer;
            }
            std::thread::sleep(Duration::from_millis(100));
        };
        assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
        assert!(refused.contains("\r\nretry-after: "), "{refused}");
        assert_eq!(readiness(&gateway)["state"], "stopping");
        let text = call.recv_timeout(Duration::from_secs(30)).unwrap();
        assert!(text.contains("slept"), "the call ended: {text}");
    });
    let (status, _) = wait_for_end(&mut gateway.process, Duration::from_secs(20));
    assert_eq!(status.code(), Some(0), "{address}");
}

#[test]
fn r_33_a_second_sigterm_ends_it_now() {
    let mut gateway = with_python(&json!({"grace_s": 600, "drain_s": 600}));
    signal(gateway.process.id(), "-TERM");
    while readiness(&gateway)["state"] != "stopping" {
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(gateway.process.id(), "-TERM");
    let (status, _) = wait_for_end(&mut gateway.process, Duration::from_secs(20));
    assert_eq!(status.code(), Some(0));
}

#[test]
fn r_33_sigterm_during_the_start_ends_it_in_good_order() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("tollgate.yaml"), "{}").unwrap();
    let data = folder.path().join(".tollgate");
    fs::create_dir(&data).unwrap();
    // Somebody else has the database: the start waits for it.
    let script = "import sqlite3, sys, time\n\
                  held = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                  held.execute('PRAGMA locking_mode=EXCLUSIVE')\n\
                  held.execute('BEGIN EXCLUSIVE')\n\
                  print('held', flush=True)\n\
                  time.sleep(60)";
    let file = data.join("tollgate.db");
    let mut holder = Command::new("python3")
        .args(["-c", script])
        .arg(&file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut word = [0; 4];
    std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut word).unwrap();
    let mut process = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["serve", "--listen", "127.0.0.1:0"])
        .current_dir(folder.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert!(process.try_wait().unwrap().is_none(), "it waits");
    signal(process.id(), "-TERM");
    let (status, _) = wait_for_end(&mut process, Duration::from_secs(20));
    let _ = holder.kill();
    let _ = holder.wait();
    assert_eq!(status.code(), Some(0), "not killed by the signal: {status}");
}

#[test]
fn r_33_sigterm_during_a_reload_ends_it_in_good_order() {
    let mut gateway = with_python(&json!({"grace_s": 1, "drain_s": 5}));
    let file = gateway.folder.path().join("tollgate.yaml");
    let mut config: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    // The server is another one now: it is started anew.
    config["servers"]["evil"]["env"] = json!({"OTHER": "1"});
    fs::write(&file, config.to_string()).unwrap();
    signal(gateway.process.id(), "-HUP");
    signal(gateway.process.id(), "-TERM");
    let (status, _) = wait_for_end(&mut gateway.process, Duration::from_secs(30));
    assert_eq!(status.code(), Some(0));
}

#[test]
fn r_33_a_full_disk_is_no_readiness() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("tollgate.yaml"), json!({}).to_string()).unwrap();
    fs::create_dir(folder.path().join(".tollgate")).unwrap();
    let script = "mount -t tmpfs -o size=16m none .tollgate || exit 77; exec \"$0\" \"$@\"";
    if !skip::require_namespaces() {
        return;
    }
    let mut command = Command::new("unshare");
    command
        .args(["-m", "sh", "-c", script, env!("CARGO_BIN_EXE_tollgate")])
        .args(["serve", "--listen", "127.0.0.1:0"])
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .stdout(Stdio::null());
    let gateway = Gateway::spawn_gateway(folder, &mut command);
    assert_eq!(readiness(&gateway)["state"], "ready");
    // The same directory, as the gateway sees it.
    let inside = format!("/proc/{}/root{}", gateway.process.id(), gateway.folder.path().display());
    let ballast = format!("{inside}/.tollgate/ballast");
    let mut fill = fs::File::create(&ballast).unwrap();
    while std::io::Write::write_all(&mut fill, &[0; 4096]).is_ok() {}
    // An open file keeps its space when it is removed.
    drop(fill);
    let wait_for = |state: &str| {
        for _ in 0..400 {
            // A row has to be written for anybody to find out.
            gateway.send("POST /v1/tools/execute", "", r#"{"name": "get_time"}"#);
            let now = readiness(&gateway);
            if now["state"] == state {
                return now;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("not {state}: {}", readiness(&gateway));
    };
    let full = wait_for("audit_failing");
    assert_eq!(full["audit"], "failing");
    assert!(gateway.send("GET /healthz", "", "").starts_with("HTTP/1.1 200"), "it lives");
    fs::remove_file(&ballast).unwrap();
    assert!(wait_for("ready").get("audit").is_none());
}

/// One request on a connection of its own: `None` if nobody listens, otherwise what was answered.
fn ask_anew(address: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let query = format!("GET /v1/tools HTTP/1.1\r\nhost: {address}\r\n\r\n");
    let mut answer = Vec::new();
    // The answer may come before everything is written.
    let _ = stream.write_all(query.as_bytes());
    let _ = stream.read_to_end(&mut answer);
    Some(String::from_utf8_lossy(&answer).into_owned())
}

#[test]
fn r_33_whoever_can_connect_is_answered_until_the_end() {
    for _ in 0..3 {
        let mut gateway = with_python(&json!({"grace_s": 0, "drain_s": 5}));
        let address = gateway.address.clone();
        let answers = std::thread::scope(|scope| {
            let ask = || {
                let mut answers = Vec::new();
                while let Some(answer) = ask_anew(&address) {
                    answers.push(answer);
                }
                answers
            };
            let asking: Vec<_> = (0..6).map(|_| scope.spawn(ask)).collect();
            std::thread::sleep(Duration::from_millis(300));
            signal(gateway.process.id(), "-TERM");
            asking.into_iter().flat_map(|asking| asking.join().unwrap()).collect::<Vec<_>>()
        });
        let (status, _) = wait_for_end(&mut gateway.process, Duration::from_secs(30));
        assert_eq!(status.code(), Some(0));
        let unanswered = answers.iter().filter(|answer| !answer.starts_with("HTTP/1.1 ")).count();
        assert_eq!(unanswered, 0, "of {}", answers.len());
        assert!(answers.iter().any(|answer| answer.starts_with("HTTP/1.1 200")));
    }
}
