//! Interface of a backend, which runs calls: an upstream server or in-process tools. The executor
//! is the only caller; nothing else in the gateway may reach a backend.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::watch;
use tollgate_core::call::CallId;
use tollgate_core::json::Object;
use tollgate_core::trace::Trace;
use tollgate_core::turn::Turn;
use tollgate_mcp::client::{Answer, ProgressReporting, ServerEventSender};
use tollgate_mcp::error_code::JsonRpcError;
use tollgate_mcp::meta::ClientFacts;
use tollgate_mcp::{Era, Revision};

use crate::calls::AttemptTiming;
use crate::clock::Clock;

/// One request for a backend, with the backend's own names.
pub struct BackendJob<'a> {
    /// The MCP method: `tools/call`, `resources/read`, …
    pub method: &'a str,
    pub params: Object<'a>,
    /// For `tools/call`: the arguments in `params`, parsed and validated. `None` for a legacy
    /// server, which reads `params` only.
    pub arguments: Option<&'a Value>,
    /// The turn it belongs to: for jobs that call tools themselves.
    pub turn: &'a Turn,
    /// The id of the call in records.
    pub id: Option<CallId>,
    /// Trace context to pass to the server.
    pub trace: Option<&'a Arc<Trace>>,
    /// The client on whose behalf it runs.
    pub client: &'a ClientFacts,
    /// Arguments that the server wants mirrored into headers: suffix and value.
    pub mirrored: Vec<(String, String)>,
    pub events: Option<ServerEventSender>,
    pub progress: ProgressReporting,
    /// Tells whether the call waits for a person instead of the server; `None` if nobody can be
    /// asked.
    pub waits: Option<watch::Receiver<WaitsFor>>,
    /// Deadline of the job; `None`: none.
    pub until: Option<Instant>,
    /// Set when the job is sent to the server; latency is measured from then.
    pub departure: &'a SendTimestamp,
}

/// When a call was sent to its server, which is after it got a permit. A call that was never sent
/// says nothing about its tool's latency.
pub struct SendTimestamp {
    clock: Arc<dyn Clock>,
    at: OnceLock<Instant>,
    /// Also records the time in the call's steps.
    timing: Option<AttemptTiming>,
}

impl SendTimestamp {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::with_timing(clock, None)
    }

    pub(crate) fn with_timing(clock: Arc<dyn Clock>, timing: Option<AttemptTiming>) -> Self {
        Self { clock, at: OnceLock::new(), timing }
    }

    /// The call is sent now. With several rounds, the first counts.
    pub fn note(&self) {
        self.at.get_or_init(|| {
            let now = self.clock.now();
            if let Some(timing) = &self.timing {
                timing.mark_sent(now);
            }
            now
        });
    }

    /// Takes over the time of `other`, if it has one.
    pub fn follow(&self, other: &Self) {
        if let Some(at) = other.at() {
            self.at.get_or_init(|| at);
        }
    }

    pub fn at(&self) -> Option<Instant> {
        self.at.get().copied()
    }
}

/// What a call waits for. While that is a person, the call does not occupy the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitsFor {
    Server,
    Person,
}

#[async_trait]
pub trait Backend: Send + Sync {
    /// The current connection. Wakes a sleeping server and waits for it.
    async fn connection(&self) -> Result<Arc<dyn BackendConnection>, BackendError>;

    /// Whether a lost or absent server can be called again. Waits until the deadline if the server
    /// is being restarted; returns false at once if it is not expected to come back.
    async fn wait_until_available(&self, until: Instant) -> bool;
}

/// One connection to a backend. Its era never changes; when it breaks, its calls fail.
#[async_trait]
pub trait BackendConnection: Send + Sync {
    /// Decides how questions reach the caller.
    fn era(&self) -> Era;

    /// The remote end; `None` for in-process tools.
    fn peer(&self) -> Option<Peer<'_>> {
        None
    }

    /// Dropping the future cancels the work at the server.
    async fn run(&self, job: BackendJob<'_>) -> Result<Answer, BackendError>;
}

/// A server as traces and records name it.
#[derive(Debug, Clone, Copy)]
pub struct Peer<'p> {
    pub place: &'p PeerAddress,
    pub revision: Revision,
}

/// Address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerAddress {
    /// A child process, connected by pipes.
    Pipe,
    Web {
        host: String,
        port: u16,
    },
}

/// Why a backend has no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BackendError {
    /// Nothing was sent: the server is offline.
    #[error("server is {state}: {reason}")]
    Offline { state: &'static str, reason: String },
    /// Nothing was sent: too many recent failures (circuit breaker), or the queue is full.
    #[error("{reason}")]
    Resting { reason: String, retry_after: std::time::Duration },
    /// The connection broke before the answer came. Whether the call had its effect is unknown.
    #[error("{0}")]
    Lost(String),
    /// The server's answer is not valid MCP. Whether the call had its effect is unknown, and a
    /// retry would not help.
    #[error("{0}")]
    Unusable(String),
    /// The server answered with a JSON-RPC error.
    #[error("{} ({})", .0.message, .0.code)]
    Refused(JsonRpcError),
    #[error("{0}")]
    Unauthorized(String),
    #[error("the answer is larger than {limit} bytes")]
    TooLarge { limit: usize },
    /// The answer was not read, because other large answers use the memory. The call had its
    /// effect.
    #[error("there is no memory for the answer")]
    NoRoom,
}
