//! What the gate tells whoever listens, beside the answers to calls: slow calls, late results,
//! calls that wait for leave, tools that moved to another tier or are doubted, a new config, music.
//!
//! A listener that falls behind misses some.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::Value;
use tokio::sync::broadcast;
use tollgate_core::approval::{ApprovalId, Ending, Why};
use tollgate_core::budget::Tier;
use tollgate_core::call::Status;
use tollgate_core::id::{AgentId, ExposedName, ToolId};
use tollgate_core::memory::Namespace;
use tollgate_core::tool::ContentHash;
use tollgate_core::turn::Principal;

/// How many notices a slow listener may be behind.
const QUEUE: usize = 256;

#[derive(Debug, Clone)]
pub enum Notice {
    /// A call takes longer than its tool's threshold; `message` is what may be said meanwhile.
    Slow { call: Call, message: Arc<str> },
    /// A call that was answered with `pending` is over: its result is behind the handle.
    Late { call: Call, handle: Arc<str>, status: Status },
    /// A call waits for a person's leave.
    ApprovalRequested { id: ApprovalId, call: Call, why: Why, until: SystemTime },
    /// It waits no more. `by` is whoever decided.
    ApprovalDecided { id: ApprovalId, call: Call, ending: Ending, by: Option<Principal> },
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
}

/// Whose call a notice is about.
#[derive(Debug, Clone)]
pub struct Call {
    pub principal: Principal,
    pub agent: AgentId,
    pub tool: ToolId,
    /// As the agent sees it.
    pub exposed: String,
}

/// Where notices go out; cheap to share.
#[derive(Debug, Clone)]
pub(crate) struct Notices(broadcast::Sender<Arc<Notice>>);

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
