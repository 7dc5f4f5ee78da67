//! MCP client: one connection to one server, in either protocol era. Dropping a request future
//! cancels the request at the server, in the way of its transport.

mod declared_capabilities;
mod dispatch;
mod handshake;
mod http;
mod in_flight_table;
mod inbound;
mod listing;
mod outgoing;
mod pipe;
mod watch;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderName, HeaderValue, StatusCode};
use async_trait::async_trait;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tollgate_core::json::Object;
use tollgate_core::trace::Trace;

use crate::error_code::JsonRpcError;
use crate::memory_budget::NoRoomError;
use crate::meta::ClientFacts;
use crate::{Era, Revision};

pub use handshake::identity;
pub use http::{HttpTarget, HttpTransport, connect as connect_http};
pub use listing::{ServerListKind, list_all};
pub use pipe::{PipeConnection, connect as connect_pipe};

/// One request to the server, with the server's own names.
pub struct OutgoingRequest<'a> {
    pub method: &'a str,
    /// `_meta` may hold pass-through keys of the caller; the transport adds its own.
    pub params: Object<'a>,
    /// The client it is made for: stamped on modern requests.
    pub client: &'a ClientFacts,
    /// Arguments mirrored into `Mcp-Param-*` headers (modern HTTP only): header suffix and value.
    pub mirrored: Vec<(String, String)>,
    /// Receiver of progress, logs and questions of this request. `None`: questions are refused.
    pub events: Option<ServerEventSender>,
    pub progress: ProgressReporting,
    /// The trace it belongs to: sent in `_meta`, and in headers where there are any.
    pub trace: Option<&'a Trace>,
}

/// Whether the server is asked to report progress, into `events` only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressReporting {
    Requested,
    Unwanted,
}

impl<'a> OutgoingRequest<'a> {
    /// A request without events.
    pub fn plain(method: &'a str, params: Object<'a>, client: &'a ClientFacts) -> Self {
        let progress = ProgressReporting::Unwanted;
        Self { method, params, client, mirrored: Vec::new(), events: None, progress, trace: None }
    }

    /// The metadata of this hop, for the request with this id.
    fn hop(&self, id: u64) -> outgoing::HopMeta<'a> {
        let client = self.client;
        let progress_token = self.token(id);
        outgoing::HopMeta { client, progress_token, trace: self.trace }
    }

    /// The progress token, if progress is requested.
    fn token(&self, id: u64) -> Option<u64> {
        let is_requested = self.progress == ProgressReporting::Requested && self.events.is_some();
        is_requested.then_some(id)
    }
}

/// Bounded; a slow receiver loses progress, never questions.
pub type ServerEventSender = mpsc::Sender<Event>;

/// What a server sends while it works on a request.
#[derive(Debug)]
pub enum Event {
    /// The params of `notifications/progress`, without the token of this hop.
    Progress(Object<'static>),
    /// The params of `notifications/message`.
    Log(Box<RawValue>),
    Question(Question),
    /// Sent by the gate while the server is slow, not by the server.
    Announcement(Arc<str>),
}

/// A request of a legacy server to the client: elicitation, sampling, roots.
#[derive(Debug)]
pub struct Question {
    pub method: String,
    pub params: Option<Box<RawValue>>,
    /// Dropping it answers that no client is available.
    pub reply: oneshot::Sender<Result<Box<RawValue>, JsonRpcError>>,
}

/// A result, classified by its `resultType` (absent: complete).
#[derive(Debug, Clone)]
pub struct Answer {
    pub kind: AnswerKind,
    pub result: Box<RawValue>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerKind {
    Complete,
    InputRequired,
    /// The tasks extension: the result is delivered later.
    Task,
}

#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The server answered with a JSON-RPC error.
    #[error("{} ({})", .0.message, .0.code)]
    Refused(JsonRpcError),
    /// No connection could be made, so nothing was sent.
    #[error("{0}")]
    Unreachable(String),
    /// The connection broke before the answer.
    #[error("{0}")]
    Lost(String),
    /// The server answered, but not in MCP: an HTTP error, or an invalid message.
    #[error("{0}")]
    Unusable(String),
    /// HTTP 401 or 403, also with fresh credentials.
    #[error("{0}")]
    Unauthorized(String),
    /// The answer exceeds the message limit.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge { limit: usize },
    /// The answer was not read. The call had its effect.
    #[error("the answer was not read: {0}")]
    NoRoom(NoRoomError),
}

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("{0}")]
    Unreachable(String),
    #[error("{0}")]
    Unauthorized(String),
    /// The server answers, but supports none of our revisions, or not the pinned one.
    #[error("{0}")]
    Protocol(String),
    /// The process exited on the probe for its era. A new process with a pinned legacy revision may
    /// work.
    #[error("the server exited during the revision check: {0}")]
    DiedOnProbe(String),
}

/// What the server reported in the handshake.
#[derive(Debug, Clone)]
pub struct ServerFacts {
    pub revision: Revision,
    pub capabilities: Box<RawValue>,
    pub info: Option<Box<RawValue>>,
    pub instructions: Option<String>,
}

impl ServerFacts {
    pub fn era(&self) -> Era {
        self.revision.era()
    }

    /// `capabilities.tools`, `capabilities.resources`, …
    pub fn offers(&self, capability: &str) -> bool {
        Object::parse(self.capabilities.get()).is_ok_and(|all| all.contains(capability))
    }

    /// A flag such as `tools.listChanged`.
    pub fn flag(&self, capability: &str, flag: &str) -> bool {
        Object::parse(self.capabilities.get()).is_ok_and(|all| {
            all.object(capability)
                .is_some_and(|one| one.get(flag).is_some_and(|raw| raw.get() == "true"))
        })
    }
}

/// Receives what a server sends outside of our requests. Called from the connection's task: must
/// not block.
pub trait ServerListener: Send + Sync {
    /// `notifications/tools/list_changed`, `…/resources/updated`, `…/message` and the like.
    fn on_notification(&self, method: &str, params: Option<&RawValue>);

    /// The connection is closed; requests in flight have already failed. Called at most once, only
    /// after a successful handshake, and possibly before the connecting future has returned.
    fn on_closed(&self, reason: &str);

    /// A line on the pipe, or an event of the stream, that is not MCP.
    fn on_garbage(&self, what: &str);

    /// A late answer, to a request that was abandoned. It was dropped.
    fn late(&self);
}

#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// `None`: detect the era of the server.
    pub pinned: Option<Revision>,
    /// How long a server may be silent on the first probe before it counts as legacy. For pipes;
    /// over HTTP silence is an outage.
    pub probe_timeout: Duration,
    /// Time limit of the whole handshake.
    pub handshake_timeout: Duration,
    /// Maximum size of a message read, in bytes.
    pub message_limit: usize,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            pinned: None,
            probe_timeout: Duration::from_secs(5),
            handshake_timeout: Duration::from_secs(30),
            // A result may be as large (`ResultCaps`); lines that are no messages are kept to 64 KiB.
            message_limit: 8 << 20,
        }
    }
}

/// There are no credentials for a request. Its message says why, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CredentialsError(String);

impl CredentialsError {
    pub fn new(reason: impl fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

/// Source of credentials for HTTP requests.
#[async_trait]
pub trait Credentials: Send + Sync {
    /// Headers to add to the next request, such as `authorization`.
    async fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialsError>;

    /// The server answered 401 or 403; `challenge` is its `www-authenticate`. Returns whether to
    /// retry with the then current headers. Called at most once per request.
    async fn handle_refusal(&self, status: StatusCode, challenge: Option<&str>) -> bool;
}

/// One open connection. Implemented by each transport.
#[async_trait]
pub trait McpConnection: Send + Sync {
    fn facts(&self) -> &ServerFacts;

    /// Sends a request and waits for its answer. Dropping the future cancels it.
    async fn request(&self, request: OutgoingRequest<'_>) -> Result<Answer, RequestError>;

    async fn notify(&self, method: &str, params: Object<'_>) -> Result<(), RequestError>;

    /// Subscribes the listener to list changes, and to updates of these resources.
    async fn watch(&self, resources: &[String]) -> Result<(), RequestError>;

    /// Closes the connection cleanly. The listener is not notified.
    async fn close(&self);
}

pub type SharedConnection = Arc<dyn McpConnection>;
