//! The record of one call, for all observers: the audit trail, logs, metrics and event feeds.
//! Stages do not log; the gate creates the record when the call ends.

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
    /// The call of the program that made this call, if any.
    pub within: Option<CallId>,
    pub at: SystemTime,
    pub principal: Principal,
    pub agent: AgentId,
    /// Provider of the model that made the call, if any.
    pub provider: Option<Box<str>>,
    pub method: &'static str,
    /// The requested name, even if nothing has it.
    pub name: Arc<str>,
    pub server: Option<ServerId>,
    /// The name of the tool or prompt at its server.
    pub tool: Option<ToolName>,
    /// SHA-256 of the arguments as sent.
    pub arguments_hash: Option<[u8; 32]>,
    /// The redacted arguments, if they are to be kept.
    pub arguments: Option<Box<str>>,
    pub tier: Tier,
    pub catalog_version: u64,
    pub end: CallEnding,
    /// Why it was refused, without any arguments.
    pub detail: Option<Cow<'static, str>>,
    pub source: ResultSource,
    pub duration: Duration,
    pub result_bytes: usize,
    /// What was removed from the result before it was returned (sanitizing).
    pub removed: RemovedCounts,
    /// The span of the call, or its parent span.
    pub trace: Option<(TraceId, SpanId)>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnding {
    Tool(CallStatus),
    /// A request other than a tool call was answered.
    Answered,
    /// The caller has to answer a question first; the call continues.
    InputRequired,
    Task,
    /// Not admitted, and so not sent to a server.
    Refused,
    /// It failed before there was an outcome.
    Failed,
    /// The caller disconnected.
    Cancelled,
    /// The caller's credentials or its access to the tool were revoked while it ran.
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

    /// Its index in [`Self::ALL`].
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

    /// The call should have succeeded and did not. The caller's side is not an error of ours or of
    /// a server: invalid arguments, a denied approval, a limit, a disconnect.
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

/// Receives every record. Called on the call path: must not block.
pub trait Observer: Send + Sync {
    fn observe(&self, record: &CallRecord);
}

/// Logs one structured line per call.
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
