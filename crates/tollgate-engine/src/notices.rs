//! What the gate tells whoever listens, beside the answers to calls.
//!
//! Slow calls, late results, calls that wait for leave, tools that moved to another tier or are
//! doubted, servers that come and go, a new config, music, live sessions. A listener that falls behind misses some.

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

/// How many notices a slow listener may be behind.
const QUEUE: usize = 256;

#[derive(Debug, Clone)]
pub enum Notice {
    /// A call takes longer than its tool's threshold; `message` is what may be said meanwhile.
    Slow { call: NoticeCall, message: Arc<str> },
    /// A call that was answered with `pending` is over: its result is behind the handle.
    Late { call: NoticeCall, handle: Arc<str>, status: CallStatus },
    /// A call waits for a person's leave.
    ApprovalRequested { id: ApprovalId, call: NoticeCall, why: ApprovalReason, until: SystemTime },
    /// It waits no more. `by` is whoever decided.
    ApprovalDecided {
        id: ApprovalId,
        call: NoticeCall,
        ending: ApprovalEnding,
        by: Option<Principal>,
    },
    /// A tool is seen from another tier on.
    Moved { tool: ToolId, from: Tier, to: Tier, reason: String },
    /// The config was read again: it is what runs now, or this is why not.
    Reloaded { by: String, error: Option<String> },
    /// A tool is withheld or flagged, and was not before.
    Doubted { tool: ToolId, exposed: ExposedName, verdict: &'static str, reason: String },
    /// A person accepted or rejected a definition.
    Judged { tool: ToolId, hash: ContentHash, decision: &'static str, by: Arc<str> },
    /// Music is to be played (a track, and for which mood), or to stop.
    Music { namespace: Namespace, principal: Principal, played: Option<(Value, String)> },
    /// A server is in another state.
    Server { server: ServerId, state: &'static str, reason: String, since: SystemTime },
    /// A live session began, had a turn, or ended.
    Live { session: Arc<LiveSession>, event: LiveEvent },
}

/// A speech session that goes through the gateway.
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
    /// From now on it has this tier; `None`: no budget.
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

/// What one turn of a live session came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LiveTurn {
    /// From the end of what the caller said to the end of the answer.
    pub took: Duration,
    /// Of that with tools.
    pub tools: Duration,
    pub calls: u32,
    /// Calls that were not done when the time of the turn was over.
    pub missed: u32,
    /// Words for slow calls that were said.
    pub announced: u32,
    pub cancelled: u32,
    /// Results of earlier turns that came in this one.
    pub late: u32,
    /// Whether the caller broke it off.
    pub ending: LiveEnding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LiveEnding {
    #[default]
    Whole,
    Interrupted,
}

/// Whose call a notice is about.
#[derive(Debug, Clone)]
pub struct NoticeCall {
    pub principal: Principal,
    pub agent: AgentId,
    pub tool: ToolId,
    /// As the agent sees it.
    pub exposed: String,
}

/// Where notices go out; cheap to share.
#[derive(Debug, Clone)]
pub struct Notices(broadcast::Sender<Arc<Notice>>);

impl Default for Notices {
    fn default() -> Self {
        Self(broadcast::Sender::new(QUEUE))
    }
}

impl Notices {
    /// How many listen; nobody is fine.
    pub(crate) fn tell(&self, notice: Notice) -> usize {
        self.0.send(Arc::new(notice)).unwrap_or(0)
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<Arc<Notice>> {
        self.0.subscribe()
    }
}
