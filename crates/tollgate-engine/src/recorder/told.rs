//! The span of a call of a tool: what whoever follows a request hears of it.

use tollgate_core::call::{Kind, Request, Source, Status};
use tollgate_core::id::{ServerId, ToolName};
use tollgate_core::trace::{SpanId, TraceId};
use tollgate_core::turn::Turn;

use super::Policy;
use crate::caller::{CallError, Purpose, Reply};
use crate::record::{CallRecord, End};
use crate::settings::Capture;
use crate::spans::{self, CANCELLED, OTHER, Span, Tracer};

/// Other requests than calls of tools have the spans of those who ask and of those who answer;
/// calls that only measure have none.
pub(super) fn begin(tracer: &Tracer, turn: &Turn, request: &Request<'_>, policy: &Policy) -> Span {
    let outer = turn.trace.as_ref();
    if request.kind != Kind::CallTool || policy.purpose != Purpose::Serve {
        return Span::part_of(outer);
    }
    let mut span = tracer.begin(spans::Kind::Internal, outer, || "execute_tool".into());
    span.tell(|said| said.set("gen_ai.operation.name", "execute_tool"));
    if span.is_kept() && policy.capture == Capture::Redacted {
        let arguments = request.params.get("arguments").map(|raw| policy.shown(raw.get()));
        span.tell(|said| {
            said.set_some("gen_ai.tool.call.arguments", arguments.map(String::from));
        });
    }
    span
}

/// Where the call is, for its record.
pub(super) fn place(span: &Span) -> Option<(TraceId, SpanId)> {
    let context = span.trace()?.context.as_ref()?;
    Some((context.trace, context.span))
}

pub(super) fn result(span: &mut Span, reply: &Result<Reply, CallError>, policy: &Policy) {
    if !span.is_kept() || policy.capture == Capture::Nothing {
        return;
    }
    if let Ok(Reply::Tool(outcome)) = reply {
        let shown = String::from(policy.shown(outcome.result.get()));
        span.tell(|said| said.set("gen_ai.tool.call.result", shown));
    }
}

pub(super) fn end(span: &mut Span, record: &CallRecord) {
    if !span.is_followed() {
        return;
    }
    // A name that nobody has is not told: there are too many of those.
    if record.tool.is_some() {
        span.rename(|| format!("execute_tool {}", record.name));
        span.tell(|said| said.set("gen_ai.tool.name", record.name.to_string()));
    }
    span.tell(|said| {
        said.set("gen_ai.tool.type", "extension");
        said.set("gen_ai.agent.name", record.agent.to_string());
        said.set("tollgate.call.id", record.call.to_string());
        said.set_some("tollgate.server.id", record.server.as_ref().map(ServerId::to_string));
        said.set_some("tollgate.tool.name", record.tool.as_ref().map(ToolName::to_string));
        said.set("tollgate.tier", record.tier.as_str());
        said.set("tollgate.outcome", record.end.as_str());
        said.set("tollgate.cached", record.source == Source::Cached);
        said.set("tollgate.result.bytes", record.result_bytes as u64);
    });
    let detail = || record.detail.as_deref().unwrap_or_default().to_owned();
    match record.end {
        End::Tool(Status::Ok | Status::NoResults | Status::Pending)
        | End::Answered
        | End::InputRequired
        | End::Task => span.done(),
        End::Tool(Status::Error) => span.failed("tool_error", detail),
        End::Tool(status) => span.failed(status.as_str(), detail),
        // It may repeat what was asked.
        End::Refused => span.refused("refused", detail),
        End::Failed => span.failed(OTHER, detail),
        End::Cancelled => span.failed(CANCELLED, detail),
        End::Revoked => span.failed("revoked", detail),
    }
}
