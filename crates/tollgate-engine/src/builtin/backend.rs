//! The backend for in-process tools: runs them like those of any other server.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use serde_json::{Map, Value};
use tollgate_core::catalog::ServerListing;
use tollgate_core::json;
use tollgate_core::secret_values;
use tollgate_mcp::Era;
use tollgate_mcp::client::{Answer, AnswerKind};
use tollgate_mcp::error_code::{self, JsonRpcError};

use super::{BuiltinReply, BuiltinTool, BuiltinToolContext, Server};
use crate::backend::{Backend, BackendConnection, BackendError, BackendJob};

pub(crate) struct BuiltinBackend(Arc<BuiltinToolMap>);

struct BuiltinToolMap(HashMap<String, Box<dyn BuiltinTool>>);

impl BuiltinBackend {
    /// The backend and its listing.
    pub(crate) fn new(server: Server) -> (Self, ServerListing) {
        let mut listing = ServerListing::default();
        let mut tools = HashMap::new();
        for tool in server.tools {
            let definition = tool.definition();
            let name = definition.get("name").and_then(Value::as_str).unwrap_or_default();
            listing.tools.push(json::raw_value(&definition));
            tools.insert(name.to_owned(), tool);
        }
        (Self(Arc::new(BuiltinToolMap(tools))), listing)
    }
}

#[async_trait]
impl Backend for BuiltinBackend {
    async fn connection(&self) -> Result<Arc<dyn BackendConnection>, BackendError> {
        Ok(Arc::<BuiltinToolMap>::clone(&self.0))
    }

    async fn wait_until_available(&self, _: Instant) -> bool {
        true
    }
}

#[async_trait]
impl BackendConnection for BuiltinToolMap {
    fn era(&self) -> Era {
        Era::Modern
    }

    async fn run(&self, job: BackendJob<'_>) -> Result<Answer, BackendError> {
        job.departure.note();
        tollgate_core::failpoint::hit("builtin");
        let tool = match (job.method, job.params.string("name")) {
            ("tools/call", Some(name)) => self.0.get(&*name),
            _ => None,
        };
        let Some(tool) = tool else {
            let error =
                JsonRpcError::new(error_code::METHOD_NOT_FOUND, "built-in servers have tools only");
            return Err(BackendError::Refused(error));
        };
        let none = Map::new();
        let arguments = job.arguments.and_then(Value::as_object).unwrap_or(&none);
        let asker = BuiltinToolContext::of(job.turn, job.until);
        // A panic in a tool fails only its own call.
        let reply = AssertUnwindSafe(tool.call(arguments, &asker)).catch_unwind().await;
        let result = match reply {
            Ok(Ok(reply)) => success_result(&reply),
            Ok(Err(failure)) => error_result(&failure.message),
            Err(_) => error_result(
                "the tool crashed; this is a bug in the tool, not an error in the call",
            ),
        };
        // A fetched page or a service's response may echo our own credentials.
        let result = json::raw(secret_values::mask_owned(result));
        Ok(Answer { kind: AnswerKind::Complete, result })
    }
}

fn success_result(reply: &BuiltinReply) -> String {
    let mut out = content(&reply.text);
    if let Some(structured) = &reply.structured {
        // Writing to a string cannot fail.
        let _ = write!(out, ",\"structuredContent\":{structured}");
    }
    out.push('}');
    out
}

fn error_result(message: &str) -> String {
    content(message) + ",\"isError\":true}"
}

fn content(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 128);
    out.push_str("{\"content\":[{\"type\":\"text\",\"text\":");
    json::push_string(&mut out, text);
    out.push_str("}]");
    out
}
