//! The real program in a real control group of 512 MiB, as in a container: no request kills it, what
//! it freed goes back, and nobody waits for somebody else's large body.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tollgate_testkit::cgroup::MemoryCgroup;
use tollgate_testkit::skip;

use crate::running::{Answer, Served};

const MIB: u64 = 1 << 20;
const LIMIT: u64 = 512 * MIB;

/// Keys by name, and the calls of several principals.
const CONFIG: &str = "
keys:
  - { name: greedy, key: 'greedy-0123456789abcdef', rights: [execute] }
  - { name: modest, key: 'modest-0123456789abcdef', rights: [execute] }
";

struct Limited {
    gateway: Served,
    group: MemoryCgroup,
}

impl Limited {
    fn start() -> Self {
        let group = MemoryCgroup::new("tollgate-limit", LIMIT).expect("a control group");
        Self { gateway: Served::within(&group, CONFIG), group }
    }

    fn call(&self, name: &str, path: &str, body: &str) -> Answer {
        let key = format!("{name}-0123456789abcdef");
        let headers = [
            ("x-api-key", &*key),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "roll"),
        ];
        let mut line = self.gateway.line_without_token();
        line.send(&format!("POST {path}"), &headers, body)
    }

    fn small(&self, name: &str) -> Answer {
        let body = r#"{"name":"roll","arguments":{"expression":"2d6"}}"#;
        self.call(name, "/v1/tools/execute", body)
    }

    /// A figure of the process, in bytes.
    fn status(&self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.gateway.pid()));
        let status = status.expect("the gateway lives");
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a figure");
        let kilobytes = line.trim_start_matches(':').trim().trim_end_matches(" kB");
        kilobytes.parse::<u64>().expect("a number") * 1_024
    }

    fn resident(&self) -> u64 {
        self.status("VmRSS")
    }

    /// What the work adds to the resident size while it lasts.
    fn cost<T>(&self, work: impl FnOnce() -> T) -> (u64, T) {
        // Writing 5 begins the peak anew.
        fs::write(format!("/proc/{}/clear_refs", self.gateway.pid()), "5").expect("may be reset");
        let before = self.resident();
        let done = work();
        (self.status("VmHWM").saturating_sub(before), done)
    }

    fn assert_alive(&self, what: &str) {
        assert_eq!(
            self.group.killed_processes().expect("a count"),
            0,
            "{what}: {}",
            self.gateway.log()
        );
        assert_eq!(self.small("modest").status, 200, "{what}");
    }
}

fn execute(expression: &str) -> String {
    format!("{{\"name\":\"roll\",\"arguments\":{{\"expression\":{expression}}}}}")
}

/// The call on each route that takes calls or conversations.
fn on_each_route(expression: &str) -> Vec<(&'static str, String)> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let arguments = format!("{{\"expression\":{expression}}}");
    vec![
        ("/v1/tools/execute", execute(expression)),
        (
            "/mcp",
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":\
                 {{\"name\":\"roll\",\"arguments\":{arguments},\"_meta\":{meta}}}}}"
            ),
        ),
        (
            "/v1/mcp/tool/execute",
            format!(
                "{{\"id\":\"c\",\"type\":\"function\",\"function\":{{\"name\":\"roll\",\
                 \"arguments\":\"{{}}\"}},\"extra\":{arguments}}}"
            ),
        ),
        (
            "/v1/chat/completions",
            format!("{{\"model\":\"offline\",\"messages\":[],\"metadata\":{arguments}}}"),
        ),
    ]
}

#[test]
fn p_21_a_request_costs_at_most_four_times_its_body_and_16_mib() {
    if !skip::require_cgroup() {
        return;
    }
    let limited = Limited::start();
    limited.assert_alive("at first");
    let objects = |count: usize| format!("[{}0]", "{\"a\":0},".repeat(count));
    let shapes = [
        ("1,900,000 objects", objects(1_900_000), Some(413)),
        ("a string of 12 MiB", format!("\"{}\"", "x".repeat(12 << 20)), None),
        ("as many objects as arguments may have", objects(49_900), None),
        ("lists in lists", format!("[{}0]", "[[[[]]]],".repeat(24_000)), None),
        ("numbers", format!("[{}0]", "0,".repeat(99_000)), None),
    ];
    for (what, expression, expected) in shapes {
        for (path, body) in on_each_route(&expression) {
            let (cost, answer) = limited.cost(|| limited.call("greedy", path, &body));
            let allowed = 4 * body.len() as u64 + 16 * MIB;
            assert!(
                cost <= allowed,
                "{what} on {path}: {} KiB of {} KiB",
                cost >> 10,
                allowed >> 10
            );
            match expected {
                Some(status) => assert_eq!(answer.status, status, "{what} on {path}: {answer:?}"),
                None => assert!(answer.status < 500, "{what} on {path}: {answer:?}"),
            }
            limited.assert_alive(what);
        }
    }
}

#[test]
fn p_21_eight_large_strings_at_once_do_not_kill_it() {
    if !skip::require_cgroup() {
        return;
    }
    let limited = Limited::start();
    let body = execute(&format!("\"{}\"", "x".repeat(12 << 20)));
    let send = |_| limited.call("greedy", "/v1/tools/execute", &body);
    let answers = at_once(8, send);
    for answer in &answers {
        assert!([200, 503].contains(&answer.status), "{answer:?}");
        assert_eq!(answer.header("retry-after").is_some(), answer.status == 503, "{answer:?}");
    }
    assert!(answers.iter().any(|answer| answer.status == 200), "{answers:?}");
    limited.assert_alive("after eight");
}

#[test]
fn r_11_after_a_burst_memory_goes_back_and_everybody_is_served() {
    if !skip::require_cgroup() {
        return;
    }
    let limited = Limited::start();
    for _ in 0..20 {
        assert_eq!(limited.small("modest").status, 200);
    }
    let before = limited.resident();
    let body = execute(&format!("\"{}\"", "x".repeat(15 << 20)));
    at_once(8, |_| limited.call("greedy", "/v1/tools/execute", &body));
    #[expect(clippy::disallowed_methods, reason = "a test measures what happens outside")]
    let over = Instant::now();
    let within = |what: &str, is: &dyn Fn() -> bool| {
        while !is() {
            let resident = limited.resident() / MIB;
            assert!(over.elapsed() < Duration::from_secs(10), "{what}: {resident} MiB");
            thread::sleep(Duration::from_millis(100));
        }
    };
    within("modest is served", &|| limited.small("modest").status == 200);
    within("greedy is served", &|| limited.small("greedy").status == 200);
    within("memory goes back", &|| limited.resident() * 2 < before * 3);
    limited.assert_alive("after the burst");
}

#[test]
fn r_35_nobody_waits_for_somebody_elses_large_body() {
    if !skip::require_cgroup() {
        return;
    }
    let limited = Limited::start();
    let body = execute(&format!("[{}\"{}\"]", "{\"a\":0},".repeat(49_000), "x".repeat(12 << 20)));
    let (slowest, answers) = time_slowest(
        || {
            assert_eq!(limited.gateway.ask("GET", "/healthz").status, 200);
            assert_eq!(limited.small("modest").status, 200);
        },
        || at_once(6, |_| limited.call("greedy", "/v1/tools/execute", &body)),
    );
    assert!(answers.iter().all(|answer| [200, 503].contains(&answer.status)), "{answers:?}");
    assert!(slowest < Duration::from_millis(2_500), "somebody waited for {slowest:?}");
    limited.assert_alive("after all");
}

/// With as much memory as it likes: here it is time that such bodies cost.
#[test]
fn r_35_probes_do_not_wait_while_many_values_are_read_and_checked() {
    let gateway = Served::start(CONFIG);
    let body = execute(&format!("[{}0]", "{\"a\":0},".repeat(1_700_000)));
    let headers = [("x-api-key", "greedy-0123456789abcdef")];
    let (slowest, answers) = time_slowest(
        || assert_eq!(gateway.ask("GET", "/healthz").status, 200),
        || {
            at_once(6, |_| {
                gateway.line_without_token().send("POST /v1/tools/execute", &headers, &body)
            })
        },
    );
    assert!(slowest < Duration::from_millis(2_500), "a probe waited for {slowest:?}");
    assert!(answers.iter().all(|answer| [413, 503].contains(&answer.status)), "{answers:?}");
}

/// Repeats `probe` while `attack` runs; the slowest repetition, and the answers to the attack.
fn time_slowest(
    probe: impl Fn() + Sync,
    attack: impl FnOnce() -> Vec<Answer>,
) -> (Duration, Vec<Answer>) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut slowest = Duration::ZERO;
            while !is_over.load(Ordering::Relaxed) {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "a test measures what happens outside"
                )]
                let began = Instant::now();
                probe();
                slowest = slowest.max(began.elapsed());
            }
            slowest
        });
        let answers = attack();
        is_over.store(true, Ordering::Relaxed);
        (watch.join().expect("all are answered"), answers)
    })
}

fn at_once(count: usize, send: impl Fn(usize) -> Answer + Sync) -> Vec<Answer> {
    thread::scope(|scope| {
        let send = &send;
        let sending: Vec<_> = (0..count).map(|at| scope.spawn(move || send(at))).collect();
        sending.into_iter().map(|it| it.join().expect("it was answered")).collect()
    })
}
