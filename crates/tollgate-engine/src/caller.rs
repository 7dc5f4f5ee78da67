//! Who waits for a call, and how they can be talked to while it runs.

use serde_json::value::RawValue;
use tollgate_core::call::{CallStatus, Decider, Outcome};
use tollgate_core::lease::RevokedError;
use tollgate_core::plan::NoTimeLeftError;
use tollgate_core::policy::Refusal;
use tollgate_core::shaping::ResultCaps;
use tollgate_mcp::client::{ProgressReporting, ServerEventSender};
use tollgate_mcp::error_code::JsonRpcError;
use tollgate_mcp::meta::ClientFacts;

use crate::limits::LimitExceededError;

/// The one who asked, as far as the gate needs to know.
#[derive(Clone)]
pub struct Caller<'a> {
    pub client: &'a ClientFacts,
    /// Where progress and logs go, and questions if they can be asked live.
    pub events: Option<ServerEventSender>,
    /// Wanted if the caller itself asked for it: servers are not asked in vain.
    pub progress: ProgressReporting,
    pub dialogue: Dialogue,
    /// How much of a result it can take.
    pub caps: ResultCaps,
    pub freshness: CacheFreshness,
    pub late: LateResultPolicy,
    pub rest: OverflowPolicy,
    pub purpose: CallPurpose,
    /// Decides whether a person has to agree.
    pub decided_by: Decider,
    /// Of the model that made the call, if one did: for records only.
    pub provider: Option<&'a str>,
}

impl<'a> Caller<'a> {
    /// A caller that only wants the answer.
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

/// Whether an answer that was kept from an earlier call will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheFreshness {
    Any,
    /// The tool is asked again; its answer replaces the kept one.
    Fresh,
}

/// What becomes of a call that may be repeated and is not done when its turn is over. Answers
/// that can be kept are always waited for in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LateResultPolicy {
    Dropped,
    /// It runs on to its own limit; its result is told by a notice and stays behind a handle.
    Delivered,
}

/// What becomes of what an answer has no room for, or what comes too late for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverflowPolicy {
    /// It stays behind a handle, by which the caller can read it.
    Readable,
    /// The caller has no way to it: no handle is promised.
    Lost,
}

/// What a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallPurpose {
    Serve,
    /// To measure, with arguments that someone meant.
    Probe,
    /// To measure, with arguments made up from the schema: an error then says nothing.
    BlindProbe,
}

/// How a server's question reaches the caller.
#[derive(Debug, Clone)]
pub enum Dialogue {
    /// Nobody is there to answer.
    Nobody,
    /// As [`tollgate_mcp::client::Event::Question`], answered while the call waits (legacy).
    Live,
    /// As an `input_required` result; the caller comes back with the answers (modern).
    Rounds(RoundAnswers),
}

/// What a caller brought back from an earlier round; empty on the first.
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

/// What the gate has to say.
#[derive(Debug)]
pub enum Reply {
    /// A tool call that ended, well or not.
    Tool(Outcome),
    /// The result of any other request, in no era's own dress.
    Result(Box<RawValue>),
    /// Modern callers only: `inputRequests` and `requestState`, complete.
    InputRequired(Box<RawValue>),
    /// Modern callers that declared the tasks extension only: the flat task result.
    Task(Box<RawValue>),
}

/// A request that the gate could not see through. A tool that failed is a [`Reply`].
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    NoTimeLeft(#[from] NoTimeLeftError),
    /// A request other than a tool call, and more than there may be of it.
    #[error(transparent)]
    Exceeded(#[from] LimitExceededError),
    /// The server's own JSON-RPC error.
    #[error("{} ({})", .0.message, .0.code)]
    Upstream(JsonRpcError),
    /// A request other than a tool call, to a server that did not answer.
    #[error("{message}")]
    Unanswered { message: String },
    /// The server asked for something this caller did not say it can do.
    #[error("the call requires a client with the capability `{capability}`")]
    MissingCapability { capability: String, required: Box<RawValue> },
    /// `requestState` that was not given by this gateway to this caller for this request.
    #[error("{0}")]
    BadState(&'static str),
    /// What let the caller in was taken away while the request ran.
    #[error("stopped: {0}")]
    Revoked(RevokedError),
}

impl CallError {
    /// What it is to one who knows outcomes only.
    pub fn status(&self) -> CallStatus {
        match self {
            Self::Refused(Refusal::InvalidArguments { .. }) => CallStatus::InvalidArguments,
            Self::Refused(Refusal::Away { .. }) => CallStatus::Offline,
            Self::Refused(
                Refusal::BadParams(_)
                | Refusal::UnknownTool { .. }
                | Refusal::Withheld { .. }
                | Refusal::OnlyInCode { .. }
                | Refusal::UnknownPrompt { .. }
                | Refusal::UnknownResource { .. }
                | Refusal::UnknownTask
                | Refusal::Secretive,
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
