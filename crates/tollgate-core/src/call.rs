//! What is asked of the gate, and what comes back.

use std::fmt;
use std::time::Duration;

use serde_json::value::RawValue;

use crate::json::Object;

/// One request in the client's names. `params` are those of the MCP method.
#[derive(Debug)]
pub struct Request<'a> {
    pub kind: Kind,
    pub params: Object<'a>,
}

/// The MCP methods that reach a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    CallTool,
    ReadResource,
    GetPrompt,
    Complete,
    Task(TaskVerb),
}

/// What can be done to a task that a server gave instead of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskVerb {
    Get,
    Update,
    Cancel,
}

impl Kind {
    pub fn method(self) -> &'static str {
        match self {
            Self::CallTool => "tools/call",
            Self::ReadResource => "resources/read",
            Self::GetPrompt => "prompts/get",
            Self::Complete => "completion/complete",
            Self::Task(TaskVerb::Get) => "tasks/get",
            Self::Task(TaskVerb::Update) => "tasks/update",
            Self::Task(TaskVerb::Cancel) => "tasks/cancel",
        }
    }
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    Ok,
    NoResults,
    Error,
    Timeout,
    Pending,
    Denied,
    InvalidArguments,
    RateLimited,
    Offline,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NoResults => "no_results",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Pending => "pending",
            Self::Denied => "denied",
            Self::InvalidArguments => "invalid_arguments",
            Self::RateLimited => "rate_limited",
            Self::Offline => "offline",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A finished call. A tool that failed is an outcome too: its text is for the model.
#[derive(Debug)]
pub struct Outcome {
    pub status: Status,
    /// The MCP result, in no era's own dress.
    pub result: Box<RawValue>,
    pub retry: Retry,
    pub extent: Extent,
    pub source: Source,
    pub duration: Duration,
}

/// Whether the same call may succeed later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Retry {
    Pointless,
    Sensible { hint: Option<String> },
}

/// Whether all that the tool said is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    Whole,
    Cut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Fresh,
    Cached,
}
