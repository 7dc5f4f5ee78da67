//! Real servers that babble, drip, crash or never come up, behind the real gateway: what they cost
//! those who call them, and that they cost nobody else anything.
#![expect(clippy::print_stderr, reason = "figures for whoever measures")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::isolated_gateway::{Gateway, Python, soak_or};

/// An MCP server over HTTP that says its answers very slowly.
const DRIPPING: &str = include_str!("dripping.py");
/// An MCP server that costs next to nothing to start.
const TINY: &str = include_str!("tiny_server.sh");
/// What a call of ten milliseconds may take on a machine that builds and tests beside.
const BUSY_MACHINE: Duration = Duration::from_secs(5);

#[expect(clippy::disallowed_methods, reason = "a test measures what happens outside")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "a test compares its clock with a server's")]
fn seconds_since_1970() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64()
}

fn rolls(gateway: &Gateway) {
    assert_eq!(gateway.call("roll", &json!({"expression": "1d1"})), "1d1: 1.");
}

/// Once all servers are as wanted, by the API: it costs less than the command.
fn wait_for(gateway: &Gateway, limit: Duration, is_match: impl Fn(&[Value]) -> bool) -> Duration {
    let began = now();
    loop {
        let listed: Value = serde_json::from_str(&gateway.admin("GET /api/servers", "")).unwrap();
        let servers = listed["servers"].as_array().unwrap();
        if is_match(servers) {
            return began.elapsed();
        }
        assert!(began.elapsed() < limit, "{listed:#}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn state<'a>(servers: &'a [Value], id: &str) -> &'a str {
    let server = servers.iter().find(|server| server["id"] == id);
    server.and_then(|server| server["state"].as_str()).unwrap_or_default()
}

fn one(name: &str) -> Gateway {
    let folder = TempDir::new().unwrap();
    let server = Python::found().plain(folder.path(), name);
    let config = json!({"servers": {name: server}});
    Gateway::start_in(folder, &config, |it| it).ready(&[name])
}

/// What a server may say between its answers. `id` is the call's, `raw` writes bytes.
const GARBAGE: &[(&str, &str)] = &[
    ("log lines", "raw(b'starting up\\nnpm warn deprecated\\n{not json}\\n[1, 2\\n')"),
    ("binary", "raw(os.urandom(100_000).replace(b'\\n', b'') + b'\\n')"),
    ("zeros", "raw(bytes(1 << 20) + b'\\n')"),
    ("bad UTF-8", "raw(b'{\"jsonrpc\":\"2.0\",\"method\":\"\\xff\\xfe\"}\\n')"),
    ("64 MiB without a newline", "[raw(b'x' * (1 << 20)) for _ in range(64)]; raw(b'\\n')"),
    (
        "unknown ids",
        "[say({'id': 1_000_000 + n, 'result': {}}) for n in range(3)]; say({'id': 'text', 'result': {}})",
    ),
    ("a null id", "say({'id': None, 'error': {'code': -32700, 'message': 'what?'}})"),
    (
        "answers twice",
        "say({'id': 1, 'result': {}}); say({'id': id, 'result': {'content': [{'type': 'text', 'text': 'fine'}]}})",
    ),
    (
        "requests of its own",
        "say({'id': 's1', 'method': 'roots/list'}); say({'id': 's2', 'method': 'ping'}); say({'id': 's3', 'method': 'no/such'})",
    ),
    (
        "both result and error",
        "say({'id': 1_000_007, 'result': {}, 'error': {'code': 1, 'message': 'x'}})",
    ),
    ("deep", "raw(b'[' * 100_000 + b'\\n')"),
];
const SPEAKING: &str = "
import json
raw = lambda data: os.write(1, data)
say = lambda message: raw(json.dumps({'jsonrpc': '2.0', **message}).encode() + b'\\n')
id = sys._getframe(2).f_globals['request']['id']
";

/// More than any of that may take.
const GARBAGE_KIB: u64 = 5 << 10;
/// Garbage that looks like a message for as long as it is read.
const ALMOST_MESSAGE: &str =
    r#"raw(b'{"jsonrpc":"2.0","x":"'); [raw(b'x' * (1 << 20)) for _ in range(64)]; raw(b'\n')"#;
/// The longest line that is read.
const LINE_LIMIT_KIB: u64 = 8 << 10;

#[test]
fn r_18_valid_answers_come_through_garbage_and_it_costs_next_to_no_memory() {
    let gateway = one("evil");
    let say = |garbage: &str| gateway.evil("evil", &format!("{SPEAKING}{garbage}\nprint('fine')"));
    // So that what is made on first use is there.
    for _ in 0..20 {
        assert_eq!(say("raw(b'no json\\n')"), "fine");
    }
    // A call that was given up, and whose answer comes later.
    let late = json!({"name": "evil_do", "timeout_ms": 300,
        "arguments": {"code": "import time; time.sleep(1); print('late')"}});
    gateway.post("/v1/tools/execute", "", &late);
    assert_eq!(say(""), "fine", "after the answer to a call that was given up");
    let grown = |what: &str, say_all: &dyn Fn()| {
        let id = gateway.process.id();
        fs::write(format!("/proc/{id}/clear_refs"), "5").unwrap();
        let before = gateway.status("VmRSS:");
        say_all();
        let grown = gateway.status("VmHWM:").saturating_sub(before);
        eprintln!("R-18: {what}: resident {before} KiB, at most {grown} KiB more");
        grown
    };
    let garbage = grown("garbage", &|| {
        for (what, garbage) in GARBAGE {
            assert_eq!(say(garbage), "fine", "{what}");
        }
    });
    assert!(garbage <= GARBAGE_KIB, "{garbage} KiB more");
    let almost = grown("almost a message", &|| assert_eq!(say(ALMOST_MESSAGE), "fine"));
    // 1 MiB beside the line is the promise; what others do meanwhile takes some, too.
    assert!(almost <= LINE_LIMIT_KIB + soak_or(1 << 10, 2 << 10), "{almost} KiB more");
    rolls(&gateway);
}

#[test]
fn r_18_more_than_twenty_bad_lines_in_a_minute_degrade_a_server_that_still_answers() {
    let gateway = one("evil");
    let bad = |lines: usize| format!("{SPEAKING}raw(b'no json\\n' * {lines})\nprint('fine')");
    assert_eq!(gateway.evil("evil", &bad(20)), "fine");
    assert_eq!(state(&servers(&gateway), "evil"), "ready", "twenty are forgiven");
    assert_eq!(gateway.evil("evil", &bad(5)), "fine");
    wait_for(&gateway, BUSY_MACHINE, |servers| state(servers, "evil") == "degraded");
    assert_eq!(gateway.evil("evil", "print(1 + 1)"), "2", "it is used on");
}

fn servers(gateway: &Gateway) -> Vec<Value> {
    let listed: Value = serde_json::from_str(&gateway.admin("GET /api/servers", "")).unwrap();
    listed["servers"].as_array().unwrap().clone()
}

/// The HTTP server of `dripping.py`; killed when dropped.
struct Dripping(Child, String);

impl Dripping {
    fn start(mode: &str) -> Self {
        let mut child = Command::new(Python::found().program)
            .args(["-u", "-c", DRIPPING, mode])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self(child, format!("http://127.0.0.1:{}/mcp", port.trim()))
    }
}

impl Drop for Dripping {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Every byte and every progress notification comes in time for any idle timer; none of it moves the hard
/// maximum.
#[test]
fn r_16_whatever_drips_the_hard_maximum_holds() {
    const MAXIMUM: Duration = Duration::from_secs(2);
    let dripping = Dripping::start("calls");
    let stuck = Dripping::start("everything");
    let folder = TempDir::new().unwrap();
    let mut pipe = Python::found().plain(folder.path(), "pipe");
    pipe["defaults"] = json!({"timeout_ms": MAXIMUM.as_millis() as u64});
    let mut piped = serde_json::Map::new();
    for name in ["bytes", "blank", "progress"] {
        piped.insert(name.to_owned(), pipe.clone());
    }
    let far = |url: &str| {
        json!({"url": url, "protocol": "2025-11-25",
        "defaults": {"timeout_ms": MAXIMUM.as_millis() as u64}})
    };
    piped.insert("far".to_owned(), far(&dripping.1));
    piped.insert("stuck".to_owned(), far(&stuck.1));
    let began = now();
    let gateway = Gateway::start_in(folder, &json!({"servers": piped}), |it| it);
    let gateway = gateway.ready(&["bytes", "blank", "progress", "far"]);
    let forever = |step: &str| {
        format!(
            "import time\n{SPEAKING}\ntoken = sys._getframe(2).f_globals['request']['params'].get('_meta', {{}}).get('progressToken')\nraw(b'{{')\nfor n in range(600):\n  {step}\n  time.sleep(0.05)"
        )
    };
    let calls = [
        ("bytes_do", forever("raw(b' ')")),
        ("blank_do", forever("raw(b'\\n')")),
        ("progress_do", forever("say({'method': 'notifications/progress', 'params': {'progressToken': token, 'progress': n}})").replace("raw(b'{')", "pass")),
        ("far_headers", String::new()),
        ("far_body", String::new()),
        ("far_events", String::new()),
        ("far_comments", String::new()),
        ("far_progress", String::new()),
    ];
    thread::scope(|scope| {
        for (tool, code) in &calls {
            let gateway = &gateway;
            scope.spawn(move || {
                let at = now();
                let answer = gateway.call(tool, &json!({"code": code}));
                let took = at.elapsed();
                assert!(answer.contains("did not answer within"), "{tool}: {answer}");
                assert!(took >= MAXIMUM.mul_f32(0.8), "{tool}: {took:?}");
                assert!(took < MAXIMUM + BUSY_MACHINE, "{tool}: {took:?}");
                eprintln!("R-16: {tool} was given up after {took:?}");
            });
        }
        for _ in 0..20 {
            rolls(&gateway);
        }
    });
    // A handshake that drips is given up after ten seconds.
    let limit = Duration::from_secs(10) + 2 * BUSY_MACHINE;
    wait_for(&gateway, limit, |servers| state(servers, "stuck") == "offline");
    eprintln!("R-16: the handshake was given up {:?} after the start", began.elapsed());
}

#[test]
fn r_14_every_caller_of_a_server_that_crashes_is_told_once_and_at_once() {
    const CALLERS: usize = 40;
    let gateway = one("evil");
    let place = gateway.folder.path();
    let begun = place.join("evil/begun");
    let died = place.join("evil/died");
    let crash = format!(
        "import time\nopen({begun:?}, 'a').write('x')\ntime.sleep(2)\nopen({died:?}, 'w').write(repr(time.time()))\nos._exit(1)"
    );
    let lines: Vec<f64> = thread::scope(|scope| {
        let call = || {
            let body = json!({"name": "evil_do", "arguments": {"code": crash}});
            let answer = gateway.post("/v1/tools/execute", "", &body);
            let lines = seconds_since_1970();
            assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
            let body = answer.split_once("\r\n\r\n").unwrap().1;
            let body: Value = serde_json::from_str(body).unwrap();
            let status = body["status"].as_str().unwrap();
            assert!(["error", "offline"].contains(&status), "{body}");
            lines
        };
        let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(call)).collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    });
    assert_eq!(fs::read_to_string(&begun).unwrap(), "x", "no call ran twice");
    let died: f64 = fs::read_to_string(&died).unwrap().parse().unwrap();
    let last = lines.iter().map(|lines| lines - died).fold(0.0, f64::max);
    eprintln!("R-14: the last of {CALLERS} callers was told {:.0} ms after the crash", last * 1e3);
    // 250 ms is the promise; a machine that builds and tests beside is slower.
    assert!(last < soak_or(0.25, BUSY_MACHINE.as_secs_f64()), "{last} s");
    rolls(&gateway);
}

fn open_files(gateway: &Gateway) -> usize {
    fs::read_dir(format!("/proc/{}/fd", gateway.process.id())).unwrap().count()
}

#[test]
fn r_23_two_hundred_failed_handshakes_leave_no_descriptor_open() {
    let gateway = Gateway::start_in(TempDir::new().unwrap(), &json!({}), |it| it);
    let closing = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = closing.local_addr().unwrap().port();
    let over = AtomicBool::new(false);
    let failing = [
        json!({"command": ["false"]}),
        json!({"command": ["sh", "-c", "echo hello; exit 1"]}),
        json!({"command": ["sh", "-c", "read line; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":7}'"]}),
        json!({"url": format!("http://127.0.0.1:{port}/mcp")}),
    ];
    thread::scope(|scope| {
        scope.spawn(|| {
            for stream in closing.incoming() {
                drop(stream);
                if over.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        let fail = &|server: &Value| {
            let answer = gateway.admin("POST /api/servers/try", &server.to_string());
            assert!(answer.contains("\"ok\":false"), "{answer}");
        };
        failing.iter().for_each(fail);
        let before = open_files(&gateway);
        thread::scope(|scope| {
            for server in &failing {
                // Processes cost more than connections.
                let times = if server["url"].is_string() { 101 } else { 33 };
                scope.spawn(move || (0..times).for_each(|_| fail(server)));
            }
        });
        let after = (0..100).map(|_| {
            thread::sleep(Duration::from_millis(50));
            open_files(&gateway)
        });
        let after = after.into_iter().find(|after| after.abs_diff(before) <= 2);
        over.store(true, Ordering::Relaxed);
        drop(std::net::TcpStream::connect(("127.0.0.1", port)));
        eprintln!("R-23: {before} descriptors before 200 failed handshakes, {after:?} after");
        assert!(after.is_some(), "{} before, {} after", before, open_files(&gateway));
    });
    rolls(&gateway);
}

fn tiny(folder: &Path) -> Value {
    let script = folder.join("tiny");
    if !script.exists() {
        fs::write(&script, TINY).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    }
    json!({"command": [script], "protocol": "2025-11-25"})
}

#[test]
fn r_07_five_servers_that_hang_keep_fifteen_others_from_nothing() {
    let folder = TempDir::new().unwrap();
    let mut servers = serde_json::Map::new();
    for number in 0..15 {
        servers.insert(format!("good{number}"), tiny(folder.path()));
    }
    for number in 0..5 {
        servers.insert(format!("hangs{number}"), json!({"command": ["sleep", "60"]}));
    }
    let began = now();
    let gateway = Gateway::start_in(folder, &json!({"servers": servers}), |it| it);
    let answers = began.elapsed();
    wait_for(&gateway, 6 * BUSY_MACHINE, |servers| {
        (0..15).all(|number| state(servers, &format!("good{number}")) == "ready")
    });
    let took = began.elapsed();
    eprintln!("R-07: it answers after {answers:?}, 15 of 20 servers are ready after {took:?}");
    assert!(took < soak_or(Duration::from_secs(3), 6 * BUSY_MACHINE), "{took:?}");
    assert!(gateway.send("GET /readyz", "", "").starts_with("HTTP/1.1 200"));
    assert!(gateway.call("good7_say", &json!({})).contains("tiny"));
    for number in 0..5 {
        assert_eq!(state(&self::servers(&gateway), &format!("hangs{number}")), "starting");
    }
}

#[test]
fn r_07_a_gateway_without_servers_answers_at_once() {
    let mut took: Vec<Duration> = (0..3)
        .map(|_| {
            let began = now();
            let gateway = Gateway::start_in(TempDir::new().unwrap(), &json!({}), |it| it);
            let took = began.elapsed();
            rolls(&gateway);
            took
        })
        .collect();
    took.sort();
    eprintln!("R-07: cold starts took {took:?}");
    // 200 ms is the promise of a release build.
    let promise = Duration::from_millis(if cfg!(debug_assertions) { 1_000 } else { 200 });
    assert!(took[0] < soak_or(promise, 2 * BUSY_MACHINE), "{took:?}");
}
