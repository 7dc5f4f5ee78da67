//! The handle of one server: cheap to share, answers at once what it can, and asks the
//! supervisor for the rest.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use http::Uri;
use tokio::sync::{mpsc, oneshot, watch};
use tollgate_core::breaker::Outcome;
use tollgate_core::id::ServerId;
use tollgate_core::secret::Secret;
use tollgate_core::secret_values::{self, Judgement};
use tollgate_mcp::Era;
use tollgate_mcp::client::{Answer, Request, RequestError};
use tollgate_mcp::tasks::{self, Task};
use tollgate_store::Store;

use super::connect::{self, Connector};
use super::history::Episode;
use super::life::Life;
use super::ping::ping;
use super::process::Log;
use super::shared::{Live, Prospect, Shared};
use super::stored::Stored;
use super::supervisor::{Order, Supervisor};
use super::{Busy, State, Status, TestReport, Updates, Verdict};
use crate::backend::{Backend, Failure, Job, Line, Peer, Place};
use crate::clock::Clock;
use crate::confine::Launcher;
use crate::notices::Notices;
use crate::settings::{Server, Start, Transport, Wanted};
use crate::watches::Watched;

/// Orders that may wait for a supervisor that is busy.
const ORDERS: usize = 32;
/// How long a test waits for a server that has to be started for it.
const TEST_PATIENCE: Duration = Duration::from_secs(45);

/// How often it is seen whether the last calls of a server are over.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What all servers of a gateway share.
#[derive(Clone)]
pub struct Context {
    pub clock: Arc<dyn Clock>,
    pub updates: Updates,
    /// Where state lives that outlasts the process.
    pub data: PathBuf,
    /// What children begin as.
    pub launcher: Option<Launcher>,
    /// Where logins are kept.
    pub store: Option<Arc<Store>>,
    /// Where it is told that servers come and go.
    pub notices: Notices,
}

/// Dropping it kills the server; [`Upstream::stop`] ends it in good order.
pub struct Upstream {
    shared: Arc<Shared>,
    transport: &'static str,
    connector: Arc<dyn Connector>,
    start: Start,
    wanted: Wanted,
    orders: mpsc::Sender<Order>,
    _supervisor: Option<Task>,
}

impl Upstream {
    /// Returns at once; the server comes up on its own. Must be called within a runtime.
    pub fn start(server: Server, context: &Context) -> Arc<Self> {
        mask_secrets(&server);
        let log = Arc::new(Log::new(server.id.clone(), secrets(&server)));
        let connector = connect::connector(&server, &log, context);
        Self::supervised(server, context, log, connector)
    }

    pub(super) fn supervised(
        server: Server,
        context: &Context,
        log: Arc<Log>,
        connector: Arc<dyn Connector>,
    ) -> Arc<Self> {
        let Server { id, transport, state, start, restart, slots, .. } = server;
        let shared =
            Arc::new(Shared::new(id, (Arc::clone(&context.clock), context.notices.clone()), log));
        let (orders, queue) = mpsc::channel(ORDERS);
        let supervisor = match state {
            Wanted::Disabled => {
                shared.expect(Prospect::Never);
                shared.set(State::Disabled, "disabled in the config", |_| {});
                None
            }
            Wanted::Enabled => {
                let stored = Stored::new(&context.data, &shared.server, &transport);
                let supervisor = Supervisor {
                    shared: Arc::clone(&shared),
                    life: Life::new(restart, connector.nature()),
                    connector: Arc::clone(&connector),
                    slots,
                    place: Arc::new(place(&transport)),
                    orders: queue,
                    updates: context.updates.clone(),
                    stored: (start == Start::Lazy).then_some(stored),
                };
                Some(tasks::spawn("supervisor", supervisor.run()))
            }
        };
        Arc::new(Self {
            shared,
            transport: name(&transport),
            connector,
            start,
            wanted: state,
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

    pub fn status(&self) -> Status {
        self.shared.status()
    }

    pub fn wanted(&self) -> Wanted {
        self.wanted
    }

    /// The states it was in lately, newest first. The first is the one it is in.
    pub fn history(&self) -> Vec<Episode> {
        self.shared.history.episodes()
    }

    /// Goes on with the history of the one whose place it takes.
    pub(crate) fn inherit(&self, before: &Self) {
        self.shared.history.inherit(before.history());
    }

    /// When something that it was asked last came back.
    pub fn last_heard(&self) -> Option<SystemTime> {
        self.shared.heard.last()
    }

    /// Whether it is away until somebody consents to its use.
    pub fn needs_login(&self) -> bool {
        self.connector.needs_login() && self.shared.live.load().is_none()
    }

    pub(super) fn log(&self) -> &Log {
        &self.shared.log
    }

    pub(super) fn now(&self) -> Instant {
        self.shared.clock.now()
    }

    /// How many calls it has now.
    pub fn busy(&self) -> Busy {
        self.shared.live.load().as_ref().map_or_else(Busy::default, |live| live.turnstile.busy())
    }

    /// Whether calls go straight through: nothing has to be started for them.
    pub fn is_up(&self) -> bool {
        self.shared.working().is_some()
    }

    pub fn changes(&self) -> watch::Receiver<Status> {
        self.shared.subscribe()
    }

    /// The last lines on stderr, oldest first.
    pub fn logs(&self) -> Vec<String> {
        self.shared.log.lines()
    }

    /// Waits until it is known whether the server comes up.
    pub async fn settled(&self) {
        let mut changes = self.shared.subscribe();
        let _ = changes.wait_for(|status| status.state != State::Starting).await;
    }

    /// Stops the server if it runs, forgets its failures, and starts it afresh. Returns once the
    /// old one is gone; says `false` if the server is disabled or was stopped.
    pub async fn restart(&self) -> bool {
        self.order(Order::Restart).await
    }

    /// What it tells from now on is not heard any more.
    pub(crate) fn mute(&self) {
        self.shared.muted.store(true, Ordering::Release);
    }

    /// Ends a server that gets no new calls, once those that run are over or `patience` is.
    pub(crate) async fn retire(&self, patience: Duration) {
        let idle = async {
            while self.shared.live.load().as_ref().is_some_and(|live| live.turnstile.is_used()) {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        let _ = tokio::time::timeout(patience, idle).await;
        self.stop().await;
    }

    /// Ends the server for good; returns once it is gone.
    pub async fn stop(&self) {
        self.order(Order::Stop).await;
    }

    /// Asks the server whether it lives; one that is not running is started for it.
    pub async fn test(&self) -> TestReport {
        let begun = self.shared.clock.now();
        let outcome = self.tested().await;
        let status = self.status();
        let took = self.shared.clock.now().duration_since(begun);
        let (verdict, message) = match outcome {
            Ok(()) => (Verdict::Works, status.reason),
            Err(reason) => (Verdict::Fails, reason),
        };
        TestReport { verdict, message, protocol: status.revision, tools: status.tools, took }
    }

    async fn tested(&self) -> Result<(), String> {
        if let Some(live) = self.shared.live.load_full() {
            let answered = ping(&*live.connection).await;
            if answered.is_ok() {
                live.heard.note();
            }
            return answered.map_err(|why| why.to_string());
        }
        let mut changes = self.shared.subscribe();
        changes.mark_unchanged();
        if changes.borrow().state != State::Starting && !self.restart().await {
            return Err(self.status().reason);
        }
        let settled = changes.wait_for(|_| self.shared.live.load().is_some() || self.is_down());
        match tokio::time::timeout(TEST_PATIENCE, settled).await {
            Ok(_) if self.shared.live.load().is_some() => Ok(()),
            Ok(_) => Err(self.status().reason),
            Err(_) => Err(format!("not up within {} s", TEST_PATIENCE.as_secs())),
        }
    }

    fn is_down(&self) -> bool {
        matches!(self.status().state, State::Offline | State::Failed | State::Disabled)
    }

    /// Whether the order was carried out.
    async fn order(&self, order: impl FnOnce(oneshot::Sender<()>) -> Order) -> bool {
        let (reply, done) = oneshot::channel();
        self.orders.send(order(reply)).await.is_ok() && done.await.is_ok()
    }

    /// The connection to use now. A lazy server is woken and waited for, which the caller's own
    /// deadline bounds; any other that is not in service is refused at once.
    async fn live(&self) -> Result<Arc<Live>, Failure> {
        if let Some(live) = self.shared.live.load_full() {
            return Ok(live);
        }
        let mut changes = self.shared.subscribe();
        let _ = self.orders.try_send(Order::Wake);
        if self.start == Start::Lazy && self.wanted == Wanted::Enabled {
            let coming = |status: &Status| matches!(status.state, State::Ready | State::Starting);
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
        live.ok_or(Failure::Offline { state: status.state.as_str(), reason: status.reason })
    }
}

#[async_trait]
impl Backend for Upstream {
    async fn line(&self) -> Result<Arc<dyn Line>, Failure> {
        let live = self.live().await?;
        Ok(live)
    }

    async fn returned(&self, until: Instant) -> bool {
        let mut changes = self.shared.subscribe();
        loop {
            changes.mark_unchanged();
            if self.shared.working().is_some() {
                return true;
            }
            if !self.shared.is_expected_by(until) {
                return false;
            }
            let _ = self.orders.try_send(Order::Wake);
            let changed = tokio::time::timeout_at(until.into(), changes.changed()).await;
            if !matches!(changed, Ok(Ok(()))) {
                return false;
            }
        }
    }
}

#[async_trait]
impl Line for Live {
    fn era(&self) -> Era {
        self.connection.facts().era()
    }

    fn peer(&self) -> Option<Peer<'_>> {
        Some(Peer { place: &self.place, revision: self.connection.facts().revision })
    }

    async fn run(&self, job: Job<'_>) -> Result<Answer, Failure> {
        let mut pass = self.turnstile.enter(job.until).await?;
        tollgate_core::failpoint::hit("upstream");
        job.departure.note();
        let Job { method, params, client, mirrored, events, progress, waits, trace, .. } = job;
        let trace = trace.map(Arc::as_ref);
        let request = Request { method, params, client, mirrored, events, progress, trace };
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
            Ok(_) | Err(RequestError::Refused(_) | RequestError::TooLarge { .. }) => {
                self.heard.note();
                Outcome::Answered
            }
            Err(
                RequestError::Lost(_)
                | RequestError::Unusable(_)
                | RequestError::Unreachable(_)
                | RequestError::Unauthorized(_),
            ) => Outcome::Failed,
        });
        outcome.map_err(Failure::from)
    }
}

impl Watched for Upstream {
    fn watch_resources(&self, uris: Vec<String>) {
        self.shared.watched.send_replace(uris);
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Refused(error) => Self::Refused(error),
            RequestError::Lost(reason) => Self::Lost(reason),
            RequestError::Unusable(reason) => Self::Unusable(reason),
            RequestError::Unreachable(reason) => Self::Offline { state: "unreachable", reason },
            RequestError::Unauthorized(reason) => Self::Unauthorized(reason),
            RequestError::TooLarge { limit } => Self::TooLarge { limit },
        }
    }
}

fn name(transport: &Transport) -> &'static str {
    match transport {
        Transport::Stdio(_) => "stdio",
        Transport::StreamableHttp(_) => "streamable-http",
        Transport::Sse(_) => "sse",
    }
}

fn place(transport: &Transport) -> Place {
    let endpoint = match transport {
        Transport::Stdio(_) => return Place::Pipe,
        Transport::StreamableHttp(endpoint) | Transport::Sse(endpoint) => endpoint,
    };
    let url = endpoint.url.parse::<Uri>().unwrap_or_default();
    let usual = if url.scheme_str() == Some("https") { 443 } else { 80 };
    let host = url.host().unwrap_or_default().to_owned();
    Place::Web { host, port: url.port_u16().unwrap_or(usual) }
}

/// Masks what the server is given, wherever it turns up. Most of it stands in the config and is known;
/// a server that is only tried out is not.
fn mask_secrets(server: &Server) {
    let values = match &server.transport {
        Transport::Stdio(command) => &command.env,
        Transport::StreamableHttp(endpoint) | Transport::Sse(endpoint) => &endpoint.headers,
    };
    for (name, value) in values {
        if secret_values::judge(name, value.reveal()) == Judgement::Masked {
            secret_values::obtain(value.reveal());
        }
    }
    if let Transport::Stdio(command) = &server.transport {
        for flag in command.words.windows(2).filter(|two| two[0].starts_with('-')) {
            if secret_values::sounds_secret(&flag[0]) && !flag[0].contains('=') {
                secret_values::obtain(&flag[1]);
            }
        }
    }
}

/// What must not show in the lines that a server writes.
fn secrets(server: &Server) -> Vec<Secret> {
    match &server.transport {
        Transport::Stdio(command) => command.env.values().cloned().collect(),
        Transport::StreamableHttp(_) | Transport::Sse(_) => Vec::new(),
    }
}
