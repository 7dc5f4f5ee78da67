//! The trace span of one attempt at a server: the client side of an MCP request.

use tollgate_core::call::RequestKind;
use tollgate_core::json::Object;
use tollgate_core::policy::Permitted;
use tollgate_core::turn::Turn;
use tollgate_mcp::client::{Answer, AnswerKind};
use tollgate_mcp::error_code;

use super::BackendOutcome;
use crate::backend::{BackendConnection, BackendError, Peer, PeerAddress};
use crate::caller::CallError;
use crate::spans::{self, OTHER_ERROR_TYPE, SpanAttributes, TraceSpan, Tracer};

/// Larger results are not searched for `isError`: the span of the call has the outcome.
const MAX_SEARCHED_BYTES: usize = 64 << 10;

/// In-process tools have no span besides that of the call.
pub(super) fn begin(
    tracer: &Tracer,
    turn: &Turn,
    request: &Permitted<'_>,
    line: &dyn BackendConnection,
) -> TraceSpan {
    let outer = turn.trace.as_ref();
    let peer = tracer.is_on().then(|| line.peer()).flatten();
    let Some(peer) = peer else { return TraceSpan::part_of(outer) };
    let method = request.kind().method();
    let mut span = tracer.begin(spans::SpanKind::Client, outer, || method.into());
    if !span.is_followed() {
        return span;
    }
    let name = match request.kind() {
        RequestKind::CallTool | RequestKind::GetPrompt => request.params().string("name"),
        RequestKind::ReadResource | RequestKind::Complete | RequestKind::Task(_) => None,
    };
    if let Some(name) = &name {
        span.rename(|| format!("{method} {name}"));
    }
    span.tell(|attributes| {
        attributes.set("mcp.method.name", method);
        let name = name.map(std::borrow::Cow::into_owned);
        match request.kind() {
            RequestKind::CallTool => {
                attributes.set("gen_ai.operation.name", "execute_tool");
                attributes.set_some("gen_ai.tool.name", name);
            }
            _ => attributes.set_some("gen_ai.prompt.name", name),
        }
        attributes.set("tollgate.server.id", request.server().to_string());
        set_peer_attributes(attributes, peer);
    });
    span
}

fn set_peer_attributes(attributes: &mut SpanAttributes, Peer { place, revision }: Peer<'_>) {
    attributes.set("mcp.protocol.version", revision.as_str());
    match place {
        PeerAddress::Pipe => attributes.set("network.transport", "pipe"),
        PeerAddress::Web { host, port } => {
            attributes.set("network.transport", "tcp");
            attributes.set("network.protocol.name", "http");
            attributes.set("server.address", host.clone());
            attributes.set("server.port", u64::from(*port));
        }
    }
}

pub(super) fn end(span: &mut TraceSpan, ran: Result<&BackendOutcome, &CallError>) {
    if !span.is_followed() {
        return;
    }
    match ran {
        Ok(BackendOutcome::Answered(Ok(answer))) if is_error(answer) => {
            span.fail("tool_error", String::new);
        }
        Ok(BackendOutcome::Answered(Ok(_)) | BackendOutcome::InputRequired(_)) => span.complete(),
        Ok(BackendOutcome::Answered(Err(failure))) => record_failure(span, failure),
        Ok(BackendOutcome::TimedOut) => span.fail("timeout", String::new),
        Err(error) => span.fail_quoting(OTHER_ERROR_TYPE, || error.to_string()),
    }
}

fn record_failure(span: &mut TraceSpan, failure: &BackendError) {
    let kind = match failure {
        BackendError::Refused(error) => {
            span.tell(|attributes| {
                attributes.set("rpc.response.status_code", error.code.to_string())
            });
            let kind = error_code::code_label(error.code).unwrap_or(OTHER_ERROR_TYPE);
            return span.fail_quoting(kind, || error.message.clone());
        }
        BackendError::Offline { .. } => "offline",
        BackendError::Resting { .. } => "resting",
        BackendError::Lost(_) => "connection_lost",
        BackendError::Unusable(_) => "protocol_error",
        BackendError::Unauthorized(_) => "unauthorized",
        BackendError::TooLarge { .. } => "too_large",
        BackendError::NoRoom => "no_room",
    };
    span.fail_quoting(kind, || failure.to_string());
}

fn is_error(answer: &Answer) -> bool {
    let text = answer.result.get();
    answer.kind == AnswerKind::Complete
        && text.len() <= MAX_SEARCHED_BYTES
        && Object::parse(text)
            .is_ok_and(|result| result.get("isError").is_some_and(|raw| raw.get() == "true"))
}
