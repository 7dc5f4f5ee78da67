//! What a model reads before it writes a program: files, docs, and what a search finds.

use std::sync::Arc;

use serde_json::{Map, Value};
use tollgate_core::code_mode::{MetaTool, UnknownNameError};
use tollgate_core::id::ToolId;
use tollgate_core::turn::Turn;
use tollgate_mcp::offload::offload_if_large;

use super::super::Gate;

/// How large a tool is, more or less, to whoever has to read it.
const TOOL_BYTES: usize = 1 << 10;

/// Why there is nothing to read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolDocsError {
    #[error("`{0}` is for running, not for reading")]
    NotReadable(&'static str),
    #[error(transparent)]
    Unknown(#[from] UnknownNameError),
}

impl Gate {
    /// What there is to read before a program is written, as models read it; an error says what
    /// there is instead. The book of a thousand tools is read where nobody else waits for it.
    pub async fn look(
        self: &Arc<Self>,
        turn: &Turn,
        means: MetaTool,
        arguments: Map<String, Value>,
    ) -> Result<String, ToolDocsError> {
        let gate = Arc::clone(self);
        let turn = turn.clone();
        let size = turn.view.in_code().tools().len() * TOOL_BYTES;
        offload_if_large(size, move || gate.read(&turn, means, &arguments)).await
    }

    fn read(
        &self,
        turn: &Turn,
        means: MetaTool,
        arguments: &Map<String, Value>,
    ) -> Result<String, ToolDocsError> {
        let book = turn.view.in_code().code_api();
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let whole = |name: &str| arguments.get(name).and_then(Value::as_u64);
        let line = |name| whole(name).map(|it| u32::try_from(it).unwrap_or(u32::MAX));
        let seen = |tool: &ToolId| self.learned_types.shape(&turn.principal, tool);
        match means {
            MetaTool::ListFiles => Ok(book.files(turn.policy.code.binding)),
            MetaTool::Execute => Err(ToolDocsError::NotReadable(means.name())),
            MetaTool::ReadFile => {
                let lines = match (line("startLine"), line("endLine")) {
                    (None, None) => None,
                    (from, to) => Some((from.unwrap_or(1), to.unwrap_or(u32::MAX))),
                };
                Ok(book.read(text("fileName"), lines, &seen)?)
            }
            MetaTool::Docs => Ok(book.docs(text("server"), text("tool"), &seen)?),
            MetaTool::Search => Ok(book.search(text("query"), whole("limit"), &seen)),
        }
    }
}
