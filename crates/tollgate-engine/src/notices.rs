//! Notices: events that the gate broadcasts to listeners, besides the answers to calls.
//!
//! Slow calls, late results, calls that wait for approval, tools that changed their tier or are
//! quarantined, server states, config reloads, music, realtime sessions. A listener that lags
//! behind misses some.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use tokio::sync::broadcast;
use tollgate_core::approval::{ApprovalEnding, ApprovalId, ApprovalReason};
use tollgate_core::budget::Tier;
use tollgate_core::call::CallStatus;
use tollgate_core::id::{AgentId, ExposedName, ServerId, ToolId};
use tollgate_core::memory::Namespace;
use tollgate_core::tool::ContentHash;
use tollgate_core::turn::Principal;

/// Notices that a slow listener may lag behind.
const QUEUE: usize = 256;

#[derive(Debug, Clone)]
pub enum Notice {
    /// A call takes longer than its tool's threshold; `message` can be spoken meanwhile.
    Slow { call: NoticeCall, message: Arc<str> },
    /// A call that was answered with `pending` has ended: its result is behind the handle.
    Late { call: NoticeCall, handle: Arc<str>, status: CallStatus },
    /// A call waits for approval.
    ApprovalRequested { id: ApprovalId, call: NoticeCall, why: ApprovalReason, until: SystemTime },
    /// The approval was decided. `by` is the approver.
    ApprovalDecided {
        id: ApprovalId,
        call: NoticeCall,
        ending: ApprovalEnding,
        by: Option<Principal>,
    },
    /// A tool moved to another tier.
    Moved { tool: ToolId, from: Tier, to: Tier, reason: String },
    /// The config was reloaded; `error` says why it was not applied.
    Reloaded { by: String, error: Option<String> },
    /// A tool was newly withheld or flagged (quarantine).
    Doubted { tool: ToolId, exposed: ExposedName, verdict: &'static str, reason: String },
    /// A person accepted or rejected a definition.
    Judged { tool: ToolId, hash: ContentHash, decision: &'static str, by: Arc<str> },
    /// Music should start (a track, and its mood) or stop.
    Music { namespace: Namespace, principal: Principal, played: Option<(Value, String)> },
    /// A server changed its state.
    Server { server: ServerId, state: &'static str, reason: String, since: SystemTime },
    /// A realtime session began, had a turn, or ended.
    Live { session: Arc<LiveSession>, event: LiveEvent },
}

/// A speech session through the gateway.
#[derive(Debug)]
pub struct LiveSession {
    pub id: String,
    pub principal: Principal,
    pub agent: AgentId,
    pub dialect: &'static str,
    pub model: String,
}

#[derive(Debug, Clone)]
pub enum LiveEvent {
    Opened,
    /// Its tier from now on; `None`: no budget.
    Tier {
        tier: Option<Tier>,
        reason: String,
    },
    Turn(LiveTurn),
    Closed {
        code: u16,
        reason: String,
    },
}

/// Statistics of one turn of a realtime session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LiveTurn {
    /// From the end of the user's speech to the end of the answer.
    pub took: Duration,
    /// The part spent in tools.
    pub tools: Duration,
    pub calls: u32,
    /// Calls that were not done at the end of the turn.
    pub missed: u32,
    /// Spoken announcements of slow calls.
    pub announced: u32,
    pub cancelled: u32,
    /// Results of earlier turns that arrived in this one.
    pub late: u32,
    /// Whether the caller interrupted it (barge-in).
    pub ending: LiveEnding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LiveEnding {
    #[default]
    Whole,
    Interrupted,
}

/// The call that a notice is about.
#[derive(Debug, Clone)]
pub struct NoticeCall {
    pub principal: Principal,
    pub agent: AgentId,
    pub tool: ToolId,
    /// The exposed name of the tool.
    pub exposed: String,
}

/// Sender of notices; cheap to clone.
#[derive(Debug, Clone)]
pub struct Notices(broadcast::Sender<Arc<Notice>>);

impl Default for Notices {
    fn default() -> Self {
        Self(broadcast::Sender::new(QUEUE))
    }
}

impl Notices {
    /// Returns the number of listeners; none is fine.
    pub(crate) fn tell(&self, notice: Notice) -> usize {
        self.0.send(Arc::new(notice)).unwrap_or(0)
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<Arc<Notice>> {
        self.0.subscribe()
    }
}
