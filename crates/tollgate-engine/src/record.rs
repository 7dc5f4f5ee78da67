//! One record per call, for everything that observes calls: the audit trail, logs, and metrics and
//! feeds later. Stages do not log; the gate makes the record when the call is over.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use tollgate_core::budget::Tier;
use tollgate_core::call::{Source, Status};
use tollgate_core::id::{AgentId, ServerId, ToolName};
use tollgate_core::turn::Principal;

pub use tollgate_core::call::CallId;

#[derive(Debug, Clone)]
pub struct CallRecord {
    pub call: CallId,
    /// The call that runs a program, if a program made this one.
    pub within: Option<CallId>,
    pub at: SystemTime,
    pub principal: Principal,
    pub agent: AgentId,
    pub method: &'static str,
    /// The name as it was asked for, even if there is no such thing.
    pub name: String,
    pub server: Option<ServerId>,
    /// The tool's (or prompt's) name as its server says it.
    pub tool: Option<ToolName>,
    /// SHA-256 over the arguments as they were sent.
    pub arguments_hash: Option<[u8; 32]>,
    /// The arguments without what must not be seen, where they are to be kept.
    pub arguments: Option<Box<str>>,
    pub tier: Tier,
    pub catalog_version: u64,
    pub end: End,
    /// Why it was refused, in words without arguments.
    pub detail: Option<Cow<'static, str>>,
    pub source: Source,
    pub duration: Duration,
    pub result_bytes: usize,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Tool(Status),
    /// Another request than a tool call was answered.
    Answered,
    /// The caller has to answer first; the call goes on.
    InputRequired,
    Task,
    /// Not let through to a server.
    Refused,
    /// It failed before there was an outcome.
    Failed,
    /// The caller went away.
    Cancelled,
}

impl End {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool(status) => status.as_str(),
            Self::Answered => "answered",
            Self::InputRequired => "input_required",
            Self::Task => "task",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Sees every record. Called on the call path: must not block.
pub trait Observer: Send + Sync {
    fn observe(&self, record: &CallRecord);
}

/// Writes one structured line per call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Log;

impl Observer for Log {
    fn observe(&self, record: &CallRecord) {
        tracing::debug!(
            call = %record.call,
            within = record.within.as_ref().map(CallId::as_str),
            agent = %record.agent,
            principal = record.principal.as_str(),
            server = record.server.as_ref().map(ServerId::as_str),
            tool = record.tool.as_ref().map(ToolName::as_str),
            exposed_name = record.name,
            tier = %record.tier,
            outcome = record.end.as_str(),
            took_us = u64::try_from(record.duration.as_micros()).unwrap_or(u64::MAX),
            bytes = record.result_bytes,
            cached = record.source == Source::Cached,
            "call done"
        );
    }
}
