//! How much a stranger may cost: sizes, times and numbers of the fronts.

use std::time::Duration;

use tollgate_core::json::JsonBounds;
use tollgate_core::rate::RateLimit;

use crate::pressure::MemoryLimit;

#[derive(Debug, Clone)]
pub struct Limits {
    pub body_bytes: usize,
    /// What a body, or one message of a client, may hold.
    pub json: JsonBounds,
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
    /// That are served at the same time. Idle ones make room for new ones.
    pub connections: usize,
    /// Of them, those of one address; trusted proxies have no limit of their own.
    pub connections_per_address: usize,
    /// Legacy MCP sessions. Idle ones make room for new ones, as above.
    pub sessions: usize,
    /// Of them, those of one key.
    pub sessions_per_key: usize,
    /// Of them, those of one address.
    pub sessions_per_address: usize,
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
    /// Event streams of those who only listen.
    pub streams: usize,
    /// Of them, those of one key.
    pub streams_per_key: u32,
    /// Speech sessions that are held at the same time.
    pub live_sessions: usize,
    /// Of them, those of one key.
    pub live_per_key: u32,
    pub memory: MemoryLimit,
    /// How often a silent event stream shows that it lives.
    pub keep_alive: Duration,
    /// How long requests are still answered when the server is told to stop.
    pub grace: Duration,
    /// How long running requests may take after that.
    pub drain: Duration,
    /// Wrong keys and tokens of one address before they are answered with 429.
    pub wrong_keys: RateLimit,
    /// The same for keys that are sent to log in by.
    pub wrong_logins: RateLimit,
    /// How often refused access is written to the audit trail.
    pub refusal_report: Duration,
    /// However many tokens are signed by keys that are not known, their issuer is asked for keys
    /// no more often.
    pub issuer_pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 16 << 20,
            json: JsonBounds::default(),
            body_timeout: Duration::from_secs(30),
            header_bytes: 64 << 10,
            headers: 128,
            header_timeout: Duration::from_secs(10),
            handshake_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(30),
            connections: 4096,
            connections_per_address: 2048,
            sessions: 10_000,
            sessions_per_key: 1_000,
            sessions_per_address: 5_000,
            session_idle: Duration::from_secs(30 * 60),
            watched_resources: 256,
            batch: 100,
            in_flight: 1024,
            per_key: 64,
            streams: 2048,
            streams_per_key: 1_000,
            live_sessions: 2_000,
            live_per_key: 1_000,
            memory: MemoryLimit::without_limit(),
            keep_alive: Duration::from_secs(15),
            grace: Duration::from_secs(2),
            drain: Duration::from_secs(30),
            wrong_keys: RateLimit { calls: 30, per: Duration::from_secs(60) },
            wrong_logins: RateLimit { calls: 5, per: Duration::from_secs(60) },
            refusal_report: Duration::from_secs(60),
            issuer_pause: Duration::from_secs(30),
        }
    }
}
