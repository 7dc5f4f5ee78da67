//! An attack on a running gateway from several sides at once, and a client that behaves well beside
//! it: for seconds in an ordinary test, for minutes in `make soak`.
//!
//! The attackers send what once brought the gateway down: JSON that is small on the wire and huge in
//! memory, large strings from one key, arguments that take long to check, and connections that say
//! nothing. Threads and blocking sockets, so that whoever attacks shares no runtime with who is
//! measured.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

mod client;
mod paced_client;

pub use client::{BlockingHttpClient, Reply};
pub use paced_client::{PacedClient, PacedReport};

/// How hard, by threads of each kind. All are of one key.
#[derive(Debug, Clone)]
pub struct Attack {
    pub address: SocketAddr,
    pub key: String,
    /// Send 1,900,000 tiny objects, on every route that takes calls.
    pub object_bombs: usize,
    /// Send strings of 15 MiB.
    pub large_strings: usize,
    /// Send 13 MiB of arguments that take long to check.
    pub slow_checks: usize,
    /// Connections that say nothing; each is opened again when the gateway closes it.
    pub silent_connections: usize,
}

/// How the attackers were answered: how often with which status; 0 for a connection that broke.
pub type AttackAnswerCounts = BTreeMap<u16, u64>;

/// How long an attacker waits for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Between two requests of one attacker.
const REQUEST_PAUSE: Duration = Duration::from_millis(20);

impl Attack {
    /// As the security tests describe it: two, eight, six and ten thousand, or as many connections as
    /// this process may have files.
    pub fn full(address: SocketAddr, key: &str) -> Self {
        Self {
            address,
            key: key.to_owned(),
            object_bombs: 2,
            large_strings: 8,
            slow_checks: 6,
            silent_connections: 10_000,
        }
    }

    /// Attacks until `stop` is set. Panics of an attacker are the caller's.
    pub fn run(&self, stop: &AtomicBool) -> AttackAnswerCounts {
        let answers = Mutex::new(AttackAnswerCounts::new());
        let bodies = AttackBodies::new();
        thread::scope(|scope| {
            let kinds = [
                (self.object_bombs, &bodies.objects),
                (self.large_strings, &bodies.string),
                (self.slow_checks, &bodies.slow),
            ];
            for (threads, requests) in kinds {
                for at in 0..threads {
                    let answers = &answers;
                    scope.spawn(move || self.send_all(requests, at, stop, answers));
                }
            }
            if self.silent_connections > 0 {
                scope.spawn(|| self.stay_silent(stop));
            }
        });
        answers.into_inner()
    }

    /// One request after the other, beginning with the one at `first`.
    fn send_all(
        &self,
        requests: &[(&str, String)],
        first: usize,
        stop: &AtomicBool,
        answers: &Mutex<AttackAnswerCounts>,
    ) {
        for (path, body) in requests.iter().cycle().skip(first) {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            let status = self.send(path, body).map_or(0, |reply| reply.status);
            *answers.lock().entry(status).or_insert(0) += 1;
            thread::sleep(REQUEST_PAUSE);
        }
    }

    fn send(&self, path: &str, body: &str) -> io::Result<Reply> {
        let mut client = BlockingHttpClient::connect(self.address, ANSWER_TIMEOUT)?;
        client.post(path, &call_headers(&self.key), body)
    }

    /// Keeps so many connections open, whatever the gateway does with them.
    fn stay_silent(&self, stop: &AtomicBool) {
        let mut held = std::collections::VecDeque::with_capacity(self.silent_connections);
        while !stop.load(Ordering::Relaxed) {
            // The oldest has been closed by the gateway by now, or soon will be.
            if held.len() >= self.silent_connections {
                held.pop_front();
                thread::sleep(Duration::from_millis(1));
            }
            match TcpStream::connect_timeout(&self.address, Duration::from_secs(5)) {
                Ok(stream) => held.push_back(stream),
                Err(_) => thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

/// What a call over REST or MCP carries beside its body.
pub fn call_headers(key: &str) -> Vec<(&'static str, String)> {
    vec![
        ("x-api-key", key.to_owned()),
        ("accept", "application/json, text/event-stream".to_owned()),
        ("mcp-protocol-version", "2026-07-28".to_owned()),
        ("mcp-method", "tools/call".to_owned()),
        ("mcp-name", "roll".to_owned()),
    ]
}

/// The requests of each kind of attacker: path and body.
struct AttackBodies {
    objects: Vec<(&'static str, String)>,
    string: Vec<(&'static str, String)>,
    slow: Vec<(&'static str, String)>,
}

impl AttackBodies {
    fn new() -> Self {
        let objects = format!("[{}0]", "{\"a\":0},".repeat(1_900_000));
        let string = format!("\"{}\"", "x".repeat(15 << 20));
        let slow = format!("[{}\"{}\"]", "{\"a\":0},".repeat(49_000), "x".repeat(12 << 20));
        Self {
            objects: on_each_route(&objects),
            string: vec![("/v1/tools/execute", execute(&string))],
            slow: vec![("/v1/tools/execute", execute(&slow))],
        }
    }
}

fn execute(expression: &str) -> String {
    format!("{{\"name\":\"roll\",\"arguments\":{{\"expression\":{expression}}}}}")
}

fn on_each_route(expression: &str) -> Vec<(&'static str, String)> {
    const META: &str = "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
                        \"io.modelcontextprotocol/clientCapabilities\":{}}";
    let arguments = format!("{{\"expression\":{expression}}}");
    vec![
        ("/v1/tools/execute", execute(expression)),
        (
            "/mcp",
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":\
                 {{\"name\":\"roll\",\"arguments\":{arguments},{META}}}}}"
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

#[expect(clippy::disallowed_methods, reason = "an attack is measured from outside")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
