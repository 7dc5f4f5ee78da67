//! Connectors: how a server is reached. The only file here that names transports.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use parking_lot::Mutex;
use tollgate_core::id::ServerId;
use tollgate_mcp::client::{
    ConnectError, ConnectOptions, HttpTarget, HttpTransport, ServerListener, SharedConnection,
    connect_http, connect_pipe,
};
use tollgate_mcp::{Era, Revision};

use super::UpstreamContext;
use super::auth::login::ConsentState;
use super::auth::{self, ServerAccess};
use super::connection_schedule::UpstreamKind;
use super::process::{ChildPipes, ChildProcess, ServerLog};
use crate::clock::Clock;
use crate::confine::{Launcher, SealedDirectoryError};
use crate::settings::{HttpEndpoint, ProtocolSelection, Server, ServerTransport, StdioCommand};

/// The exit of a child may be noticed this much later than EOF on its pipe.
const EXIT_TIMEOUT: Duration = Duration::from_millis(200);
/// A remote server is up or down; a child may first have to be downloaded.
const HTTP_HANDSHAKE: Duration = Duration::from_secs(10);

/// Makes connections to one server, one at a time.
#[async_trait]
pub(super) trait Connector: Send + Sync {
    async fn connect(
        &self,
        listener: Arc<dyn ServerListener>,
    ) -> Result<ServerLink, ServerDownError>;

    fn nature(&self) -> UpstreamKind;

    /// Whether a login is needed before it can be reached.
    fn needs_login(&self) -> bool {
        false
    }
}

/// A connection, and the child process at its other end, if any.
pub(super) struct ServerLink {
    pub(super) connection: SharedConnection,
    pub(super) process: Option<ChildProcess>,
}

/// Why a server is not in service, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerDownError {
    pub(super) reason: String,
    pub(super) kind: ServerDownKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerDownKind {
    /// Not reachable; it may be back at any moment.
    Down,
    /// Reachable, but it rejects us: credentials, protocol. Frequent retries do not help.
    Refused,
}

impl ServerDownError {
    pub(super) fn down(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), kind: ServerDownKind::Down }
    }
}

impl From<ConnectError> for ServerDownError {
    fn from(error: ConnectError) -> Self {
        let kind = match error {
            ConnectError::Unreachable(_) | ConnectError::DiedOnProbe(_) => ServerDownKind::Down,
            ConnectError::Unauthorized(_) | ConnectError::Protocol(_) => ServerDownKind::Refused,
        };
        Self { reason: error.to_string(), kind }
    }
}

/// The connector for a server's settings.
pub(super) fn connector(
    server: &Server,
    log: &Arc<ServerLog>,
    context: &UpstreamContext,
) -> Arc<dyn Connector> {
    let UpstreamContext { clock, launcher, .. } = context;
    let access = |endpoint: &HttpEndpoint| auth::access(&server.id, endpoint, context);
    let pinned = match server.protocol {
        ProtocolSelection::Auto => None,
        ProtocolSelection::Pinned(revision) => Some(revision),
    };
    match &server.transport {
        ServerTransport::Stdio(command) => Arc::new(StdioServerConnector {
            server: server.id.clone(),
            command: command.clone(),
            launcher: launcher.clone(),
            pinned,
            learned: Mutex::new(None),
            log: Arc::clone(log),
            clock: Arc::clone(clock),
        }),
        ServerTransport::StreamableHttp(endpoint) => Arc::new(HttpServerConnector {
            endpoint: endpoint.clone(),
            transport: HttpTransport::Streamable,
            pinned,
            access: access(endpoint),
        }),
        ServerTransport::Sse(endpoint) => Arc::new(HttpServerConnector {
            endpoint: endpoint.clone(),
            transport: HttpTransport::Sse,
            pinned,
            access: access(endpoint),
        }),
    }
}

struct HttpServerConnector {
    /// Validated on connect: an invalid header is reported as the reason.
    endpoint: HttpEndpoint,
    transport: HttpTransport,
    pinned: Option<Revision>,
    /// Survives reconnects, together with its tokens.
    access: ServerAccess,
}

/// What is wrong with the settings of an HTTP endpoint.
#[derive(Debug, thiserror::Error)]
enum EndpointError {
    #[error("the URL is invalid")]
    Url,
    #[error("the header `{0}` has an invalid value")]
    Header(String),
}

impl HttpServerConnector {
    fn target(&self) -> Result<HttpTarget, EndpointError> {
        let url: Uri = self.endpoint.url.parse().map_err(|_| EndpointError::Url)?;
        let mut headers = HeaderMap::new();
        for (name, value) in &self.endpoint.headers {
            let unfit = || EndpointError::Header(name.clone());
            let key = HeaderName::try_from(name).map_err(|_| unfit())?;
            let mut value = HeaderValue::try_from(value.reveal()).map_err(|_| unfit())?;
            value.set_sensitive(true);
            headers.append(key, value);
        }
        let credentials = self.access.credentials.clone();
        Ok(HttpTarget { url, transport: self.transport, headers, credentials })
    }
}

#[async_trait]
impl Connector for HttpServerConnector {
    async fn connect(
        &self,
        listener: Arc<dyn ServerListener>,
    ) -> Result<ServerLink, ServerDownError> {
        let refused = |error: EndpointError| ServerDownError {
            reason: error.to_string(),
            kind: ServerDownKind::Refused,
        };
        let target = self.target().map_err(refused)?;
        let options = ConnectOptions {
            pinned: self.pinned,
            handshake_timeout: HTTP_HANDSHAKE,
            ..ConnectOptions::default()
        };
        let place = place(&target.url);
        let connection = connect_http(target, listener, &options).await.map_err(|error| {
            let trouble = ServerDownError::from(error);
            ServerDownError { reason: format!("{place}: {}", trouble.reason), ..trouble }
        })?;
        Ok(ServerLink { connection, process: None })
    }

    fn nature(&self) -> UpstreamKind {
        UpstreamKind::Remote
    }

    fn needs_login(&self) -> bool {
        self.access.consent.as_ref().is_some_and(ConsentState::is_missing)
    }
}

struct StdioServerConnector {
    server: ServerId,
    command: StdioCommand,
    launcher: Option<Launcher>,
    pinned: Option<Revision>,
    /// The legacy revision of the last connection: saves the probe, which makes some servers exit.
    learned: Mutex<Option<Revision>>,
    log: Arc<ServerLog>,
    clock: Arc<dyn Clock>,
}

#[async_trait]
impl Connector for StdioServerConnector {
    async fn connect(
        &self,
        listener: Arc<dyn ServerListener>,
    ) -> Result<ServerLink, ServerDownError> {
        self.warn_of_sealed_directory();
        if let Some(pinned) = self.pinned {
            return self
                .attempt(&listener, Some(pinned))
                .await
                .map_err(StartAttemptError::into_server_down);
        }
        let learned = *self.learned.lock();
        let linked = match self.attempt(&listener, learned).await {
            Ok(link) => Ok(link),
            Err(failed) => {
                *self.learned.lock() = None;
                match (failed, learned) {
                    (StartAttemptError::DiedOnProbe(trouble), None) => {
                        self.without_probe(&listener).await.ok_or(trouble)
                    }
                    (StartAttemptError::Refused(_), Some(_)) => self
                        .attempt(&listener, None)
                        .await
                        .map_err(StartAttemptError::into_server_down),
                    (failed, _) => Err(failed.into_server_down()),
                }
            }
        };
        if let Ok(link) = &linked {
            let revision = link.connection.facts().revision;
            *self.learned.lock() = (revision.era() == Era::Legacy).then_some(revision);
        }
        linked
    }

    fn nature(&self) -> UpstreamKind {
        UpstreamKind::Child
    }
}

/// Why one start failed.
enum StartAttemptError {
    /// It exited when its era was probed.
    DiedOnProbe(ServerDownError),
    Refused(ServerDownError),
    Other(ServerDownError),
}

impl StartAttemptError {
    fn into_server_down(self) -> ServerDownError {
        match self {
            Self::DiedOnProbe(trouble) | Self::Refused(trouble) | Self::Other(trouble) => trouble,
        }
    }
}

impl StdioServerConnector {
    /// The author of the server sees only that a file could not be created.
    fn warn_of_sealed_directory(&self) {
        let Some(launcher) = &self.launcher else { return };
        if let Err(why) = SealedDirectoryError::check(&self.command, &launcher.private) {
            let server = &self.server;
            let advice = SealedDirectoryError::ADVICE;
            tracing::warn!(%server, "{why}; {advice}");
        }
    }

    async fn attempt(
        &self,
        listener: &Arc<dyn ServerListener>,
        pinned: Option<Revision>,
    ) -> Result<ServerLink, StartAttemptError> {
        let options = ConnectOptions { pinned, ..ConnectOptions::default() };
        let launcher = self.launcher.as_ref();
        let (mut process, pipes) =
            ChildProcess::spawn(&self.command, launcher, &self.log, &self.clock)
                .map_err(|error| StartAttemptError::Other(ServerDownError::down(chain(&error))))?;
        let ChildPipes { stdin, stdout } = pipes;
        let error = match connect_pipe(stdout, stdin, Arc::clone(listener), &options).await {
            Ok(connection) => return Ok(ServerLink { connection, process: Some(process) }),
            Err(error) => error,
        };
        let exited = tokio::time::timeout(EXIT_TIMEOUT, process.wait_exit()).await.is_ok();
        let ended = process.stop().await;
        if let Some(error) = ended.never_began {
            return Err(StartAttemptError::Other(ServerDownError::down(chain(&error))));
        }
        let died_on_probe = matches!(error, ConnectError::DiedOnProbe(_));
        let mut trouble = ServerDownError::from(error);
        // A server that answered has given the reason itself; it exits because we disconnected.
        if exited && trouble.kind == ServerDownKind::Down {
            trouble.reason = format!("{ended}, during the handshake");
        } else if let Some(line) = ended.last_words {
            trouble.reason = format!("{}; stderr: {line}", trouble.reason);
        }
        Err(match trouble.kind {
            _ if died_on_probe => StartAttemptError::DiedOnProbe(trouble),
            ServerDownKind::Refused => StartAttemptError::Refused(trouble),
            ServerDownKind::Down => StartAttemptError::Other(trouble),
        })
    }

    /// Some servers exit at the first unknown message: connect to those without a probe, once with
    /// each legacy revision, since the revision that is named must be the one that is spoken.
    async fn without_probe(&self, listener: &Arc<dyn ServerListener>) -> Option<ServerLink> {
        for revision in Revision::ALL.into_iter().rev().filter(|it| it.era() == Era::Legacy) {
            match self.attempt(listener, Some(revision)).await {
                Ok(link) => return Some(link),
                Err(StartAttemptError::Refused(_)) => {}
                Err(StartAttemptError::DiedOnProbe(_) | StartAttemptError::Other(_)) => {
                    return None;
                }
            }
        }
        None
    }
}

/// The URL for operators: without the query, which may contain a secret.
fn place(url: &Uri) -> String {
    let scheme = url.scheme_str().unwrap_or("http");
    let host = url.authority();
    format!("{scheme}://{}{}", host.map_or("", |it| it.as_str()), url.path())
}

/// An error with its causes, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
