//! How much a stranger may cost: sizes, times and numbers of the fronts.

use std::time::Duration;

use crate::pressure::Memory;

#[derive(Debug, Clone)]
pub struct Limits {
    pub body_bytes: usize,
    /// From the first to the last byte of a request's body.
    pub body_timeout: Duration,
    /// The request line and all headers together.
    pub header_bytes: usize,
    pub headers: usize,
    /// Also how long an idle connection is kept.
    pub header_timeout: Duration,
    /// Of TLS, from the first byte to the last.
    pub handshake_timeout: Duration,
    /// How long a client may refuse to take bytes.
    pub write_timeout: Duration,
    pub connections: usize,
    /// Legacy MCP sessions.
    pub sessions: usize,
    pub session_idle: Duration,
    /// Resources that one session or one `subscriptions/listen` may watch.
    pub watched_resources: usize,
    /// Requests in one JSON-RPC batch, where a batch is allowed at all.
    pub batch: usize,
    /// Requests that are being answered over HTTP, those on one pipe, and calls that outlive their
    /// connection.
    pub in_flight: usize,
    /// Of the first, those of one key that says nothing of its own.
    pub per_key: u32,
    /// Speech sessions that are held at the same time.
    pub live_sessions: usize,
    /// Of them, those of one key.
    pub live_per_key: u32,
    pub memory: Memory,
    /// How often a silent event stream shows that it lives.
    pub keep_alive: Duration,
    /// How long running requests may take when the server stops.
    pub drain: Duration,
    /// However many tokens are signed by keys that are not known, their issuer is asked for keys
    /// no more often.
    pub issuer_pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 16 << 20,
            body_timeout: Duration::from_secs(30),
            header_bytes: 64 << 10,
            headers: 128,
            header_timeout: Duration::from_secs(10),
            handshake_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(30),
            connections: 4096,
            sessions: 10_000,
            session_idle: Duration::from_secs(30 * 60),
            watched_resources: 256,
            batch: 100,
            in_flight: 1024,
            per_key: 64,
            live_sessions: 2_000,
            live_per_key: 1_000,
            memory: Memory::unlimited(),
            keep_alive: Duration::from_secs(15),
            drain: Duration::from_secs(30),
            issuer_pause: Duration::from_secs(30),
        }
    }
}
