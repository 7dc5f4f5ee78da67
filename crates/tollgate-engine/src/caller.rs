//! The caller of a request, and how it can be reached while the request runs.

use serde_json::value::RawValue;
use tollgate_core::call::{CallStatus, Decider, Outcome};
use tollgate_core::lease::RevokedError;
use tollgate_core::plan::NoTimeLeftError;
use tollgate_core::policy::PermitError;
use tollgate_core::shaping::ResultCaps;
use tollgate_mcp::client::{ProgressReporting, ServerEventSender};
use tollgate_mcp::error_code::JsonRpcError;
use tollgate_mcp::meta::ClientFacts;

use crate::limits::LimitExceededError;

/// The caller, as far as the gate needs to know it.
#[derive(Clone)]
pub struct Caller<'a> {
    pub client: &'a ClientFacts,
    /// Receives progress and log messages, and questions if the caller can be asked live.
    pub events: Option<ServerEventSender>,
    /// Enabled only if the caller requested it, so that servers do not send it for nothing.
    pub progress: ProgressReporting,
    pub dialogue: Dialogue,
    /// How large a result it can take.
    pub caps: ResultCaps,
    pub freshness: CacheFreshness,
    pub late: LateResultPolicy,
    pub rest: OverflowPolicy,
    pub purpose: CallPurpose,
    /// Determines whether a person has to approve the call.
    pub decided_by: Decider,
    /// Provider of the model that made the call, if any: for records only.
    pub provider: Option<&'a str>,
}

impl<'a> Caller<'a> {
    /// A caller that receives only the result.
    pub fn silent(client: &'a ClientFacts) -> Self {
        Self {
            client,
            events: None,
            progress: ProgressReporting::Unwanted,
            dialogue: Dialogue::Nobody,
            caps: ResultCaps::mcp(),
            freshness: CacheFreshness::Any,
            late: LateResultPolicy::Dropped,
            rest: OverflowPolicy::Readable,
            purpose: CallPurpose::Serve,
            decided_by: Decider::Client,
            provider: None,
        }
    }
}

/// Whether a cached answer is acceptable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheFreshness {
    Any,
    /// The tool is called again; its answer replaces the cached one.
    Fresh,
}

/// What happens to a repeatable call that is not done at the end of its turn. Calls with a
/// cacheable answer always continue in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LateResultPolicy {
    Dropped,
    /// It runs on to its own deadline; a notification announces its result, which stays behind a
    /// handle.
    Delivered,
}

/// What happens to the part of a result that does not fit, or that comes too late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverflowPolicy {
    /// It stays behind a handle, with which the caller can read it.
    Readable,
    /// The caller cannot read handles: none is offered.
    Lost,
}

/// The purpose of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallPurpose {
    Serve,
    /// A measurement with arguments that the operator configured.
    Probe,
    /// A measurement with arguments generated from the schema: an error is not counted.
    BlindProbe,
}

/// How a server's question reaches the caller.
#[derive(Debug, Clone)]
pub enum Dialogue {
    /// The caller cannot be asked.
    Nobody,
    /// As [`tollgate_mcp::client::Event::Question`], answered while the call waits (legacy).
    Live,
    /// As an `input_required` result; the caller comes back with the answers (modern).
    Rounds(RoundAnswers),
}

/// Answers that the caller brought from an earlier round; empty on the first.
#[derive(Debug, Clone, Default)]
pub struct RoundAnswers {
    pub state: Option<String>,
    pub responses: Option<Box<RawValue>>,
}

impl RoundAnswers {
    pub fn is_empty(&self) -> bool {
        self.state.is_none() && self.responses.is_none()
    }
}

/// The gate's reply.
#[derive(Debug)]
pub enum Reply {
    /// A finished tool call, successful or not.
    Tool(Outcome),
    /// The result of any other request, independent of the era.
    Result(Box<RawValue>),
    /// Modern callers only: `inputRequests` and `requestState`, complete.
    InputRequired(Box<RawValue>),
    /// Only for modern callers that declared the tasks extension: the flat task result.
    Task(Box<RawValue>),
}

impl Reply {
    pub(crate) fn result_bytes(&self) -> usize {
        match self {
            Self::Tool(outcome) => outcome.result.get().len(),
            Self::Result(result) | Self::InputRequired(result) | Self::Task(result) => {
                result.get().len()
            }
        }
    }
}

/// A request that failed in the gate. A failed tool is a [`Reply`].
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error(transparent)]
    Refused(#[from] PermitError),
    #[error(transparent)]
    NoTimeLeft(#[from] NoTimeLeftError),
    /// A request other than a tool call that exceeded a limit.
    #[error(transparent)]
    Exceeded(#[from] LimitExceededError),
    /// The server's own JSON-RPC error.
    #[error("{} ({})", .0.message, .0.code)]
    Upstream(JsonRpcError),
    /// A request other than a tool call, to a server that did not answer.
    #[error("{message}")]
    Unanswered { message: String },
    /// The server needs a client capability that this caller did not declare.
    #[error("the call requires a client with the capability `{capability}`")]
    MissingCapability { capability: String, required: Box<RawValue> },
    /// A `requestState` that this gateway did not issue to this caller for this request.
    #[error("{0}")]
    BadState(&'static str),
    /// The caller's credentials were revoked while the request ran.
    #[error("stopped: {0}")]
    Revoked(RevokedError),
}

impl CallError {
    /// The status for consumers that only know outcomes.
    pub fn status(&self) -> CallStatus {
        match self {
            Self::Refused(PermitError::InvalidArguments { .. }) => CallStatus::InvalidArguments,
            Self::Refused(PermitError::Away { .. }) => CallStatus::Offline,
            Self::Refused(
                PermitError::BadParams(_)
                | PermitError::UnknownTool { .. }
                | PermitError::Withheld { .. }
                | PermitError::OnlyInCode { .. }
                | PermitError::UnknownPrompt { .. }
                | PermitError::UnknownResource { .. }
                | PermitError::UnknownTask
                | PermitError::ContainsSecrets,
            )
            | Self::Revoked(_) => CallStatus::Denied,
            Self::NoTimeLeft(_) => CallStatus::Timeout,
            Self::Exceeded(_) => CallStatus::RateLimited,
            Self::Upstream(_)
            | Self::Unanswered { .. }
            | Self::MissingCapability { .. }
            | Self::BadState(_) => CallStatus::Error,
        }
    }
}
