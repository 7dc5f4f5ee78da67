//! The span of a client's MCP request: the server's side of it. Begun when it is known what the
//! request is part of; what it was about and how it ended is told on the way.

use std::sync::Arc;

use tollgate_core::call::{Kind, Status};
use tollgate_core::json::Object;
use tollgate_core::turn::Turn;
use tollgate_engine::spans::{self, CANCELLED, OTHER, Span, Tracer};
use tollgate_mcp::code;

use super::exchange::Line;
use super::method::Method;
use crate::refusal::Refused;
use crate::who::Who;

/// `None`: nobody follows.
pub(super) struct Served(Option<Span>);

/// What is known of a request from the start.
pub(super) struct About<'a> {
    pub(super) method: &'a str,
    pub(super) known: Option<Method>,
    pub(super) revision: &'a str,
    pub(super) line: &'a Line,
}

impl Served {
    pub(super) fn nobody() -> Self {
        Self(None)
    }

    pub(super) fn begin(tracer: &Tracer, who: &Who, about: &About<'_>) -> Self {
        // A stream of news is not a request that is answered.
        if !tracer.is_on() || about.known == Some(Method::Listen) {
            return Self(None);
        }
        let method = match about.known {
            Some(_) => about.method.to_owned(),
            // Strangers may call it anything.
            None => OTHER.to_owned(),
        };
        let named = method.clone();
        let mut span = tracer.begin(spans::Kind::Server, who.trace.as_ref(), || named.into());
        span.tell(|said| {
            said.set("mcp.method.name", method);
            said.set("mcp.protocol.version", about.revision.to_owned());
            match about.line.is_pipe() {
                true => said.set("network.transport", "pipe"),
                false => {
                    said.set("network.transport", "tcp");
                    said.set("network.protocol.name", "http");
                }
            }
        });
        Self(Some(span))
    }

    /// Who asks, such that all that is done for them is part of this.
    pub(super) fn within(&self, who: Who) -> Who {
        match &self.0 {
            Some(span) => Who { trace: span.trace().map(Arc::clone), ..who },
            None => who,
        }
    }

    /// What the request names, if there is such a thing: other names are too many to be told.
    pub(super) fn about(&mut self, turn: &Turn, kind: Kind, params: &Object<'_>) {
        let Some(span) = self.0.as_mut().filter(|span| span.is_followed()) else { return };
        let Some(name) = params.string("name") else { return };
        let key = match kind {
            Kind::CallTool if turn.view.tool(&name).is_some() => "gen_ai.tool.name",
            Kind::GetPrompt if turn.view.prompt(&name).is_some() => "gen_ai.prompt.name",
            _ => return,
        };
        span.rename(|| format!("{} {name}", kind.method()));
        span.tell(|said| {
            said.set(key, name.into_owned());
            if kind == Kind::CallTool {
                said.set("gen_ai.operation.name", "execute_tool");
            }
        });
    }

    /// The tool's own end: one that failed is a result all the same.
    pub(super) fn ran(&mut self, status: Status) {
        let Some(span) = &mut self.0 else { return };
        match status {
            Status::Ok | Status::NoResults | Status::Pending => span.done(),
            Status::Error
            | Status::Timeout
            | Status::Denied
            | Status::InvalidArguments
            | Status::RateLimited
            | Status::Offline => {
                span.tell(|said| said.set("tollgate.outcome", status.as_str()));
                span.failed("tool_error", String::new);
            }
        }
    }

    /// What was answered: `None` if the client wants no answer any more.
    pub(super) fn end<T>(&mut self, answered: Option<&Result<T, Refused>>) {
        let Some(span) = &mut self.0 else { return };
        match answered {
            Some(Ok(_)) => span.done(),
            Some(Err(refused)) => {
                let code = refused.error.code;
                span.tell(|said| said.set("rpc.response.status_code", code.to_string()));
                let kind = code::known(code).unwrap_or(OTHER);
                span.refused(kind, || refused.error.message.clone());
            }
            None => span.failed(CANCELLED, String::new),
        }
    }
}
