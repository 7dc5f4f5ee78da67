//! The trace span of a tool call.

use tollgate_core::call::{CallStatus, GateRequest, RequestKind, ResultSource};
use tollgate_core::id::{ServerId, ToolName};
use tollgate_core::trace::{SpanId, TraceId};
use tollgate_core::turn::Turn;

use super::RecordingPolicy;
use crate::caller::{CallError, CallPurpose, Reply};
use crate::record::{CallEnding, CallRecord};
use crate::settings::ContentCapture;
use crate::spans::{self, CANCELLED_ERROR_TYPE, OTHER_ERROR_TYPE, TraceSpan, Tracer};

/// Only tool calls have this span: other requests have those of the client and the server side.
/// Probes have none.
pub(super) fn begin(
    tracer: &Tracer,
    turn: &Turn,
    request: &GateRequest<'_>,
    policy: &RecordingPolicy,
) -> TraceSpan {
    let outer = turn.trace.as_ref();
    if request.kind != RequestKind::CallTool || policy.purpose != CallPurpose::Serve {
        return TraceSpan::part_of(outer);
    }
    let mut span = tracer.begin(spans::SpanKind::Internal, outer, || "execute_tool".into());
    span.tell(|attributes| attributes.set("gen_ai.operation.name", "execute_tool"));
    if span.is_sampled() && policy.capture == ContentCapture::Redacted {
        let arguments = request.params.get("arguments").map(|raw| policy.redact(raw.get()));
        span.tell(|attributes| {
            attributes.set_some("gen_ai.tool.call.arguments", arguments.map(String::from));
        });
    }
    span
}

/// Trace and span id for the call's record.
pub(super) fn place(span: &TraceSpan) -> Option<(TraceId, SpanId)> {
    let context = span.trace()?.context.as_ref()?;
    Some((context.trace, context.span))
}

pub(super) fn result(
    span: &mut TraceSpan,
    reply: &Result<Reply, CallError>,
    policy: &RecordingPolicy,
) {
    if !span.is_sampled() || policy.capture == ContentCapture::Nothing {
        return;
    }
    if let Ok(Reply::Tool(outcome)) = reply {
        let shown = String::from(policy.redact(outcome.result.get()));
        span.tell(|attributes| attributes.set("gen_ai.tool.call.result", shown));
    }
}

pub(super) fn end(span: &mut TraceSpan, record: &CallRecord) {
    if !span.is_followed() {
        return;
    }
    // Unknown names are not used: their cardinality is unbounded.
    if record.tool.is_some() {
        span.rename(|| format!("execute_tool {}", record.name));
        span.tell(|attributes| attributes.set("gen_ai.tool.name", record.name.to_string()));
    }
    span.tell(|attributes| {
        attributes.set("gen_ai.tool.type", "extension");
        attributes.set("gen_ai.agent.name", record.agent.to_string());
        attributes.set("tollgate.call.id", record.call.to_string());
        attributes.set_some("tollgate.server.id", record.server.as_ref().map(ServerId::to_string));
        attributes.set_some("tollgate.tool.name", record.tool.as_ref().map(ToolName::to_string));
        attributes.set("tollgate.tier", record.tier.as_str());
        attributes.set("tollgate.outcome", record.end.as_str());
        attributes.set("tollgate.cached", record.source == ResultSource::Cached);
        attributes.set("tollgate.result.bytes", record.result_bytes as u64);
    });
    let detail = || record.detail.as_deref().unwrap_or_default().to_owned();
    match record.end {
        CallEnding::Tool(CallStatus::Ok | CallStatus::NoResults | CallStatus::Pending)
        | CallEnding::Answered
        | CallEnding::InputRequired
        | CallEnding::Task => span.complete(),
        CallEnding::Tool(CallStatus::Error) => span.fail("tool_error", detail),
        CallEnding::Tool(status) => span.fail(status.as_str(), detail),
        // The detail may quote the request.
        CallEnding::Refused => span.fail_quoting("refused", detail),
        CallEnding::Failed => span.fail(OTHER_ERROR_TYPE, detail),
        CallEnding::Cancelled => span.fail(CANCELLED_ERROR_TYPE, detail),
        CallEnding::Revoked => span.fail("revoked", detail),
    }
}
