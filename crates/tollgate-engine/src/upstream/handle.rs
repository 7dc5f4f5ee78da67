//! The handle of one server: cheap to share. Answers what it can at once, and sends commands to the
//! supervisor for the rest.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use http::Uri;
use tokio::sync::{mpsc, oneshot, watch};
use tollgate_core::circuit_breaker::Outcome;
use tollgate_core::id::ServerId;
use tollgate_core::secret::Secret;
use tollgate_core::secret_values::{self, MaskJudgement};
use tollgate_mcp::Era;
use tollgate_mcp::client::{Answer, OutgoingRequest, RequestError};
use tollgate_mcp::tasks::{self, Task};

use super::connect::{self, Connector};
use super::context::UpstreamContext;
use super::history::StateEpisode;
use super::listing_cache::ListingCache;
use super::ping::{PingError, ping};
use super::process::ServerLog;
use super::restart_state::RestartState;
use super::supervisor::{Supervisor, SupervisorCommand};
use super::upstream_shared::{LiveConnection, ReturnForecast, UpstreamShared};
use super::{TestReport, TestVerdict, UpstreamLoad, UpstreamState, UpstreamStatus};
use crate::backend::{Backend, BackendConnection, BackendError, BackendJob, Peer, PeerAddress};
use crate::resource_watches::WatchTarget;
use crate::settings::{Server, ServerDesiredState, ServerTransport, StartMode};

/// Commands queued for a busy supervisor.
const COMMAND_QUEUE: usize = 32;
/// How long a test waits for a server that has to be started first.
const TEST_TIMEOUT: Duration = Duration::from_secs(45);

/// Poll interval for the last calls of a retiring server.
const RETIRE_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Dropping it kills the server; [`Upstream::stop`] shuts it down gracefully.
pub struct Upstream {
    shared: Arc<UpstreamShared>,
    transport: &'static str,
    connector: Arc<dyn Connector>,
    start: StartMode,
    desired: ServerDesiredState,
    orders: mpsc::Sender<SupervisorCommand>,
    _supervisor: Option<Task>,
}

/// Why a server does not work.
#[derive(Debug, thiserror::Error)]
enum ServerTestError {
    #[error(transparent)]
    Ping(#[from] PingError),
    #[error("{0}")]
    Down(String),
    #[error("did not start within {0} s")]
    TooSlow(u64),
}

impl Upstream {
    /// Returns at once; the server comes up in the background. Must be called within a runtime.
    pub fn start(server: Server, context: &UpstreamContext) -> Arc<Self> {
        mask_secrets(&server);
        let log = Arc::new(ServerLog::new(server.id.clone(), secrets(&server)));
        let connector = connect::connector(&server, &log, context);
        Self::start_supervised(server, context, log, connector)
    }

    pub(super) fn start_supervised(
        server: Server,
        context: &UpstreamContext,
        log: Arc<ServerLog>,
        connector: Arc<dyn Connector>,
    ) -> Arc<Self> {
        let Server { id, transport, state, start, restart, slots, .. } = server;
        let shared = Arc::new(UpstreamShared::new(
            id,
            Arc::clone(&context.clock),
            context.notices.clone(),
            log,
        ));
        let (orders, queue) = mpsc::channel(COMMAND_QUEUE);
        let supervisor = match state {
            ServerDesiredState::Disabled => {
                shared.expect(ReturnForecast::Never);
                shared.set(UpstreamState::Disabled, "disabled in the config", |_| {});
                None
            }
            ServerDesiredState::Enabled => {
                let stored = ListingCache::new(&context.data, &shared.server, &transport);
                let supervisor = Supervisor {
                    shared: Arc::clone(&shared),
                    life: RestartState::new(restart, connector.nature()),
                    connector: Arc::clone(&connector),
                    slots,
                    place: Arc::new(place(&transport)),
                    orders: queue,
                    updates: context.updates.clone(),
                    stored: (start == StartMode::Lazy).then_some(stored),
                };
                Some(tasks::spawn("supervisor", supervisor.run()))
            }
        };
        Arc::new(Self {
            shared,
            transport: name(&transport),
            connector,
            start,
            desired: state,
            orders,
            _supervisor: supervisor,
        })
    }

    pub fn id(&self) -> &ServerId {
        &self.shared.server
    }

    pub fn transport(&self) -> &'static str {
        self.transport
    }

    pub fn status(&self) -> UpstreamStatus {
        self.shared.status()
    }

    pub fn desired_state(&self) -> ServerDesiredState {
        self.desired
    }

    /// The last states, newest first. The first is the current one.
    pub fn history(&self) -> Vec<StateEpisode> {
        self.shared.history.episodes()
    }

    /// Continues the history of the server it replaces.
    pub(crate) fn inherit(&self, before: &Self) {
        self.shared.history.inherit(before.history());
    }

    /// When the server last answered.
    pub fn last_answer(&self) -> Option<SystemTime> {
        self.shared.last_answer.last()
    }

    /// Whether it is offline until someone logs in to it.
    pub fn needs_login(&self) -> bool {
        self.connector.needs_login() && self.shared.live.load().is_none()
    }

    pub(super) fn log(&self) -> &ServerLog {
        &self.shared.log
    }

    pub(super) fn now(&self) -> Instant {
        self.shared.clock.now()
    }

    /// Its running and queued calls.
    pub fn busy(&self) -> UpstreamLoad {
        self.shared
            .live
            .load()
            .as_ref()
            .map_or_else(UpstreamLoad::default, |live| live.limiter.busy())
    }

    /// Whether calls are sent without starting the server first.
    pub fn is_up(&self) -> bool {
        self.shared.working().is_some()
    }

    pub fn changes(&self) -> watch::Receiver<UpstreamStatus> {
        self.shared.subscribe()
    }

    /// The last lines of stderr, oldest first.
    pub fn logs(&self) -> Vec<String> {
        self.shared.log.lines()
    }

    /// Waits until it is known whether the server comes up.
    pub async fn wait_until_settled(&self) {
        let mut changes = self.shared.subscribe();
        let _ = changes.wait_for(|status| status.state != UpstreamState::Starting).await;
    }

    /// Stops the server if it runs, resets its failures, and starts it again. Returns once the old
    /// one is gone; `false` if the server is disabled or was stopped.
    pub async fn restart(&self) -> bool {
        self.order(SupervisorCommand::Restart).await
    }

    /// Its updates are ignored from now on.
    pub(crate) fn mute(&self) {
        self.shared.muted.store(true, Ordering::Release);
    }

    /// Stops a server that gets no new calls, once its running calls have ended or `patience` is
    /// over.
    pub(crate) async fn retire(&self, patience: Duration) {
        let idle = async {
            while self.shared.live.load().as_ref().is_some_and(|live| live.limiter.is_used()) {
                tokio::time::sleep(RETIRE_POLL_INTERVAL).await;
            }
        };
        let _ = tokio::time::timeout(patience, idle).await;
        self.stop().await;
    }

    /// Stops the server for good; returns once it is gone.
    pub async fn stop(&self) {
        self.order(SupervisorCommand::Stop).await;
    }

    /// Pings the server; starts it first if it is not running.
    pub async fn test(&self) -> TestReport {
        let begun = self.shared.clock.now();
        let outcome = self.check_alive().await;
        let status = self.status();
        let took = self.shared.clock.now().duration_since(begun);
        let (verdict, message) = match outcome {
            Ok(()) => (TestVerdict::Works, status.reason),
            Err(error) => (TestVerdict::Fails, error.to_string()),
        };
        TestReport { verdict, message, protocol: status.revision, tools: status.tools, took }
    }

    async fn check_alive(&self) -> Result<(), ServerTestError> {
        if let Some(live) = self.shared.live.load_full() {
            let answered = ping(&*live.connection).await;
            if answered.is_ok() {
                live.last_answer.note();
            }
            return Ok(answered?);
        }
        let mut changes = self.shared.subscribe();
        changes.mark_unchanged();
        if changes.borrow().state != UpstreamState::Starting && !self.restart().await {
            return Err(ServerTestError::Down(self.status().reason));
        }
        let settled = changes.wait_for(|_| self.shared.live.load().is_some() || self.is_down());
        match tokio::time::timeout(TEST_TIMEOUT, settled).await {
            Ok(_) if self.shared.live.load().is_some() => Ok(()),
            Ok(_) => Err(ServerTestError::Down(self.status().reason)),
            Err(_) => Err(ServerTestError::TooSlow(TEST_TIMEOUT.as_secs())),
        }
    }

    fn is_down(&self) -> bool {
        matches!(
            self.status().state,
            UpstreamState::Offline | UpstreamState::Failed | UpstreamState::Disabled
        )
    }

    /// Returns whether the command was carried out.
    async fn order(&self, order: impl FnOnce(oneshot::Sender<()>) -> SupervisorCommand) -> bool {
        let (reply, done) = oneshot::channel();
        self.orders.send(order(reply)).await.is_ok() && done.await.is_ok()
    }

    /// The current connection. A lazy server is woken and awaited, bounded by the caller's
    /// deadline; a call to any other server that is not in service is refused at once.
    async fn live(&self) -> Result<Arc<LiveConnection>, BackendError> {
        if let Some(live) = self.shared.live.load_full() {
            return Ok(live);
        }
        let mut changes = self.shared.subscribe();
        let _ = self.orders.try_send(SupervisorCommand::Wake);
        if self.start == StartMode::Lazy && self.desired == ServerDesiredState::Enabled {
            let coming = |status: &UpstreamStatus| {
                matches!(status.state, UpstreamState::Ready | UpstreamState::Starting)
            };
            while coming(&changes.borrow_and_update()) {
                if let Some(live) = self.shared.live.load_full() {
                    return Ok(live);
                }
                if changes.changed().await.is_err() {
                    break;
                }
            }
        }
        let status = self.status();
        let live = self.shared.live.load_full();
        live.ok_or(BackendError::Offline { state: status.state.as_str(), reason: status.reason })
    }
}

#[async_trait]
impl Backend for Upstream {
    async fn connection(&self) -> Result<Arc<dyn BackendConnection>, BackendError> {
        let live = self.live().await?;
        Ok(live)
    }

    async fn wait_until_available(&self, until: Instant) -> bool {
        let mut changes = self.shared.subscribe();
        loop {
            changes.mark_unchanged();
            if self.shared.working().is_some() {
                return true;
            }
            if !self.shared.is_expected_by(until) {
                return false;
            }
            let _ = self.orders.try_send(SupervisorCommand::Wake);
            let changed = tokio::time::timeout_at(until.into(), changes.changed()).await;
            if !matches!(changed, Ok(Ok(()))) {
                return false;
            }
        }
    }
}

#[async_trait]
impl BackendConnection for LiveConnection {
    fn era(&self) -> Era {
        self.connection.facts().era()
    }

    fn peer(&self) -> Option<Peer<'_>> {
        Some(Peer { place: &self.place, revision: self.connection.facts().revision })
    }

    async fn run(&self, job: BackendJob<'_>) -> Result<Answer, BackendError> {
        let mut pass = self.limiter.enter(job.until).await?;
        tollgate_core::failpoint::hit("upstream");
        job.departure.note();
        let BackendJob { method, params, client, mirrored, events, progress, waits, trace, .. } =
            job;
        let trace = trace.map(Arc::as_ref);
        let request = OutgoingRequest { method, params, client, mirrored, events, progress, trace };
        let running = self.connection.request(request);
        let outcome = match waits {
            None => running.await,
            Some(waits) => tokio::select! {
                biased;
                outcome = running => outcome,
                () = pass.lend(waits) => unreachable!("it lends for ever"),
            },
        };
        pass.give_back(match &outcome {
            Ok(_)
            | Err(
                RequestError::Refused(_) | RequestError::TooLarge { .. } | RequestError::NoRoom(_),
            ) => {
                self.last_answer.note();
                Outcome::Answered
            }
            Err(
                RequestError::Lost(_)
                | RequestError::Unusable(_)
                | RequestError::Unreachable(_)
                | RequestError::Unauthorized(_),
            ) => Outcome::Failed,
        });
        outcome.map_err(BackendError::from)
    }
}

impl WatchTarget for Upstream {
    fn watch_resources(&self, uris: Vec<String>) {
        self.shared.watched.send_replace(uris);
    }
}

impl From<RequestError> for BackendError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Refused(error) => Self::Refused(error),
            RequestError::Lost(reason) => Self::Lost(reason),
            RequestError::Unusable(reason) => Self::Unusable(reason),
            RequestError::Unreachable(reason) => Self::Offline { state: "unreachable", reason },
            RequestError::Unauthorized(reason) => Self::Unauthorized(reason),
            RequestError::TooLarge { limit } => Self::TooLarge { limit },
            RequestError::NoRoom(_) => Self::NoRoom,
        }
    }
}

fn name(transport: &ServerTransport) -> &'static str {
    match transport {
        ServerTransport::Stdio(_) => "stdio",
        ServerTransport::StreamableHttp(_) => "streamable-http",
        ServerTransport::Sse(_) => "sse",
    }
}

fn place(transport: &ServerTransport) -> PeerAddress {
    let endpoint = match transport {
        ServerTransport::Stdio(_) => return PeerAddress::Pipe,
        ServerTransport::StreamableHttp(endpoint) | ServerTransport::Sse(endpoint) => endpoint,
    };
    let url = endpoint.url.parse::<Uri>().unwrap_or_default();
    let usual = if url.scheme_str() == Some("https") { 443 } else { 80 };
    let host = url.host().unwrap_or_default().to_owned();
    PeerAddress::Web { host, port: url.port_u16().unwrap_or(usual) }
}

/// Masks the secrets of the server's settings in all output. Most are in the config and known
/// already; those of a server on trial are not.
fn mask_secrets(server: &Server) {
    let values = match &server.transport {
        ServerTransport::Stdio(command) => &command.env,
        ServerTransport::StreamableHttp(endpoint) | ServerTransport::Sse(endpoint) => {
            &endpoint.headers
        }
    };
    for (name, value) in values {
        if secret_values::judge(name, value.reveal()) == MaskJudgement::Masked {
            secret_values::obtain(value.reveal());
        }
    }
    if let ServerTransport::Stdio(command) = &server.transport {
        for flag in command.words.windows(2).filter(|two| two[0].starts_with('-')) {
            if secret_values::sounds_secret(&flag[0]) && !flag[0].contains('=') {
                secret_values::obtain(&flag[1]);
            }
        }
    }
}

/// Values to mask in the server's output.
fn secrets(server: &Server) -> Vec<Secret> {
    match &server.transport {
        ServerTransport::Stdio(command) => command.env.values().cloned().collect(),
        ServerTransport::StreamableHttp(_) | ServerTransport::Sse(_) => Vec::new(),
    }
}
