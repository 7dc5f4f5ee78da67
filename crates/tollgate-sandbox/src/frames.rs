//! The protocol between the gateway and a worker, over the worker's stdin and stdout: a four-byte
//! length (little-endian), then one JSON value. The sides take turns; only prints are sent unasked.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A worker of another version is rejected.
pub const VERSION: u32 = 1;

/// Bytes of one frame to a worker; larger ones are not sent.
pub const MAX_FRAME_BYTES: u32 = 32 << 20;

/// Bytes of one frame from a worker; larger ones are not read.
pub const MAX_WORKER_MESSAGE_BYTES: u32 = 4 << 20;

/// Last words of a worker whose interpreter spent too long on a single operation.
pub const NO_PROGRESS: &str = "one operation took more than 2 s of CPU time";

/// Messages to a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostMessage<'a> {
    /// Sent first, and once: a worker runs one program and exits.
    #[serde(borrow)]
    Run(ProgramJob<'a>),
    /// Replies to [`WorkerMessage::Calls`], one for each call, in the same order.
    Answers(Vec<Answer>),
}

/// Messages from a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerMessage {
    /// It is confined, and waits for a program.
    Ready {
        version: u32,
    },
    /// Includes line ends; several prints may be merged.
    Print(String),
    /// To be run concurrently.
    Calls(Vec<ProgramCall>),
    Done(ProgramResult),
    Failed(ProgramError),
}

/// A program, and all names it can use.
#[derive(Debug, Serialize, Deserialize)]
pub struct ProgramJob<'a> {
    #[serde(borrow)]
    pub source: Cow<'a, str>,
    /// [`Names`], encoded once and sent as is.
    #[serde(borrow)]
    pub names: Cow<'a, RawValue>,
    pub fence: InterpreterLimits,
}

/// Servers, in order, each with its tools. A call identifies a tool by its index among the tools of
/// all servers.
pub type Names = Vec<(String, Vec<String>)>;

/// Limits that the interpreter enforces, before those of the process are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterpreterLimits {
    pub steps: u64,
    /// Of the program's values.
    pub heap_bytes: u64,
    /// Depth of the call stack.
    pub depth: u32,
    pub calls: u32,
    /// Prints and `result` together.
    pub output_bytes: u64,
}

/// One tool call.
#[derive(Debug, Serialize, Deserialize)]
pub struct ProgramCall {
    pub tool: u32,
    /// Positional arguments, as JSON.
    pub positional: Vec<Box<RawValue>>,
    /// Named arguments, as a JSON object.
    pub named: Box<RawValue>,
    /// Line in the program, from 1.
    pub line: u32,
}

/// The outcome of a call.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// As JSON.
    Data(Box<RawValue>),
    /// Fails the program, unless it used `try_call`.
    Failure { status: String, message: String, retryable: bool },
}

/// The program ran to its end.
#[derive(Debug, Serialize, Deserialize)]
pub struct ProgramResult {
    /// The global `result`, as JSON, if there was one.
    pub result: Option<Box<RawValue>>,
    pub steps: u64,
}

/// The program failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramError {
    pub kind: ProgramErrorKind,
    pub message: String,
    /// From 1.
    pub line: Option<u32>,
    pub column: Option<u32>,
    /// The text of the line.
    pub text: Option<String>,
    /// A suggested correction.
    pub hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramErrorKind {
    /// Cannot be parsed, or uses an unknown name. Nothing of it ran.
    Syntax,
    /// Failed at run time.
    Runtime,
    /// A tool failed, and the program did not handle it.
    Tool,
    /// The step limit was reached.
    Steps,
    Memory,
    /// Call stack or values nested too deeply.
    Depth,
    Calls,
    Output,
    Time,
}
