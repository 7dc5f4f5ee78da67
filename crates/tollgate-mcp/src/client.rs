//! The client side of the wire: one connection to one server, in whichever era it speaks.
//! Dropping the future of a request cancels it at the server, by that transport's own means.

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

use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderName, HeaderValue, StatusCode};
use async_trait::async_trait;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tollgate_core::json::Object;
use tollgate_core::trace::Trace;

use crate::error_code::JsonRpcError;
use crate::meta::ClientFacts;
use crate::{Era, Revision};

pub use handshake::identity;
pub use http::{HttpTarget, HttpTransport, connect as connect_http};
pub use listing::{ServerListKind, list_all};
pub use pipe::{PipeConnection, connect as connect_pipe};

/// One request to the server. Names are the server's own.
pub struct OutgoingRequest<'a> {
    pub method: &'a str,
    /// `_meta` may hold what the caller passes through; the wire adds its own keys.
    pub params: Object<'a>,
    /// On whose behalf: stamped on modern requests.
    pub client: &'a ClientFacts,
    /// Arguments mirrored into `Mcp-Param-*` headers (modern HTTP only): header suffix and value.
    pub mirrored: Vec<(String, String)>,
    /// Where progress, logs and questions of this request go. `None`: questions are refused.
    pub events: Option<ServerEventSender>,
    pub progress: ProgressReporting,
    /// What it is part of: said in `_meta`, and in headers where there are any.
    pub trace: Option<&'a Trace>,
}

/// Whether the server is asked to report progress. It does so only into `events`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressReporting {
    Wanted,
    Unwanted,
}

impl<'a> OutgoingRequest<'a> {
    /// A request that wants its answer and nothing else.
    pub fn plain(method: &'a str, params: Object<'a>, client: &'a ClientFacts) -> Self {
        let progress = ProgressReporting::Unwanted;
        Self { method, params, client, mirrored: Vec::new(), events: None, progress, trace: None }
    }

    /// What it says of this hop, as the request with this id.
    fn hop(&self, id: u64) -> outgoing::HopMeta<'a> {
        let (client, progress_token) = (self.client, self.token(id));
        outgoing::HopMeta { client, progress_token, trace: self.trace }
    }

    /// The token under which progress comes back, if any is wanted.
    fn token(&self, id: u64) -> Option<u64> {
        let wanted = self.progress == ProgressReporting::Wanted && self.events.is_some();
        wanted.then_some(id)
    }
}

/// Bounded; a listener that does not read loses progress, never questions.
pub type ServerEventSender = mpsc::Sender<Event>;

/// What a server says while it works on a request.
#[derive(Debug)]
pub enum Event {
    /// The params of `notifications/progress`, without the token of this hop.
    Progress(Object<'static>),
    /// The params of `notifications/message`.
    Log(Box<RawValue>),
    Question(Question),
    /// Said by the gate while the server is slow, not by the server.
    Announcement(Arc<str>),
}

/// A server's own request to the client (legacy): elicitation, sampling, roots.
#[derive(Debug)]
pub struct Question {
    pub method: String,
    pub params: Option<Box<RawValue>>,
    /// Dropping it answers that nobody is there.
    pub reply: oneshot::Sender<Result<Box<RawValue>, JsonRpcError>>,
}

/// A result, told apart by its `resultType` (absent: complete).
#[derive(Debug, Clone)]
pub struct Answer {
    pub kind: AnswerKind,
    pub result: Box<RawValue>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerKind {
    Complete,
    InputRequired,
    /// The tasks extension: the outcome comes later.
    Task,
}

#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The server answered with a JSON-RPC error.
    #[error("{} ({})", .0.message, .0.code)]
    Refused(JsonRpcError),
    /// Nothing was sent: no connection could be made.
    #[error("{0}")]
    Unreachable(String),
    /// The connection broke before an answer came.
    #[error("{0}")]
    Lost(String),
    /// The server answered, but not in MCP: an HTTP error, or something that makes no sense.
    #[error("{0}")]
    Unusable(String),
    /// HTTP 401 or 403 that fresh credentials did not mend.
    #[error("{0}")]
    Unauthorized(String),
    /// The answer is larger than this client reads.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge { limit: usize },
}

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("{0}")]
    Unreachable(String),
    #[error("{0}")]
    Unauthorized(String),
    /// It answers, but speaks no revision that we do, or not the pinned one.
    #[error("{0}")]
    Protocol(String),
    /// The process ended when it was asked for its era. A new one, pinned to a legacy revision,
    /// may do better.
    #[error("the server exited during the revision check: {0}")]
    DiedOnProbe(String),
}

/// What the server said of itself when the connection was made.
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

/// What a server may say outside of any request of ours. Called from the connection's own task:
/// must not block.
pub trait ServerListener: Send + Sync {
    /// `notifications/tools/list_changed`, `…/resources/updated`, `…/message` and the like.
    fn on_notification(&self, method: &str, params: Option<&RawValue>);

    /// The connection is gone; requests in flight were already told. Comes at most once, only
    /// after a successful handshake, and perhaps before the connecting future has returned.
    fn on_closed(&self, reason: &str);

    /// A line on the pipe, or an event in the stream, that is not MCP.
    fn on_garbage(&self, what: &str);

    /// An answer came for which nobody waits any more. It was dropped.
    fn late(&self);
}

#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// `None`: find out which era the server speaks.
    pub pinned: Option<Revision>,
    /// How long the server may keep silent on the first probe before it counts as legacy.
    /// For pipes; over HTTP silence is an outage.
    pub probe_timeout: Duration,
    /// How long the handshake as a whole may take.
    pub handshake_timeout: Duration,
    /// The largest single message read, in bytes.
    pub message_limit: usize,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            pinned: None,
            probe_timeout: Duration::from_secs(5),
            handshake_timeout: Duration::from_secs(30),
            message_limit: 8 << 20,
        }
    }
}

/// Where credentials of HTTP requests come from.
#[async_trait]
pub trait Credentials: Send + Sync {
    /// Headers to add to the next request, such as `authorization`.
    async fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, String>;

    /// The server said 401 or 403; `challenge` is its `www-authenticate`. Whether to try again
    /// with the headers as they are then. Asked at most once per request.
    async fn refused(&self, status: StatusCode, challenge: Option<&str>) -> bool;
}

/// One live connection. Implemented by each transport.
#[async_trait]
pub trait McpConnection: Send + Sync {
    fn facts(&self) -> &ServerFacts;

    /// Sends a request and waits for its answer. Dropping the future cancels.
    async fn request(&self, request: OutgoingRequest<'_>) -> Result<Answer, RequestError>;

    async fn notify(&self, method: &str, params: Object<'_>) -> Result<(), RequestError>;

    /// Makes sure that list changes, and updates of these resources, reach the listener.
    async fn watch(&self, resources: &[String]) -> Result<(), RequestError>;

    /// Ends the connection in good order. The listener is not told.
    async fn close(&self);
}

pub type SharedConnection = Arc<dyn McpConnection>;
