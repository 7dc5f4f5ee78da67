//! One record per call, for everything that observes calls: logs now, metrics, audit and feeds
//! later. Stages do not log; the gate makes the record when the call is over.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tollgate_core::call::{Kind, Request, Status};
use tollgate_core::id::{AgentId, ServerId};
use tollgate_core::policy::Permitted;
use tollgate_core::turn::{Principal, Turn};

use crate::caller::{CallError, Reply};
use crate::clock::Clock;

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

/// Makes the records.
pub(crate) struct Recorder {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) observers: Vec<Box<dyn Observer>>,
}

/// A call under way. One that is dropped before it is finished was cancelled.
pub(crate) struct Recording<'r> {
    recorder: &'r Recorder,
    record: CallRecord,
    began: Instant,
}

impl Recorder {
    pub(crate) fn begin(&self, turn: &Turn, request: &Request<'_>) -> Recording<'_> {
        let key = match request.kind {
            Kind::ReadResource => "uri",
            Kind::Task(_) => "taskId",
            Kind::CallTool | Kind::GetPrompt | Kind::Complete => "name",
        };
        let name = request.params.string(key).unwrap_or_default();
        let record = CallRecord {
            at: self.clock.wall(),
            principal: turn.principal.clone(),
            agent: turn.view.agent.clone(),
            method: request.kind.method(),
            name: name.chars().take(128).collect(),
            server: None,
            tool: None,
            tier: turn.view.tier,
            catalog_version: turn.view.version,
            end: End::Cancelled,
            duration: Duration::ZERO,
            result_bytes: 0,
        };
        Recording { recorder: self, record, began: self.clock.now() }
    }
}

impl Recording<'_> {
    pub(crate) fn target(&mut self, server: &ServerId, tool: Option<&str>) {
        self.record.server = Some(server.clone());
        self.record.tool = tool.map(str::to_owned);
    }

    pub(crate) fn permitted(&mut self, request: &Permitted<'_>) {
        self.target(request.server(), request.tool().map(|tool| tool.id.tool.as_str()));
    }

    pub(crate) fn finish(self, reply: &Result<Reply, CallError>) {
        let (end, bytes) = match reply {
            Ok(Reply::Tool(outcome)) => (End::Tool(outcome.status), outcome.result.get().len()),
            Ok(Reply::Result(result)) => (End::Answered, result.get().len()),
            Ok(Reply::InputRequired(result)) => (End::InputRequired, result.get().len()),
            Ok(Reply::Task(result)) => (End::Task, result.get().len()),
            Err(_) => (End::Failed, 0),
        };
        self.end(end, bytes);
    }

    pub(crate) fn end(mut self, end: End, result_bytes: usize) {
        self.record.end = end;
        self.record.result_bytes = result_bytes;
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        let now = self.recorder.clock.now();
        self.record.duration = now.saturating_duration_since(self.began);
        for observer in &self.recorder.observers {
            observer.observe(&self.record);
        }
    }
}
