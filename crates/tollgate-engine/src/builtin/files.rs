//! The server `files`: `read_file` and `write_file` within a sandbox directory. Blocking work runs
//! on the blocking thread pool.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use super::{BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError};
use path::RelativePath;
use quota::Quota;
use sandbox::{FileSandbox, FileWriteOutcome, SandboxError};

mod folder;
mod overlap;
pub(crate) mod path;
mod quota;
mod sandbox;

pub use overlap::overlaps;

/// The sandbox directory, shared by all tools that use it, so that its quota is counted once.
/// Created on the first write.
pub fn folder(base: &Path) -> SandboxFolder {
    SandboxFolder::within(base, Quota::DEFAULT)
}

pub fn tools(folder: &SandboxFolder) -> Vec<Box<dyn BuiltinTool>> {
    let sandbox = &folder.0;
    vec![
        Box::new(WriteFile { sandbox: Arc::clone(sandbox) }),
        Box::new(ReadFile { sandbox: Arc::clone(sandbox) }),
    ]
}

#[derive(Clone)]
pub struct SandboxFolder(Arc<FileSandbox>);

impl SandboxFolder {
    fn within(base: &Path, quota: Quota) -> Self {
        Self(Arc::new(FileSandbox::new(base.to_owned(), quota)))
    }

    /// Saves a file made by another tool; it may be larger than `write_file` allows.
    pub(super) async fn save(
        &self,
        path: &str,
        content: Vec<u8>,
        most_bytes: usize,
    ) -> Result<(), BuiltinToolError> {
        let path = RelativePath::parse(path)
            .map_err(|invalid| BuiltinToolError::new(invalid.to_string()))?;
        let sandbox = Arc::clone(&self.0);
        let write = move || sandbox.write_up_to(&path, &content, most_bytes as u64);
        blocking(write).await.map(drop)
    }

    /// Loads a file that was saved by another tool, whole.
    pub(super) async fn load(
        &self,
        path: &str,
        most_bytes: usize,
    ) -> Result<Vec<u8>, BuiltinToolError> {
        let path = RelativePath::parse(path)
            .map_err(|invalid| BuiltinToolError::new(invalid.to_string()))?;
        let sandbox = Arc::clone(&self.0);
        blocking(move || sandbox.read_up_to(&path, most_bytes as u64)).await
    }
}

struct WriteFile {
    sandbox: Arc<FileSandbox>,
}

#[async_trait]
impl BuiltinTool for WriteFile {
    fn definition(&self) -> Value {
        json!({
            "name": "write_file",
            "title": "Write a file",
            "description": "Writes a text file, up to 1 MiB, and creates missing folders. An \
                            existing file is replaced completely.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "path": path_schema(),
                    "content": { "type": "string", "description": "The whole text of the file" },
                },
                "required": ["path", "content"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "path": { "type": "string" },
                    "bytes": { "type": "integer", "minimum": 0 },
                    "created": { "type": "boolean", "description": "False if it was replaced" },
                },
                "required": ["path", "bytes", "created"],
            },
            "annotations": {
                "title": "Write a file",
                "readOnlyHint": false,
                "destructiveHint": true,
                "idempotentHint": true,
                "openWorldHint": false,
            },
            "_meta": super::latency(20, 100),
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        _: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        let path = path_argument(arguments)?;
        let content = super::text_argument(arguments, "content")?.to_owned();
        let bytes = content.len();
        let shown = path.to_string();
        let sandbox = Arc::clone(&self.sandbox);
        let written = blocking(move || sandbox.write(&path, content.as_bytes())).await?;
        let verb = match written {
            FileWriteOutcome::Created => "Wrote",
            FileWriteOutcome::Replaced => "Replaced",
        };
        Ok(BuiltinReply {
            text: format!("{verb} {shown}, {bytes} {}.", plural(bytes)),
            structured: Some(json!({
                "path": shown,
                "bytes": bytes,
                "created": written == FileWriteOutcome::Created,
            })),
        })
    }
}

struct ReadFile {
    sandbox: Arc<FileSandbox>,
}

#[async_trait]
impl BuiltinTool for ReadFile {
    fn definition(&self) -> Value {
        json!({
            "name": "read_file",
            "title": "Read a file",
            "description": "Reads a text file, up to 1 MiB, from the folder of `write_file`.",
            "inputSchema": {
                "type": "object",
                "properties": { "path": path_schema() },
                "required": ["path"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "path": { "type": "string" },
                    "bytes": { "type": "integer", "minimum": 0 },
                    "content": { "type": "string" },
                },
                "required": ["path", "bytes", "content"],
            },
            "annotations": {
                "title": "Read a file",
                "readOnlyHint": true,
                "destructiveHint": false,
                "idempotentHint": true,
                "openWorldHint": false,
            },
            "_meta": super::latency(20, 100),
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        _: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        let path = path_argument(arguments)?;
        let shown = path.to_string();
        let sandbox = Arc::clone(&self.sandbox);
        let content = blocking(move || sandbox.read(&path)).await?;
        let text = if content.is_empty() { format!("`{shown}` is empty") } else { content.clone() };
        let bytes = content.len();
        let structured = json!({ "path": shown, "bytes": bytes, "content": content });
        Ok(BuiltinReply { text, structured: Some(structured) })
    }
}

fn path_schema() -> Value {
    json!({
        "type": "string",
        "description": "Relative path with `/` between folders, for example `notes/today.md`",
        "minLength": 1,
        "maxLength": path::MAX_PATH_BYTES,
    })
}

fn path_argument(arguments: &Map<String, Value>) -> Result<RelativePath, BuiltinToolError> {
    let text = super::text_argument(arguments, "path")?;
    RelativePath::parse(text).map_err(|invalid| BuiltinToolError::new(invalid.to_string()))
}

/// Runs to its end even if the caller is gone, so a file is never half written.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SandboxError> + Send + 'static,
) -> Result<T, BuiltinToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| BuiltinToolError::new(error.to_string())),
        Err(_) => Err(BuiltinToolError::new("the file operation failed; try again")),
    }
}

fn plural(bytes: usize) -> &'static str {
    if bytes == 1 { "byte" } else { "bytes" }
}

#[cfg(test)]
mod tests;
