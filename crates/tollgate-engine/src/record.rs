//! One record per call, for everything that observes calls: logs now, metrics, audit and feeds
//! later. Stages do not log; the gate makes the record when the call is over.

use std::time::{Duration, SystemTime};

use tollgate_core::call::Status;
use tollgate_core::id::{AgentId, ServerId};
use tollgate_core::turn::Principal;

#[derive(Debug, Clone)]
pub struct CallRecord {
    pub at: SystemTime,
    pub principal: Principal,
    pub agent: AgentId,
    pub method: &'static str,
    /// The name as it was asked for, even if there is no such thing.
    pub name: String,
    pub server: Option<ServerId>,
    /// The tool's (or prompt's) name as its server says it.
    pub tool: Option<String>,
    pub tier: tollgate_core::budget::Tier,
    pub catalog_version: u64,
    pub end: End,
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
    /// Refused or failed before there was an outcome.
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
            agent = %record.agent,
            principal = record.principal.as_str(),
            server = record.server.as_ref().map(ServerId::as_str),
            tool = record.tool.as_deref(),
            exposed_name = record.name,
            tier = %record.tier,
            outcome = record.end.as_str(),
            took_us = u64::try_from(record.duration.as_micros()).unwrap_or(u64::MAX),
            bytes = record.result_bytes,
            "call done"
        );
    }
}
