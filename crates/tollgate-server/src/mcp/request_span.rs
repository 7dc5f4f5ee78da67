//! Trace span of an MCP request (server side). It starts when the parent trace is known. Target and
//! outcome are recorded later.

use std::sync::Arc;

use tollgate_core::call::{CallStatus, RequestKind};
use tollgate_core::json::Object;
use tollgate_core::turn::Turn;
use tollgate_engine::spans::{self, CANCELLED_ERROR_TYPE, OTHER_ERROR_TYPE, TraceSpan, Tracer};
use tollgate_mcp::error_code;

use super::exchange::ExchangeChannel;
use super::method::McpMethod;
use crate::error_mapping::McpRequestError;
use crate::request_context::RequestContext;

/// `None`: tracing is off.
pub(super) struct McpRequestSpan(Option<TraceSpan>);

/// Attributes that are known at the start.
pub(super) struct McpSpanInfo<'a> {
    pub(super) method: &'a str,
    pub(super) known: Option<McpMethod>,
    pub(super) revision: &'a str,
    pub(super) line: &'a ExchangeChannel,
}

impl McpRequestSpan {
    pub(super) fn without_recording() -> Self {
        Self(None)
    }

    pub(super) fn begin(tracer: &Tracer, who: &RequestContext, about: &McpSpanInfo<'_>) -> Self {
        // A subscription stream is not a request with an answer.
        if !tracer.is_on() || about.known == Some(McpMethod::Listen) {
            return Self(None);
        }
        let method = match about.known {
            Some(_) => about.method.to_owned(),
            // Clients can send any name, so it must not become a span name.
            None => OTHER_ERROR_TYPE.to_owned(),
        };
        let named = method.clone();
        let mut span = tracer.begin(spans::SpanKind::Server, who.trace.as_ref(), || named.into());
        span.tell(|attributes| {
            attributes.set("mcp.method.name", method);
            attributes.set("mcp.protocol.version", about.revision.to_owned());
            if about.line.is_pipe() {
                attributes.set("network.transport", "pipe")
            } else {
                attributes.set("network.transport", "tcp");
                attributes.set("network.protocol.name", "http");
            }
        });
        Self(Some(span))
    }

    /// The context with this span as parent for all further work.
    pub(super) fn within(&self, who: RequestContext) -> RequestContext {
        match &self.0 {
            Some(span) => RequestContext { trace: span.trace().map(Arc::clone), ..who },
            None => who,
        }
    }

    /// Records the target of the request if it exists. Other names would have unbounded
    /// cardinality.
    pub(super) fn about(&mut self, turn: &Turn, kind: RequestKind, params: &Object<'_>) {
        let Some(span) = self.0.as_mut().filter(|span| span.is_followed()) else { return };
        let Some(name) = params.string("name") else { return };
        let key = match kind {
            RequestKind::CallTool if turn.view.tool(&name).is_some() => "gen_ai.tool.name",
            RequestKind::GetPrompt if turn.view.prompt(&name).is_some() => "gen_ai.prompt.name",
            _ => return,
        };
        span.rename(|| format!("{} {name}", kind.method()));
        span.tell(|attributes| {
            attributes.set(key, name.into_owned());
            if kind == RequestKind::CallTool {
                attributes.set("gen_ai.operation.name", "execute_tool");
            }
        });
    }

    /// The status of the tool call. A failed call is still a result.
    pub(super) fn record_status(&mut self, status: CallStatus) {
        let Some(span) = &mut self.0 else { return };
        match status {
            CallStatus::Ok | CallStatus::NoResults | CallStatus::Pending => span.complete(),
            CallStatus::Error
            | CallStatus::Timeout
            | CallStatus::Denied
            | CallStatus::InvalidArguments
            | CallStatus::RateLimited
            | CallStatus::Offline => {
                span.tell(|attributes| attributes.set("tollgate.outcome", status.as_str()));
                span.fail("tool_error", String::new);
            }
        }
    }

    /// The answer. `None` if the client cancelled the request.
    pub(super) fn end<T>(&mut self, answered: Option<&Result<T, McpRequestError>>) {
        let Some(span) = &mut self.0 else { return };
        match answered {
            Some(Ok(_)) => span.complete(),
            Some(Err(refused)) => {
                let code = refused.error.code;
                span.tell(|attributes| {
                    attributes.set("rpc.response.status_code", code.to_string())
                });
                let kind = error_code::code_label(code).unwrap_or(OTHER_ERROR_TYPE);
                span.fail_quoting(kind, || refused.error.message.clone());
            }
            None => span.fail(CANCELLED_ERROR_TYPE, String::new),
        }
    }
}
