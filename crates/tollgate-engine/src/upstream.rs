//! Upstream servers: starting, supervising and calling them. One supervisor task owns each server.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;
use tollgate_core::catalog::ServerListing;
use tollgate_core::id::ServerId;
use tollgate_mcp::Revision;

pub(crate) mod auth;
mod call_limiter;
mod connect;
mod connection_schedule;
mod context;
mod garbage;
mod handle;
mod history;
mod listing;
mod listing_cache;
mod mailbox;
mod ping;
mod process;
mod restart_state;
mod session;
mod supervisor;
mod trial;
mod upstream_shared;

pub use auth::{ConsentPromptError, OauthError, authorize, login};
pub use context::UpstreamContext;
pub use handle::Upstream;
pub use history::StateEpisode;
pub use trial::{OfferedTool, ServerTrial, TrialEvent, TrialReport};
pub(crate) use trial::{TrialRunner, describe_target};

/// An update to the registry, sent over a bounded queue.
#[derive(Debug)]
pub struct Update {
    pub server: ServerId,
    pub change: Change,
}

#[derive(Debug)]
pub enum Change {
    /// The server is up and has this listing.
    Listed(Arc<ServerListing>),
    /// Its tools are removed until it is back.
    Gone,
    /// `notifications/resources/updated`.
    ResourceUpdated(String),
}

pub type UpstreamUpdateSender = mpsc::Sender<Update>;

/// The state of a server, for display.
#[derive(Debug, Clone)]
pub struct UpstreamStatus {
    pub state: UpstreamState,
    /// Text: what happened last.
    pub reason: String,
    pub since: SystemTime,
    pub restarts: u32,
    /// Answers that came after their caller was gone, and were dropped.
    pub late_answers: u64,
    pub revision: Option<Revision>,
    pub tools: usize,
    pub last_error: Option<String>,
    pub pid: Option<u32>,
}

/// Load of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UpstreamLoad {
    pub running: usize,
    /// Calls queued for a permit.
    pub waiting: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpstreamState {
    Starting,
    Ready,
    /// In service, but with problems: half-open circuit breaker, garbage on stdout, failed listing.
    Degraded,
    Offline,
    /// Restarted too often; retried once a minute.
    Failed,
    Disabled,
}

impl UpstreamState {
    pub const ALL: [Self; 6] =
        [Self::Starting, Self::Ready, Self::Degraded, Self::Offline, Self::Failed, Self::Disabled];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Degraded => "degraded",
            Self::Offline => "offline",
            Self::Failed => "failed",
            Self::Disabled => "disabled",
        }
    }
}

/// The result of a test connection to a server.
#[derive(Debug, Clone)]
pub struct TestReport {
    pub verdict: TestVerdict,
    pub message: String,
    pub protocol: Option<Revision>,
    pub tools: usize,
    pub took: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestVerdict {
    Works,
    Fails,
}

#[cfg(test)]
mod tests;
