//! One record per call, for everything that observes calls: the audit trail, logs, and metrics and
//! feeds later. Stages do not log; the gate makes the record when the call is over.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tollgate_core::budget::Tier;
use tollgate_core::call::{CallStatus, ResultSource};
use tollgate_core::id::{AgentId, ServerId, ToolName};
use tollgate_core::tool::hidden_text::RemovedCounts;
use tollgate_core::trace::{SpanId, TraceId};
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
    /// Of the model that made the call, if one did.
    pub provider: Option<Box<str>>,
    pub method: &'static str,
    /// The name as it was asked for, even if there is no such thing.
    pub name: Arc<str>,
    pub server: Option<ServerId>,
    /// The tool's (or prompt's) name as its server says it.
    pub tool: Option<ToolName>,
    /// SHA-256 over the arguments as they were sent.
    pub arguments_hash: Option<[u8; 32]>,
    /// The arguments without what must not be seen, where they are to be kept.
    pub arguments: Option<Box<str>>,
    pub tier: Tier,
    pub catalog_version: u64,
    pub end: CallEnding,
    /// Why it was refused, in words without arguments.
    pub detail: Option<Cow<'static, str>>,
    pub source: ResultSource,
    pub duration: Duration,
    pub result_bytes: usize,
    /// What was taken out of a tool's result before anybody read it.
    pub removed: RemovedCounts,
    /// The span that tells of it, or beneath which it was made.
    pub trace: Option<(TraceId, SpanId)>,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnding {
    Tool(CallStatus),
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
    /// What let the caller in, or the tool, was taken away while it ran.
    Revoked,
}

impl CallEnding {
    pub const ALL: [Self; 16] = [
        Self::Tool(CallStatus::Ok),
        Self::Tool(CallStatus::NoResults),
        Self::Tool(CallStatus::Error),
        Self::Tool(CallStatus::Timeout),
        Self::Tool(CallStatus::Pending),
        Self::Tool(CallStatus::Denied),
        Self::Tool(CallStatus::InvalidArguments),
        Self::Tool(CallStatus::RateLimited),
        Self::Tool(CallStatus::Offline),
        Self::Answered,
        Self::InputRequired,
        Self::Task,
        Self::Refused,
        Self::Failed,
        Self::Cancelled,
        Self::Revoked,
    ];

    /// Where it stands among all.
    pub(crate) fn place(self) -> usize {
        match self {
            Self::Tool(CallStatus::Ok) => 0,
            Self::Tool(CallStatus::NoResults) => 1,
            Self::Tool(CallStatus::Error) => 2,
            Self::Tool(CallStatus::Timeout) => 3,
            Self::Tool(CallStatus::Pending) => 4,
            Self::Tool(CallStatus::Denied) => 5,
            Self::Tool(CallStatus::InvalidArguments) => 6,
            Self::Tool(CallStatus::RateLimited) => 7,
            Self::Tool(CallStatus::Offline) => 8,
            Self::Answered => 9,
            Self::InputRequired => 10,
            Self::Task => 11,
            Self::Refused => 12,
            Self::Failed => 13,
            Self::Cancelled => 14,
            Self::Revoked => 15,
        }
    }

    /// It was to be answered, and was not. What somebody else is to blame for is no error of ours or
    /// a server's: wrong arguments, denied leave, a limit, a caller that went away.
    pub fn is_error(self) -> bool {
        match self {
            Self::Tool(CallStatus::Error | CallStatus::Timeout | CallStatus::Offline)
            | Self::Failed => true,
            Self::Tool(
                CallStatus::Ok
                | CallStatus::NoResults
                | CallStatus::Pending
                | CallStatus::Denied
                | CallStatus::InvalidArguments
                | CallStatus::RateLimited,
            )
            | Self::Answered
            | Self::InputRequired
            | Self::Task
            | Self::Refused
            | Self::Cancelled
            | Self::Revoked => false,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool(status) => status.as_str(),
            Self::Answered => "answered",
            Self::InputRequired => "input_required",
            Self::Task => "task",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Revoked => "revoked",
        }
    }
}

/// Sees every record. Called on the call path: must not block.
pub trait Observer: Send + Sync {
    fn observe(&self, record: &CallRecord);
}

/// Writes one structured line per call.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallLogger;

impl Observer for CallLogger {
    fn observe(&self, record: &CallRecord) {
        tracing::debug!(
            call_id = %record.call,
            within = record.within.as_ref().map(CallId::as_str),
            agent = %record.agent,
            provider = record.provider.as_deref(),
            principal = record.principal.as_str(),
            server = record.server.as_ref().map(ServerId::as_str),
            tool = record.tool.as_ref().map(ToolName::as_str),
            exposed_name = &*record.name,
            tier = %record.tier,
            outcome = record.end.as_str(),
            took_us = u64::try_from(record.duration.as_micros()).unwrap_or(u64::MAX),
            bytes = record.result_bytes,
            cached = record.source == ResultSource::Cached,
            trace_id = record.trace.map(|(trace, _)| tracing::field::display(trace)),
            span_id = record.trace.map(|(_, span)| tracing::field::display(span)),
            "call done"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::CallEnding;

    #[test]
    fn every_end_stands_where_it_says() {
        for (at, end) in CallEnding::ALL.into_iter().enumerate() {
            assert_eq!(end.place(), at, "{}", end.as_str());
        }
    }
}
