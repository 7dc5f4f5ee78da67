//! What the gateway and a worker say to each other, over the worker's standard input and output:
//! four bytes of length (little end first), then one JSON value. They take turns; only prints come
//! unasked.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A worker of another version is not talked to.
pub const VERSION: u32 = 1;

/// Bytes of one frame to a worker; larger ones are not sent.
pub const MAX_FRAME_BYTES: u32 = 32 << 20;

/// Bytes of one frame from a worker; larger ones are not read.
pub const MAX_WORKER_MESSAGE_BYTES: u32 = 4 << 20;

/// To a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostMessage<'a> {
    /// The first, and once: a worker runs one program and ends.
    #[serde(borrow)]
    Run(ProgramJob<'a>),
    /// To [`WorkerMessage::Calls`], one for each, in their order.
    Answers(Vec<Answer>),
}

/// From a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerMessage {
    /// It is shut in, and waits for a program.
    Ready {
        version: u32,
    },
    /// With their line ends; several may come as one.
    Print(String),
    /// To be run side by side.
    Calls(Vec<ProgramCall>),
    Done(ProgramResult),
    Failed(ProgramError),
}

/// A program, and all that it can name.
#[derive(Debug, Serialize, Deserialize)]
pub struct ProgramJob<'a> {
    #[serde(borrow)]
    pub source: Cow<'a, str>,
    /// [`Names`], written once and sent as it is.
    #[serde(borrow)]
    pub names: Cow<'a, RawValue>,
    pub fence: InterpreterLimits,
}

/// Servers, in order, each with its tools. A call names a tool by its place among the tools of all
/// servers, counted through.
pub type Names = Vec<(String, Vec<String>)>;

/// What the interpreter itself keeps to, before the walls of the process are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterpreterLimits {
    pub steps: u64,
    /// Of values that the program holds.
    pub heap_bytes: u64,
    /// Functions within each other.
    pub depth: u32,
    pub calls: u32,
    /// Prints and `result` together.
    pub output_bytes: u64,
}

/// One call of a tool.
#[derive(Debug, Serialize, Deserialize)]
pub struct ProgramCall {
    pub tool: u32,
    /// Arguments without a name, as JSON.
    pub positional: Vec<Box<RawValue>>,
    /// An object.
    pub named: Box<RawValue>,
    /// Where in the program, from 1.
    pub line: u32,
}

/// What became of a call.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// As JSON.
    Data(Box<RawValue>),
    /// The program fails here, unless it asked to be told.
    Failure { status: String, message: String, retryable: bool },
}

/// The program came to its end.
#[derive(Debug, Serialize, Deserialize)]
pub struct ProgramResult {
    /// The global `result`, as JSON, if there was one.
    pub result: Option<Box<RawValue>>,
    pub steps: u64,
}

/// The program did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramError {
    pub kind: ProgramErrorKind,
    pub message: String,
    /// From 1.
    pub line: Option<u32>,
    pub column: Option<u32>,
    /// The line itself.
    pub text: Option<String>,
    /// What to write instead.
    pub hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramErrorKind {
    /// It cannot be read, or names what is not there. Nothing of it ran.
    Syntax,
    /// It ran up to here.
    Runtime,
    /// A tool failed, and the program did not expect it to.
    Tool,
    /// It wanted more steps than there are.
    Steps,
    Memory,
    /// Functions, or values, too deep within each other.
    Depth,
    Calls,
    Output,
    Time,
}
