//! A client that behaves well: small calls at a fixed rate on a few connections that it keeps.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use std::{fmt, io};

use super::client::BlockingHttpClient;
use super::{call_headers, now};

/// Longer than anybody may have to wait.
const TIMEOUT: Duration = Duration::from_secs(30);
const CALL: &str = r#"{"name":"roll","arguments":{"expression":"2d6"}}"#;
/// Of failures, so many are told.
const MAX_REASONS: usize = 10;

#[derive(Debug, Clone)]
pub struct PacedClient {
    pub address: SocketAddr,
    pub key: String,
    pub calls_per_second: u32,
    pub connections: u32,
}

/// What the client saw.
#[derive(Debug, Default)]
pub struct PacedReport {
    pub calls: u64,
    pub failures: u64,
    /// In words, of the first ones.
    pub reasons: Vec<String>,
    /// From the moment at which a call was due; ascending.
    pub latencies: Vec<Duration>,
}

/// Why a call failed.
#[derive(Debug)]
enum PacedCallError {
    Connect(io::Error),
    Call(io::Error),
    Answer { status: u16, text: String },
}

impl fmt::Display for PacedCallError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => write!(out, "connecting: {error}"),
            Self::Call(error) => write!(out, "calling: {error}"),
            Self::Answer { status, text } => write!(out, "status {status}: {text}"),
        }
    }
}

impl PacedReport {
    /// The smallest latency that at least the share `q` of all does not exceed.
    pub fn quantile(&self, q: f64) -> Duration {
        let rank = (q * self.latencies.len() as f64).ceil() as usize;
        let at = rank.max(1) - 1;
        self.latencies.get(at).copied().unwrap_or_default()
    }

    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.failures += other.failures;
        self.reasons.extend(other.reasons);
        self.reasons.truncate(MAX_REASONS);
        self.latencies.extend(other.latencies);
    }
}

impl PacedClient {
    /// Calls until `stop` is set.
    pub fn run(&self, stop: &AtomicBool) -> PacedReport {
        let mut all = PacedReport::default();
        thread::scope(|scope| {
            let workers: Vec<_> = (0..self.connections)
                .map(|at| scope.spawn(move || self.connection(at, stop)))
                .collect();
            for connection in workers {
                all.add(connection.join().expect("a connection does not panic"));
            }
        });
        all.latencies.sort_unstable();
        all
    }

    /// Every so many calls of the schedule, on one connection. A connection that is closed between
    /// two calls is opened again, as every client does; one that breaks in a call is a failure.
    fn connection(&self, at: u32, stop: &AtomicBool) -> PacedReport {
        let period = Duration::from_secs(1) * self.connections / self.calls_per_second;
        let mut due = now() + period * at / self.connections;
        let mut seen = PacedReport::default();
        let mut client = None;
        while !stop.load(Ordering::Relaxed) {
            thread::sleep(due.saturating_duration_since(now()));
            let called = self.call(&mut client);
            seen.calls += 1;
            seen.latencies.push(now().saturating_duration_since(due));
            if let Err(reason) = called {
                seen.failures += 1;
                seen.reasons.push(reason.to_string());
                client = None;
            }
            due += period;
        }
        seen.reasons.truncate(MAX_REASONS);
        seen
    }

    fn call(&self, client: &mut Option<BlockingHttpClient>) -> Result<(), PacedCallError> {
        let mut connected = match client.take() {
            Some(client) => client,
            None => BlockingHttpClient::connect(self.address, TIMEOUT)
                .map_err(PacedCallError::Connect)?,
        };
        let sent = connected.post("/v1/tools/execute", &call_headers(&self.key), CALL);
        let reply = sent.map_err(PacedCallError::Call)?;
        *client = Some(connected);
        let text = String::from_utf8_lossy(&reply.body);
        if reply.status == 200 && text.contains("\"ok\"") {
            Ok(())
        } else {
            Err(PacedCallError::Answer {
                status: reply.status,
                text: text.chars().take(200).collect(),
            })
        }
    }
}
