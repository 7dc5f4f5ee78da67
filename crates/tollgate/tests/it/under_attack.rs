//! The real program in a control group of 512 MiB, attacked from several sides at once and with
//! memory that really runs out. `make soak` does the same for longer.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tollgate_testkit::attack::{Attack, BlockingHttpClient, PacedClient, call_headers};
use tollgate_testkit::cgroup::MemoryCgroup;
use tollgate_testkit::skip;

use crate::isolated_gateway::Python;
use crate::running::Served;

const LIMIT: u64 = 512 << 20;
const KEYS: usize = 16;

fn key(number: usize) -> String {
    format!("k{number}-0123456789abcdefghij")
}

fn keys() -> String {
    let each = (0..KEYS)
        .map(|at| format!("  - {{ name: k{at}, key: '{}', rights: [execute] }}\n", key(at)));
    format!("keys:\n{}", each.collect::<String>())
}

struct Limited {
    gateway: Served,
    group: MemoryCgroup,
}

impl Limited {
    fn start(config: &str) -> Self {
        let group = MemoryCgroup::new("tollgate-attack", LIMIT).expect("a control group");
        Self { gateway: Served::within(&group, config), group }
    }

    fn resident(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.gateway.pid()));
        let status = status.expect("the gateway lives");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a figure");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1_024
    }

    fn send(&self, line: &str, number: usize, body: &str) -> Option<u16> {
        let address = self.gateway.address.parse().expect("an address");
        let mut client = BlockingHttpClient::connect(address, Duration::from_secs(60)).ok()?;
        client.send(line, &call_headers(&key(number)), body).ok().map(|reply| reply.status)
    }

    fn small_call(&self, number: usize) -> Option<u16> {
        let body = r#"{"name":"roll","arguments":{"expression":"2d6"}}"#;
        self.send("POST /v1/tools/execute", number, body)
    }

    fn assert_alive(&self) {
        let killed = self.group.killed_processes().expect("a count");
        assert_eq!(killed, 0, "{}", self.gateway.log());
    }
}

fn wait_for(what: &str, limit: Duration, is: impl Fn() -> bool) {
    #[expect(clippy::disallowed_methods, reason = "a test measures what happens outside")]
    let began = Instant::now();
    while !is() {
        assert!(began.elapsed() < limit, "{what}: not within {limit:?}");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn r_11_a_client_that_behaves_notices_nothing_of_an_attack_from_all_sides() {
    if !skip::require_cgroup() {
        return;
    }
    let limited = Limited::start(&keys());
    let address = limited.gateway.address.parse().expect("an address");
    let client = PacedClient { address, key: key(1), calls_per_second: 50, connections: 5 };
    // As much as a machine carries that runs other tests beside.
    let attack = Attack {
        object_bombs: 1,
        large_strings: 3,
        slow_checks: 2,
        silent_connections: 500,
        ..Attack::full(address, &key(0))
    };
    for _ in 0..20 {
        assert_eq!(limited.small_call(1), Some(200));
    }
    let before = limited.resident();
    let is_over = AtomicBool::new(false);
    let (seen, answers) = thread::scope(|scope| {
        let attacking = scope.spawn(|| attack.run(&is_over));
        let calling = scope.spawn(|| client.run(&is_over));
        thread::sleep(Duration::from_secs(12));
        is_over.store(true, Ordering::Relaxed);
        (calling.join().expect("it calls"), attacking.join().expect("it attacks"))
    });
    limited.assert_alive();
    assert_eq!(seen.failures, 0, "of {}: {:?}", seen.calls, seen.reasons);
    assert!(seen.calls > 100, "{} calls", seen.calls);
    assert!(seen.quantile(0.99) < Duration::from_secs(5), "{:?}", seen.quantile(0.99));
    let known = |status: &u16| [200, 413, 429, 503].contains(status);
    assert!(answers.keys().all(known), "{answers:?}");
    wait_for("memory goes back", Duration::from_secs(10), || limited.resident() * 2 < before * 3);
}

#[test]
fn p_21_many_keys_with_small_bodies_that_cost_much_do_not_kill_it() {
    const OF_EACH: usize = 12;
    if !skip::require_cgroup() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("evil.py");
    fs::write(&script, include_str!("evil.py")).expect("it is written");
    let program = Python::found().program;
    let server = format!(
        "servers:\n  slow: {{ transport: stdio, command: ['{program}', '-u', '{}'], \
         protocol: '2025-11-25', calibrate: false, defaults: {{ timeout_ms: 10000 }} }}\n",
        script.display()
    );
    let limited = Limited::start(&format!("{}{server}", keys()));
    let ready = r#"{"name":"slow_do","arguments":{"code":"print('ready')"}}"#;
    wait_for("the server is there", Duration::from_secs(30), || {
        limited.send("POST /v1/tools/execute", 0, ready) == Some(200)
    });
    // 56 KiB on the wire, fifty times as much once it is read, and held while the server sleeps.
    let body = format!(
        "{{\"name\":\"slow_do\",\"arguments\":{{\"code\":\"import time; time.sleep(20)\",\
         \"x\":[{}0]}}}}",
        "{\"a\":0},".repeat(7_000)
    );
    let mut waiting = Vec::new();
    for at in 0..KEYS * OF_EACH {
        let mut stream = TcpStream::connect(&limited.gateway.address).expect("a connection");
        let head = format!(
            "POST /v1/tools/execute HTTP/1.1\r\nhost: localhost\r\nx-api-key: {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            key(at % KEYS),
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("it is read");
        stream.write_all(body.as_bytes()).expect("it is read");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
        waiting.push(stream);
    }
    // All are answered in the end: refused for want of memory, or out of time.
    let mut refused = 0;
    for mut stream in waiting {
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).expect("an answer");
        refused += usize::from(answer == *b"HTTP/1.1 503");
        limited.assert_alive();
    }
    assert!(refused > 0, "there was room for all of them");
    assert_eq!(limited.small_call(KEYS - 1), Some(200));
}

#[test]
fn p_21_conversations_of_many_small_messages_do_not_kill_it() {
    if !skip::require_cgroup() {
        return;
    }
    let limited = Limited::start(&keys());
    let item = r#"{"type":"text","text":"abc"},"#;
    let list = format!("[{}{}]", item.repeat(9_999), item.trim_end_matches(','));
    let message = r#"{"role":"user","content":"a"},"#;
    let messages = format!("[{}{}]", message.repeat(9_999), message.trim_end_matches(','));
    let requests = [
        ("POST /v1/responses", format!("{{\"model\":\"offline\",\"input\":{list}}}")),
        ("POST /v1/chat/completions", format!("{{\"model\":\"offline\",\"messages\":{messages}}}")),
    ];
    for (line, body) in requests {
        let answers: Vec<_> = thread::scope(|scope| {
            let send = |at| {
                scope.spawn({
                    let limited = &limited;
                    let body = &body;
                    move || limited.send(line, at, body)
                })
            };
            let sending: Vec<_> = (0..KEYS).map(send).collect();
            sending.into_iter().map(|it| it.join().expect("it is answered")).collect()
        });
        limited.assert_alive();
        let known = |answer: &Option<u16>| matches!(answer, Some(200 | 400 | 413 | 503));
        assert!(answers.iter().all(known), "{line}: {answers:?}");
    }
    assert_eq!(limited.small_call(0), Some(200));
}

#[test]
fn r_11_the_ladder_is_climbed_with_real_memory_and_left_again() {
    if !skip::require_cgroup() {
        return;
    }
    let limited = Limited::start(&keys());
    let health = || {
        let answer = limited.gateway.ask("GET", "/healthz");
        answer.status == 200
    };
    let call = |status: u16| limited.small_call(0) == Some(status);
    // A live session of a model that there is not: what is refused for want of memory is refused first.
    let session = || limited.send("GET /v1/realtime?model=none", 0, "");
    assert!(call(200) && health());
    for (percent, status) in [(85, 200), (92, 503)] {
        let used = limited.group.used_bytes().expect("a figure");
        let more = (LIMIT * percent / 100).saturating_sub(used);
        let ballast = limited.group.hold(more).expect("there is room for it");
        wait_for(&format!("{status} at {percent} %"), Duration::from_secs(20), || call(status));
        assert!(health(), "at {percent} %");
        drop(ballast);
        wait_for("all are served again", Duration::from_secs(10), || call(200));
        assert_ne!(session(), Some(503), "sessions begin again");
    }
    limited.assert_alive();
}

/// A request that is not over: its client sends no more, and hears nothing yet.
struct Unfinished(TcpStream);

impl Unfinished {
    fn begin(limited: &Limited, number: usize, head: &str, sent: &[u8], length: usize) -> Self {
        let mut stream = TcpStream::connect(&limited.gateway.address).expect("a connection");
        let head = format!(
            "POST {head}\r\nhost: localhost\r\nx-api-key: {}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n",
            key(number)
        );
        stream.write_all(head.as_bytes()).expect("it is read");
        stream.write_all(sent).expect("it is read");
        stream.set_read_timeout(Some(Duration::from_millis(50))).expect("a limit");
        Self(stream)
    }

    /// A call whose last bytes never come.
    fn upload(limited: &Limited, number: usize, bytes: usize) -> Self {
        let sent = vec![b' '; bytes - 1_000];
        Self::begin(limited, number, "/v1/tools/execute HTTP/1.1", &sent, bytes)
    }

    /// Somebody who waits for changes of the tools.
    fn listen(limited: &Limited, number: usize) -> Self {
        let body = json!({
            "jsonrpc": "2.0",
            "id": 1,
            "method": "subscriptions/listen",
            "params": {
                "notifications": {"toolsListChanged": true},
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                },
            },
        })
        .to_string();
        let head = "/mcp HTTP/1.1\r\naccept: application/json, text/event-stream\r\n\
                    mcp-protocol-version: 2026-07-28\r\nmcp-method: subscriptions/listen";
        let one = Self::begin(limited, number, head, body.as_bytes(), body.len());
        one.0.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
        let mut status = [0; 12];
        (&one.0).read_exact(&mut status).expect("an answer");
        assert_eq!(status, *b"HTTP/1.1 200");
        one.0.set_read_timeout(Some(Duration::from_millis(50))).expect("a limit");
        one
    }

    fn is_reset(&self) -> bool {
        let mut received = [0; 4_096];
        loop {
            match (&self.0).read(&mut received) {
                Ok(0) => panic!("it ended as if it were over"),
                Ok(_) => {}
                Err(error) => return error.kind() == ErrorKind::ConnectionReset,
            }
        }
    }
}

#[test]
fn r_11_at_95_percent_of_real_memory_the_biggest_stream_is_reset_and_nobody_comes_in() {
    if !skip::require_cgroup() {
        return;
    }
    let limited = Limited::start(&keys());
    let call = |status: u16| limited.small_call(0) == Some(status);
    let probe = |path: &str| limited.gateway.ask("GET", path).status;
    let fill = |percent: u64| {
        let used = limited.group.used_bytes().expect("a figure");
        let more = (LIMIT * percent / 100).saturating_sub(used);
        limited.group.hold(more).expect("there is room for it")
    };
    assert!(call(200));
    let listening = Unfinished::listen(&limited, 1);
    let _small = Unfinished::upload(&limited, 2, 4 << 20);
    let big = Unfinished::upload(&limited, 3, 15 << 20);
    let ballast = fill(96);
    wait_for("the biggest is reset", Duration::from_secs(20), || big.is_reset());
    let reset = "reset the connection that uses most";
    wait_for("it is told", Duration::from_secs(20), || limited.gateway.log().contains(reset));
    let log = limited.gateway.log();
    let first = log.lines().find(|line| line.contains(reset));
    assert!(first.is_some_and(|line| line.contains(&(15 << 10).to_string())), "{log}");
    // What it held is free again, and goes to somebody else.
    let more = fill(97);
    wait_for("nobody comes in", Duration::from_secs(20), || limited.small_call(0).is_none());
    for _ in 0..10 {
        assert_eq!((probe("/healthz"), probe("/readyz")), (200, 503));
        assert_eq!(limited.small_call(0), None, "{}", limited.gateway.log());
    }
    assert!(!listening.is_reset(), "it holds next to nothing");
    limited.assert_alive();
    drop((ballast, more));
    wait_for("all are served again", Duration::from_secs(10), || call(200));
    wait_for("it is ready again", Duration::from_secs(10), || probe("/readyz") == 200);
    assert!(!listening.is_reset());
    assert!(!Unfinished::upload(&limited, 4, 4 << 20).is_reset());
    limited.assert_alive();
}
