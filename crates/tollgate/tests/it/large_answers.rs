//! The real program in a real control group of 512 MiB: answers of servers and models, many and
//! large, kill nothing and delay nobody else.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_testkit::cgroup::MemoryCgroup;
use tollgate_testkit::skip;

use crate::isolated_gateway::Python;
use crate::running::Served;

const MIB: u64 = 1 << 20;
const LIMIT: u64 = 512 * MIB;
const SCRIPT: &str = include_str!("large_answers.py");
/// How many requests a key sends at once.
const AT_ONCE: usize = 48;
/// Time in which everything must be back to normal, on a busy machine.
const RECOVERY: Duration = Duration::from_secs(60);

/// The HTTP server of `large_answers.py`, outside of the control group.
struct Remote {
    child: Child,
    port: u16,
}

impl Remote {
    fn start() -> Self {
        let mut child = Command::new(Python::found().program)
            .args(["-u", "-c", SCRIPT, "http"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { child, port: port.trim().parse().unwrap() }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) struct Limited {
    gateway: Served,
    group: MemoryCgroup,
    _remote: Remote,
    _script: tempfile::TempDir,
}

/// What a client saw of a response.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    fn read(mut stream: TcpStream) -> Self {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        let end = all.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(all.len());
        let head = String::from_utf8_lossy(&all[..end]).to_lowercase();
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
        Self { status, head, body: all.split_off(end) }
    }

    pub(crate) fn has(&self, text: &str) -> bool {
        let ends = [
            &self.body[..self.body.len().min(2_000)],
            &self.body[self.body.len().saturating_sub(2_000)..],
        ];
        ends.iter().any(|end| String::from_utf8_lossy(end).contains(text))
    }
}

impl Limited {
    pub(crate) fn start() -> Self {
        let group = MemoryCgroup::new("tollgate-answers", LIMIT).unwrap();
        let remote = Remote::start();
        let script = tempfile::tempdir().unwrap();
        fs::write(script.path().join("large_answers.py"), SCRIPT).unwrap();
        let base = format!("http://127.0.0.1:{}", remote.port);
        let key = |name: &str| json!({"name": name, "key": format!("{name}-0123456789abcdef"), "rights": ["execute"]});
        let remote_server = |path: &str| {
            json!({"url": format!("{base}{path}"), "protocol": "2025-11-25",
                "defaults": {"timeout_ms": 60_000}})
        };
        let config = json!({
            "keys": [key("greedy"), key("modest")],
            "servers": {
                "json": remote_server("/mcp"),
                "sse": remote_server("/sse"),
                "pipe": {"command": [Python::found().program, "-u", "large_answers.py", "stdio"],
                    "cwd": script.path(), "protocol": "2025-11-25",
                    "defaults": {"timeout_ms": 60_000}},
            },
            "providers": {"far": {"kind": "openai", "base_url": format!("{base}/v1"),
                "api_key": "provider-0123456789abcdef", "retries": 0}},
            "models": {
                "huge": {"provider": "far", "id": "huge", "context_window": 100_000},
                "tiny": {"provider": "far", "id": "tiny", "context_window": 100_000},
            },
        });
        let gateway = Served::within(&group, &config.to_string());
        let limited = Self { gateway, group, _remote: remote, _script: script };
        limited.within(RECOVERY, "the servers are ready", || {
            let ready = |server| limited.call("modest", server, "small").has("little");
            ["json", "sse", "pipe"].into_iter().all(ready)
        });
        limited
    }

    fn send(&self, name: &str, path: &str, body: &Value) -> TcpStream {
        let mut stream = TcpStream::connect(&self.gateway.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let body = body.to_string();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nx-api-key: {name}-0123456789abcdef\r\n\
             content-type: application/json\r\nanthropic-version: 2023-06-01\r\n\
             connection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        stream
    }

    pub(crate) fn ask(&self, name: &str, path: &str, body: &Value) -> Seen {
        Seen::read(self.send(name, path, body))
    }

    pub(crate) fn call(&self, name: &str, server: &str, tool: &str) -> Seen {
        let body = json!({"name": format!("{server}_{tool}"), "arguments": {}});
        self.ask(name, "/v1/tools/execute", &body)
    }

    fn within(&self, limit: Duration, what: &str, is: impl Fn() -> bool) {
        #[expect(clippy::disallowed_methods, reason = "a test measures what happens outside")]
        let began = Instant::now();
        while !is() {
            let used = self.group.used_bytes().unwrap() / MIB;
            assert!(began.elapsed() < limit, "{what}: {used} MiB\n{}", self.gateway.log());
            thread::sleep(Duration::from_millis(100));
        }
    }

    fn metric(&self, name: &str) -> u64 {
        let text = self.gateway.ask("GET", "/metrics").body;
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.trim().parse().unwrap_or_else(|_| panic!("{name} in {text}"))
    }

    pub(crate) fn assert_alive(&self) {
        assert_eq!(self.group.killed_processes().unwrap(), 0, "{}", self.gateway.log());
    }

    /// Runs `attack` by one key, while another key makes small calls. None of these may fail.
    pub(crate) fn beside<T>(&self, probe: impl Fn(&Self) + Sync, attack: impl FnOnce() -> T) -> T {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let probing = scope.spawn(|| {
                let mut count = 0;
                while !is_over.load(Ordering::Relaxed) || count < 3 {
                    probe(self);
                    count += 1;
                }
            });
            let done = attack();
            is_over.store(true, Ordering::Relaxed);
            probing.join().expect("small calls succeed");
            done
        })
    }

    /// All memory for answers is given back, and both keys are served.
    pub(crate) fn assert_recovered(&self) {
        self.assert_alive();
        self.within(RECOVERY, "memory goes back", || {
            self.metric("tollgate_answer_memory_reserved_bytes") == 0
                && self.group.used_bytes().unwrap() < LIMIT / 2
        });
        for key in ["greedy", "modest"] {
            self.within(RECOVERY, "a large answer is delivered", || {
                let seen = self.call(key, "json", "large");
                seen.status == 200 && !seen.has("\"offline\"")
            });
        }
        self.assert_alive();
    }
}

fn roll(limited: &Limited) {
    let body = json!({"name": "roll", "arguments": {"expression": "2d6"}});
    let seen = limited.ask("modest", "/v1/tools/execute", &body);
    assert_eq!(seen.status, 200, "{seen:?}\n{}", limited.gateway.log());
}

fn small_call(limited: &Limited, server: &str) {
    let seen = limited.call("modest", server, "small");
    assert!(seen.status == 200 && seen.has("little"), "{seen:?}\n{}", limited.gateway.log());
}

/// A child whose large lines nobody could take may have been restarted.
fn wait_for_small_call(limited: &Limited, server: &str) {
    let mut last = None;
    for _ in 0..60 {
        let seen = limited.call("modest", server, "small");
        if seen.status == 200 && seen.has("little") {
            return;
        }
        last = Some(seen);
        thread::sleep(Duration::from_millis(500));
    }
    panic!("{last:?}\n{}", limited.gateway.log());
}

fn small_chat(limited: &Limited) {
    let body =
        json!({"model": "tiny", "max_tokens": 10, "messages": [{"role": "user", "content": "x"}]});
    let seen = limited.ask("modest", "/v1/messages", &body);
    assert!(seen.status == 200 && seen.has("little"), "{seen:?}\n{}", limited.gateway.log());
}

fn at_once(count: usize, send: impl Fn(usize) -> Seen + Sync) -> Vec<Seen> {
    thread::scope(|scope| {
        let send = &send;
        let sending: Vec<_> = (0..count).map(|at| scope.spawn(move || send(at))).collect();
        sending.into_iter().map(|it| it.join().expect("it was answered")).collect()
    })
}

/// Many large answers of one server, for one key. Others call the server `beside`.
fn attack_server(server: &str, beside: &str) {
    if !skip::require_cgroup() {
        return;
    }
    let limited = Limited::start();
    let probe = |limited: &Limited| {
        roll(limited);
        small_call(limited, beside);
    };
    let seen =
        limited.beside(probe, || at_once(AT_ONCE, |_| limited.call("greedy", server, "large")));
    limited.assert_alive();
    for one in &seen {
        assert!([200, 503].contains(&one.status), "{}", one.head);
    }
    let refused = seen.iter().filter(|one| one.has("\"offline\"")).count();
    assert!(refused < seen.len(), "some are delivered");
    wait_for_small_call(&limited, server);
    limited.assert_recovered();
}

#[test]
fn p_21_large_answers_of_an_http_server_do_not_kill_it() {
    attack_server("json", "json");
}

#[test]
fn p_21_large_events_of_a_server_do_not_kill_it() {
    attack_server("sse", "sse");
}

/// On one pipe everybody waits until the lines before theirs are read, so others call another server.
#[test]
fn p_21_large_answers_of_a_child_do_not_kill_it() {
    attack_server("pipe", "json");
}

/// The fronts of the three other dialects translate; the first passes the provider's bytes on.
const FRONTS: [&str; 3] = ["/v1/chat/completions", "/v1/messages", "/v1/responses"];

fn chat(path: &str, model: &str, streams: bool) -> Value {
    match path {
        "/v1/responses" => json!({"model": model, "input": "x", "stream": streams, "store": false}),
        _ => json!({"model": model, "max_tokens": 10, "stream": streams,
            "messages": [{"role": "user", "content": "x"}]}),
    }
}

#[test]
fn p_21_large_answers_of_a_model_do_not_kill_it() {
    if !skip::require_cgroup() {
        return;
    }
    let limited = Limited::start();
    let probe = |limited: &Limited| {
        roll(limited);
        small_chat(limited);
    };
    for streams in [false, true] {
        let send = |at: usize| {
            let path = FRONTS[at % FRONTS.len()];
            limited.ask("greedy", path, &chat(path, "huge", streams))
        };
        let seen = limited.beside(probe, || at_once(AT_ONCE, send));
        limited.assert_alive();
        let delivered = seen.iter().filter(|one| one.body.len() > 7_000_000).count();
        for one in &seen {
            assert!([200, 503].contains(&one.status), "{one:?}");
            assert_eq!(one.head.contains("\r\nretry-after: "), one.status == 503, "{}", one.head);
        }
        assert!(delivered > 0, "some are delivered");
    }
    limited.assert_recovered();
}

#[test]
fn p_21_answers_that_nobody_reads_do_not_kill_it() {
    if !skip::require_cgroup() {
        return;
    }
    let limited = Limited::start();
    let probe = |limited: &Limited| {
        roll(limited);
        small_chat(limited);
        small_call(limited, "json");
    };
    let unread = limited.beside(probe, || {
        let mut unread = Vec::new();
        for at in 0..60 {
            let path = FRONTS[at % FRONTS.len()];
            unread.push(limited.send("greedy", path, &chat(path, "huge", at % 2 == 0)));
            let body = json!({"name": "json_large", "arguments": {}});
            unread.push(limited.send("greedy", "/v1/tools/execute", &body));
            thread::sleep(Duration::from_millis(150));
        }
        unread
    });
    limited.assert_alive();
    drop(unread);
    limited.assert_recovered();
}

/// Programs that fill most of the heap that they may use, and compute for a while.
const LARGE_PROGRAM: &str =
    "x = \"y\" * 40000000\nfor i in range(3000000):\n    pass\nresult = len(x)\n";

#[test]
fn p_22_large_programs_of_one_key_do_not_kill_it_nor_keep_others_from_theirs() {
    if !skip::require_cgroup() {
        return;
    }
    tollgate_testkit::worker();
    let limited = Limited::start();
    let run = |key: &str, code: &str| limited.ask(key, "/v1/code", &json!({"code": code}));
    let probe = |limited: &Limited| {
        roll(limited);
        let seen = run("modest", "result = 1 + 1");
        assert!(seen.status == 200 && seen.has("\"ok\""), "{seen:?}\n{}", limited.gateway.log());
    };
    let seen = limited.beside(probe, || at_once(16, |_| run("greedy", LARGE_PROGRAM)));
    limited.assert_alive();
    for one in &seen {
        let is_run = one.status == 200 && one.has("\"ok\"");
        let is_refused = one.status == 503 && one.head.contains("\r\nretry-after: ");
        assert!(is_run || is_refused, "{one:?}");
    }
    assert!(seen.iter().any(|one| one.status == 200), "some run");
    limited.assert_recovered();
}
