//! What can run a call: an upstream server, or tools in this process. The executor is the only
//! caller; nothing else in the gateway may reach a backend.

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

/// One piece of work for a backend, in the backend's own names.
pub struct BackendJob<'a> {
    /// The MCP method: `tools/call`, `resources/read`, …
    pub method: &'a str,
    pub params: Object<'a>,
    /// Of `tools/call`: the arguments in `params`, already parsed and checked. `None` for a legacy
    /// server, which reads `params` only.
    pub arguments: Option<&'a Value>,
    /// In which it is done: for work that calls tools itself.
    pub turn: &'a Turn,
    /// Under which the call is recorded.
    pub id: Option<CallId>,
    /// What the work is part of, for whoever does it.
    pub trace: Option<&'a Arc<Trace>>,
    /// On whose behalf.
    pub client: &'a ClientFacts,
    /// Arguments that the server wants mirrored into headers: suffix and value.
    pub mirrored: Vec<(String, String)>,
    pub events: Option<ServerEventSender>,
    pub progress: ProgressReporting,
    /// Says when a person is waited for and not the server; `None` where nobody can be asked.
    pub waits: Option<watch::Receiver<WaitsFor>>,
    /// When the work is given up: there is no use in waiting for what comes after.
    pub until: Option<Instant>,
    /// To be told when the work leaves for the server; its time is counted from then.
    pub departure: &'a SendTimestamp,
}

/// When a call left for its server: not before there was room for it. A call that never left says
/// nothing about its tool.
pub struct SendTimestamp {
    clock: Arc<dyn Clock>,
    at: OnceLock<Instant>,
    /// Where it is noted as well.
    leg: Option<AttemptTiming>,
}

impl SendTimestamp {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::with_timing(clock, None)
    }

    pub(crate) fn with_timing(clock: Arc<dyn Clock>, leg: Option<AttemptTiming>) -> Self {
        Self { clock, at: OnceLock::new(), leg }
    }

    /// It leaves now. Of several rounds the first counts.
    pub fn note(&self) {
        self.at.get_or_init(|| {
            let now = self.clock.now();
            if let Some(leg) = &self.leg {
                leg.mark_sent(now);
            }
            now
        });
    }

    /// It left when `other` did, if that has.
    pub fn follow(&self, other: &Self) {
        if let Some(at) = other.at() {
            self.at.get_or_init(|| at);
        }
    }

    pub fn at(&self) -> Option<Instant> {
        self.at.get().copied()
    }
}

/// Who makes a call wait. While it is a person, the call does not keep the server busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitsFor {
    Server,
    Person,
}

#[async_trait]
pub trait Backend: Send + Sync {
    /// The way to it as it is now. A sleeping server is woken and waited for.
    async fn connection(&self) -> Result<Arc<dyn BackendConnection>, BackendError>;

    /// Whether a server that was just lost, or not there, can be called again. Waits for one that
    /// is on its way back, until then; says no at once where that is not to be expected.
    async fn wait_until_available(&self, until: Instant) -> bool;
}

/// One connection to a backend. It never changes its era; when it breaks, its calls fail.
#[async_trait]
pub trait BackendConnection: Send + Sync {
    /// Decides how questions to the caller travel.
    fn era(&self) -> Era;

    /// Who is at the other end of the wire; `None`: there is no wire.
    fn peer(&self) -> Option<Peer<'_>> {
        None
    }

    /// Dropping the future cancels the work at the server.
    async fn run(&self, job: BackendJob<'_>) -> Result<Answer, BackendError>;
}

/// A server as those who follow calls know it.
#[derive(Debug, Clone, Copy)]
pub struct Peer<'p> {
    pub place: &'p PeerAddress,
    pub revision: Revision,
}

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerAddress {
    /// At the other end of a pipe.
    Pipe,
    Web {
        host: String,
        port: u16,
    },
}

/// Why a backend has no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BackendError {
    /// Nothing was sent: the server is not there.
    #[error("server is {state}: {reason}")]
    Offline { state: &'static str, reason: String },
    /// Nothing was sent: too many calls failed lately, or too many are waiting.
    #[error("{reason}")]
    Resting { reason: String, retry_after: std::time::Duration },
    /// The connection broke before the answer came. Whether the call had its effect is unknown.
    #[error("{0}")]
    Lost(String),
    /// The server answered, but not in MCP. Whether the call had its effect is unknown, and a
    /// second one would fare no better.
    #[error("{0}")]
    Unusable(String),
    /// The server answered with a JSON-RPC error.
    #[error("{} ({})", .0.message, .0.code)]
    Refused(JsonRpcError),
    #[error("{0}")]
    Unauthorized(String),
    #[error("the answer is larger than {limit} bytes")]
    TooLarge { limit: usize },
}
