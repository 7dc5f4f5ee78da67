//! How a server is reached. The only file here that names transports.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use parking_lot::Mutex;
use tollgate_mcp::client::{
    ConnectError, HttpTarget, HttpTransport, Listener, Options, SharedConnection, connect_http,
    connect_pipe,
};
use tollgate_mcp::{Era, Revision};

use super::Context;
use super::agenda::Nature;
use super::auth::login::Consent;
use super::auth::{self, Access};
use super::process::{Log, Pipes, Process};
use crate::clock::Clock;
use crate::confine::Launcher;
use crate::settings::{Command, Endpoint, Protocol, Server, Transport};

/// The end of a child may be noticed so much later than that of its pipe.
const EXIT_PATIENCE: Duration = Duration::from_millis(200);
/// A remote server is up or it is not; a child may have to be fetched first.
const HTTP_HANDSHAKE: Duration = Duration::from_secs(10);

/// Makes connections to one server, one at a time.
#[async_trait]
pub(super) trait Connector: Send + Sync {
    async fn connect(&self, listener: Arc<dyn Listener>) -> Result<Link, Trouble>;

    fn nature(&self) -> Nature;

    /// Whether somebody has to log in before it can be reached.
    fn needs_login(&self) -> bool {
        false
    }
}

/// A connection, and the child at the other end if it is one.
pub(super) struct Link {
    pub(super) connection: SharedConnection,
    pub(super) process: Option<Process>,
}

/// Why a server is not in service, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) reason: String,
    pub(super) kind: TroubleKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TroubleKind {
    /// Not there; it may be back any moment.
    Down,
    /// There, but it will not have us: credentials, protocol. Trying often changes nothing.
    Refused,
}

impl Trouble {
    pub(super) fn down(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), kind: TroubleKind::Down }
    }
}

impl From<ConnectError> for Trouble {
    fn from(error: ConnectError) -> Self {
        let kind = match error {
            ConnectError::Unreachable(_) | ConnectError::DiedOnProbe(_) => TroubleKind::Down,
            ConnectError::Unauthorized(_) | ConnectError::Protocol(_) => TroubleKind::Refused,
        };
        Self { reason: error.to_string(), kind }
    }
}

/// The connector that a server's settings ask for.
pub(super) fn connector(server: &Server, log: &Arc<Log>, context: &Context) -> Arc<dyn Connector> {
    let Context { clock, launcher, .. } = context;
    let access = |endpoint: &Endpoint| auth::access(&server.id, endpoint, context);
    let pinned = match server.protocol {
        Protocol::Auto => None,
        Protocol::Pinned(revision) => Some(revision),
    };
    match &server.transport {
        Transport::Stdio(command) => Arc::new(Stdio {
            command: command.clone(),
            launcher: launcher.clone(),
            pinned,
            learned: Mutex::new(None),
            log: Arc::clone(log),
            clock: Arc::clone(clock),
        }),
        Transport::StreamableHttp(endpoint) => Arc::new(Http {
            endpoint: endpoint.clone(),
            transport: HttpTransport::Streamable,
            pinned,
            access: access(endpoint),
        }),
        Transport::Sse(endpoint) => Arc::new(Http {
            endpoint: endpoint.clone(),
            transport: HttpTransport::Sse,
            pinned,
            access: access(endpoint),
        }),
    }
}

struct Http {
    /// Checked when the connection is made: what cannot be sent is a reason to show.
    endpoint: Endpoint,
    transport: HttpTransport,
    pinned: Option<Revision>,
    /// Kept from one connection to the next, and with them the tokens they hold.
    access: Access,
}

impl Http {
    fn target(&self) -> Result<HttpTarget, String> {
        let url: Uri = self.endpoint.url.parse().map_err(|_| "the URL is not one".to_owned())?;
        let mut headers = HeaderMap::new();
        for (name, value) in &self.endpoint.headers {
            let unfit = || format!("the header `{name}` cannot be sent");
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
impl Connector for Http {
    async fn connect(&self, listener: Arc<dyn Listener>) -> Result<Link, Trouble> {
        let refused = |reason| Trouble { reason, kind: TroubleKind::Refused };
        let target = self.target().map_err(refused)?;
        let options = Options {
            pinned: self.pinned,
            handshake_timeout: HTTP_HANDSHAKE,
            ..Options::default()
        };
        let place = place(&target.url);
        let connection = connect_http(target, listener, &options).await.map_err(|error| {
            let trouble = Trouble::from(error);
            Trouble { reason: format!("{place}: {}", trouble.reason), ..trouble }
        })?;
        Ok(Link { connection, process: None })
    }

    fn nature(&self) -> Nature {
        Nature::Remote
    }

    fn needs_login(&self) -> bool {
        self.access.consent.as_ref().is_some_and(Consent::is_missing)
    }
}

struct Stdio {
    command: Command,
    launcher: Option<Launcher>,
    pinned: Option<Revision>,
    /// The legacy revision it spoke last time: saves the probe, which some do not survive.
    learned: Mutex<Option<Revision>>,
    log: Arc<Log>,
    clock: Arc<dyn Clock>,
}

#[async_trait]
impl Connector for Stdio {
    async fn connect(&self, listener: Arc<dyn Listener>) -> Result<Link, Trouble> {
        if let Some(pinned) = self.pinned {
            return self.attempt(&listener, Some(pinned)).await.map_err(Failed::into_trouble);
        }
        let learned = *self.learned.lock();
        let linked = match self.attempt(&listener, learned).await {
            Ok(link) => Ok(link),
            Err(failed) => {
                *self.learned.lock() = None;
                match (failed, learned) {
                    (Failed::DiedOnProbe(trouble), None) => {
                        self.without_probe(&listener).await.ok_or(trouble)
                    }
                    (Failed::Refused(_), Some(_)) => {
                        self.attempt(&listener, None).await.map_err(Failed::into_trouble)
                    }
                    (failed, _) => Err(failed.into_trouble()),
                }
            }
        };
        if let Ok(link) = &linked {
            let revision = link.connection.facts().revision;
            *self.learned.lock() = (revision.era() == Era::Legacy).then_some(revision);
        }
        linked
    }

    fn nature(&self) -> Nature {
        Nature::Child
    }
}

/// Why one start came to nothing.
enum Failed {
    /// It left when it was asked for its era.
    DiedOnProbe(Trouble),
    Refused(Trouble),
    Other(Trouble),
}

impl Failed {
    fn into_trouble(self) -> Trouble {
        match self {
            Self::DiedOnProbe(trouble) | Self::Refused(trouble) | Self::Other(trouble) => trouble,
        }
    }
}

impl Stdio {
    async fn attempt(
        &self,
        listener: &Arc<dyn Listener>,
        pinned: Option<Revision>,
    ) -> Result<Link, Failed> {
        let options = Options { pinned, ..Options::default() };
        let launcher = self.launcher.as_ref();
        let (mut process, pipes) = Process::spawn(&self.command, launcher, &self.log, &self.clock)
            .map_err(|error| Failed::Other(Trouble::down(chain(&error))))?;
        let Pipes { stdin, stdout } = pipes;
        let error = match connect_pipe(stdout, stdin, Arc::clone(listener), &options).await {
            Ok(connection) => return Ok(Link { connection, process: Some(process) }),
            Err(error) => error,
        };
        let exited = tokio::time::timeout(EXIT_PATIENCE, process.exited()).await.is_ok();
        let ended = process.stop().await;
        if let Some(error) = ended.never_began {
            return Err(Failed::Other(Trouble::down(chain(&error))));
        }
        let died_on_probe = matches!(error, ConnectError::DiedOnProbe(_));
        let mut trouble = Trouble::from(error);
        // A server that answered has said why itself; it leaves because we did.
        if exited && trouble.kind == TroubleKind::Down {
            trouble.reason = format!("{ended}, during the handshake");
        } else if let Some(line) = ended.last_words {
            trouble.reason = format!("{}; stderr: {line}", trouble.reason);
        }
        Err(match trouble.kind {
            _ if died_on_probe => Failed::DiedOnProbe(trouble),
            TroubleKind::Refused => Failed::Refused(trouble),
            TroubleKind::Down => Failed::Other(trouble),
        })
    }

    /// Some servers leave at the first message they do not know: ask those the old way, for each
    /// of the old revisions, since one that is named must be the one that is spoken.
    async fn without_probe(&self, listener: &Arc<dyn Listener>) -> Option<Link> {
        for revision in Revision::ALL.into_iter().rev().filter(|it| it.era() == Era::Legacy) {
            match self.attempt(listener, Some(revision)).await {
                Ok(link) => return Some(link),
                Err(Failed::Refused(_)) => {}
                Err(Failed::DiedOnProbe(_) | Failed::Other(_)) => return None,
            }
        }
        None
    }
}

/// The URL as operators may read it: what stands in a query may be a secret.
fn place(url: &Uri) -> String {
    let (scheme, host) = (url.scheme_str().unwrap_or("http"), url.authority());
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
