//! Resource limits of the fronts: sizes, timeouts and counts per client.

use std::time::Duration;

use tollgate_core::json::JsonBounds;
use tollgate_core::rate::RateLimit;

use crate::pressure::MemoryLimit;

/// Logins and webhooks that are read at the same time.
const MAX_UNPROVEN_BODIES: usize = 128;

#[derive(Debug, Clone)]
pub struct Limits {
    pub body_bytes: usize,
    /// Limits on the JSON of a body, or of one client message.
    pub json: JsonBounds,
    /// From the first to the last byte of a request's body.
    pub body_timeout: Duration,
    /// Mean rate of a body, from its beginning. 0: `body_timeout` alone counts.
    pub body_bytes_per_s: u32,
    /// From then on the rate counts.
    pub body_grace: Duration,
    /// The request line and all headers together.
    pub header_bytes: usize,
    pub headers: usize,
    /// Also how long an idle connection is kept.
    pub header_timeout: Duration,
    /// For the TLS handshake, from the first byte to the last.
    pub handshake_timeout: Duration,
    /// How long a client may accept no bytes.
    pub write_timeout: Duration,
    /// Concurrent connections. Idle ones are evicted for new ones.
    pub connections: usize,
    /// Connections per address. Trusted proxies have no such limit.
    pub connections_per_address: usize,
    /// Legacy MCP sessions. Idle ones are evicted for new ones, as above.
    pub sessions: usize,
    /// Sessions per key.
    pub sessions_per_key: usize,
    /// Sessions per address.
    pub sessions_per_address: usize,
    pub session_idle: Duration,
    /// Resources that one session or one `subscriptions/listen` may watch.
    pub watched_resources: usize,
    /// Requests in one JSON-RPC batch, where a batch is allowed at all.
    pub batch: usize,
    /// Limit on HTTP requests in progress, also on requests of one stdio client, and on calls that
    /// outlive their connection.
    pub in_flight: usize,
    /// HTTP requests per key, unless the key has a limit of its own.
    pub per_key: u32,
    /// Event streams that only listen.
    pub streams: usize,
    /// Listening streams per key.
    pub streams_per_key: u32,
    /// Concurrent realtime sessions.
    pub live_sessions: usize,
    /// Realtime sessions per key.
    pub live_per_key: u32,
    pub memory: MemoryLimit,
    /// Interval of keep-alive comments on a silent event stream.
    pub keep_alive: Duration,
    /// How long new requests are still served after shutdown was requested.
    pub grace: Duration,
    /// How long running requests may take after that.
    pub drain: Duration,
    /// Rate limit on wrong keys and tokens per address. Beyond it the response is 429.
    pub wrong_keys: RateLimit,
    /// The same for keys sent to log in.
    pub wrong_logins: RateLimit,
    /// Interval of audit rows about refused access.
    pub refusal_report: Duration,
    /// Minimum interval between fetches of an issuer's keys, however many tokens are signed by
    /// unknown keys.
    pub issuer_pause: Duration,
}

impl Limits {
    /// Limit on bodies without a key that are read at the same time.
    pub(crate) fn unproven_bodies(&self) -> usize {
        (self.in_flight / 4).clamp(1, MAX_UNPROVEN_BODIES)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 16 << 20,
            json: JsonBounds::default(),
            body_timeout: Duration::from_secs(30),
            body_bytes_per_s: 1024,
            body_grace: Duration::from_secs(5),
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
