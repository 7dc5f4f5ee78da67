//! R-12, S-13: many clients that want nothing, or all of it, and one that only wants its answer.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tempfile::TempDir;
use tollgate_testkit::skip::{self, Requirement};

use crate::isolated_gateway::Gateway;

/// What a probe may take. The promise is 100 ms; a machine that builds and tests beside is slower.
const PROBE_LIMIT: Duration = Duration::from_millis(500);

/// Raises the limit on open files of this process; counts the test as skipped if it is too low.
fn require_open_files(requested: u64) -> bool {
    let limit = getrlimit(Resource::Nofile);
    if limit.maximum.is_some_and(|most| most < requested) {
        skip::report(Requirement::OpenFiles, &format!("{requested} of them"));
        return false;
    }
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    true
}

fn gateway() -> Gateway {
    let keys = json!([{"name": "honest", "key": "honest-0123456789abcdef", "role": "caller"}]);
    Gateway::start_in(TempDir::new().unwrap(), &json!({"keys": keys}), |command| command)
}

/// From the address of those who flood: a connection that was cut before its request was read is tried
/// again, as every client does.
fn is_served(gateway: &Gateway) -> bool {
    let key = "x-api-key: honest-0123456789abcdef\r\n";
    let answer = (0..3).find_map(|_| gateway.try_send("GET /v1/tools", key, "").ok());
    answer.is_some_and(|answer| answer.starts_with("HTTP/1.1 200"))
}

/// How long probes take, the longest last.
fn probe_gateway(gateway: &Gateway, count: usize) -> Vec<Duration> {
    let mut took: Vec<Duration> = ["GET /healthz", "GET /readyz"]
        .repeat(count)
        .into_iter()
        .map(|probe| {
            #[expect(clippy::disallowed_methods, reason = "a test measures what happens outside")]
            let began = Instant::now();
            let answer = gateway.send(probe, "", "");
            assert!(answer.starts_with("HTTP/1.1 200"), "{probe}: {answer}");
            began.elapsed()
        })
        .collect();
    took.sort();
    took
}

fn check_probes(what: &str, gateway: &Gateway) {
    let took = probe_gateway(gateway, 50);
    let p99 = took[took.len() * 99 / 100];
    assert!(p99 < PROBE_LIMIT, "{what}: {p99:?}");
}

#[test]
fn r_12_ten_thousand_silent_connections_keep_nobody_waiting() {
    const SILENT: usize = 10_000;
    if !require_open_files(SILENT as u64 + 1_000) {
        return;
    }
    let gateway = gateway();
    check_probes("before", &gateway);
    let mut silent = Vec::with_capacity(SILENT);
    for number in 0..SILENT {
        silent.push(TcpStream::connect(&gateway.address).unwrap());
        if number % 2_000 == 0 {
            assert!(is_served(&gateway), "with {number}");
        }
    }
    check_probes("10,000 silent connections", &gateway);
    for _ in 0..20 {
        assert!(is_served(&gateway));
    }
    // Those that began to say something, too.
    for stream in &mut silent {
        let _ = stream.write_all(b"P");
    }
    check_probes("10,000 connections that said one byte", &gateway);
    for _ in 0..20 {
        assert!(is_served(&gateway));
    }
}

/// As services are often started: with fewer open files than somebody can open connections.
#[test]
fn r_12_silent_connections_beyond_the_limit_of_open_files_keep_no_probe_waiting() {
    const SILENT: usize = 3_000;
    if !require_open_files(SILENT as u64 + 1_000) {
        return;
    }
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("tollgate.yaml"), "{}").unwrap();
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -n 1024; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_tollgate")])
        .args(["serve", "--listen", "127.0.0.1:0"])
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .stdout(Stdio::null());
    let gateway = Gateway::spawn_gateway(folder, &mut command);
    check_probes("before", &gateway);
    let connect = |_| TcpStream::connect(&gateway.address).unwrap();
    let silent: Vec<TcpStream> = (0..SILENT).map(connect).collect();
    check_probes("3,000 silent connections", &gateway);
    drop(silent);
    check_probes("after", &gateway);
}

/// A connection that says the beginning of something, and nothing more.
fn begin(gateway: &Gateway, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(&gateway.address).unwrap();
    stream.write_all(text.replace("HOST", &gateway.address).as_bytes()).unwrap();
    stream
}

#[test]
fn r_12_two_thousand_slow_clients_cost_honest_ones_nothing() {
    const OF_EACH: usize = 500;
    if !require_open_files(4 * OF_EACH as u64 + 1_000) {
        return;
    }
    let gateway = gateway();
    let key = "x-api-key: honest-0123456789abcdef\r\n";
    let slow = [
        "POST /v1/tools/execute HTTP/1.1\r\nHost: HO".to_owned(),
        // Its key does not count here: it may not run anything.
        "POST /v1/tools/execute HTTP/1.1\r\nHost: HOST\r\ncontent-type: application/json\r\n\
         content-length: 100000\r\n\r\n{"
            .to_owned(),
        "GET /v1/realtime HTTP/1.1\r\nHost: HOST\r\nUpgrade: websocket\r\nConnection: Upg"
            .to_owned(),
        // What they ask for, they do not read.
        format!("GET /api/openapi.json HTTP/1.1\r\nHost: HOST\r\n{key}\r\n").repeat(20),
    ];
    let mut streams = Vec::new();
    for text in &slow {
        for _ in 0..OF_EACH {
            streams.push(begin(&gateway, text));
        }
        assert!(is_served(&gateway));
    }
    for _ in 0..100 {
        assert!(is_served(&gateway));
    }
    check_probes("2,000 slow clients", &gateway);
    for stream in &mut streams {
        let _ = stream.write_all(b"x");
    }
    for _ in 0..50 {
        assert!(is_served(&gateway));
    }
    drop(streams);
    assert!(is_served(&gateway));
}

#[test]
fn s_13_ten_thousand_handshakes_of_one_key_leave_room_for_another() {
    let keys = json!([
        {"name": "greedy", "key": "greedy-0123456789abcdef", "role": "caller"},
        {"name": "honest", "key": "honest-0123456789abcdef", "role": "caller"},
    ]);
    let config = json!({"keys": keys});
    let gateway = Gateway::start_in(TempDir::new().unwrap(), &config, |command| command);
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "flood", "version": "1"}}})
    .to_string();
    let initialize = |name: &str| {
        format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\nx-api-key: {name}-0123456789abcdef\r\n\
             content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             content-length: {}\r\n\r\n{body}",
            gateway.address,
            body.len()
        )
    };
    // Pipelined by the hundred: the flood is the gateway's work, not ours.
    let batch = initialize("greedy").repeat(100);
    let mut stream = TcpStream::connect(&gateway.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut opened = 0;
    for _ in 0..100 {
        stream.write_all(batch.as_bytes()).unwrap();
        let mut answers = String::new();
        let mut bytes = [0; 64 << 10];
        while answers.matches("HTTP/1.1 ").count() < 100 || !answers.ends_with('}') {
            let count = stream.read(&mut bytes).unwrap();
            assert_ne!(count, 0, "it was closed: {answers}");
            answers.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
        }
        opened += answers.matches("mcp-session-id").count();
    }
    assert_eq!(opened, 10_000);
    let key = "x-api-key: honest-0123456789abcdef\r\n";
    let other = gateway.send("POST /mcp", key, &body);
    assert!(other.starts_with("HTTP/1.1 200"), "{other}");
    assert!(other.contains("mcp-session-id"), "{other}");
}
