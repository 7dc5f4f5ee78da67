//! The span of one attempt at a server: the client's side of an MCP request.

use tollgate_core::call::Kind;
use tollgate_core::json::Object;
use tollgate_core::policy::Permitted;
use tollgate_core::turn::Turn;
use tollgate_mcp::client::{Answer, AnswerKind};
use tollgate_mcp::code;

use super::Ran;
use crate::backend::{Failure, Line, Peer, Place};
use crate::caller::CallError;
use crate::spans::{self, Attributes, OTHER, Span, Tracer};

/// Larger results are not searched for `isError`: the span of the call says what came of it.
const SEARCHED: usize = 64 << 10;

/// Tools in process have no span beside that of the call.
pub(super) fn begin(
    tracer: &Tracer,
    turn: &Turn,
    request: &Permitted<'_>,
    line: &dyn Line,
) -> Span {
    let outer = turn.trace.as_ref();
    let peer = tracer.is_on().then(|| line.peer()).flatten();
    let Some(peer) = peer else { return Span::part_of(outer) };
    let method = request.kind().method();
    let mut span = tracer.begin(spans::Kind::Client, outer, || method.into());
    if !span.is_followed() {
        return span;
    }
    let name = match request.kind() {
        Kind::CallTool | Kind::GetPrompt => request.params().string("name"),
        Kind::ReadResource | Kind::Complete | Kind::Task(_) => None,
    };
    if let Some(name) = &name {
        span.rename(|| format!("{method} {name}"));
    }
    span.tell(|said| {
        said.set("mcp.method.name", method);
        let name = name.map(std::borrow::Cow::into_owned);
        match request.kind() {
            Kind::CallTool => {
                said.set("gen_ai.operation.name", "execute_tool");
                said.set_some("gen_ai.tool.name", name);
            }
            _ => said.set_some("gen_ai.prompt.name", name),
        }
        said.set("tollgate.server.id", request.server().to_string());
        whereabouts(said, peer);
    });
    span
}

fn whereabouts(said: &mut Attributes, Peer { place, revision }: Peer<'_>) {
    said.set("mcp.protocol.version", revision.as_str());
    match place {
        Place::Pipe => said.set("network.transport", "pipe"),
        Place::Web { host, port } => {
            said.set("network.transport", "tcp");
            said.set("network.protocol.name", "http");
            said.set("server.address", host.clone());
            said.set("server.port", u64::from(*port));
        }
    }
}

pub(super) fn end(span: &mut Span, ran: Result<&Ran, &CallError>) {
    if !span.is_followed() {
        return;
    }
    match ran {
        Ok(Ran::Answered(Ok(answer))) if is_error(answer) => {
            span.failed("tool_error", String::new);
        }
        Ok(Ran::Answered(Ok(_)) | Ran::InputRequired(_)) => span.done(),
        Ok(Ran::Answered(Err(failure))) => failed(span, failure),
        Ok(Ran::TimedOut) => span.failed("timeout", String::new),
        Err(error) => span.refused(OTHER, || error.to_string()),
    }
}

fn failed(span: &mut Span, failure: &Failure) {
    let kind = match failure {
        Failure::Refused(error) => {
            span.tell(|said| said.set("rpc.response.status_code", error.code.to_string()));
            let kind = code::known(error.code).unwrap_or(OTHER);
            return span.refused(kind, || error.message.clone());
        }
        Failure::Offline { .. } => "offline",
        Failure::Resting { .. } => "resting",
        Failure::Lost(_) => "connection_lost",
        Failure::Unusable(_) => "protocol_error",
        Failure::Unauthorized(_) => "unauthorized",
        Failure::TooLarge { .. } => "too_large",
    };
    span.refused(kind, || failure.to_string());
}

fn is_error(answer: &Answer) -> bool {
    let text = answer.result.get();
    answer.kind == AnswerKind::Complete
        && text.len() <= SEARCHED
        && Object::parse(text)
            .is_ok_and(|result| result.get("isError").is_some_and(|raw| raw.get() == "true"))
}
