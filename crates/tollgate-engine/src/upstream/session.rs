//! A server in service: keeps its lists fresh and watches its health, until it ends.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tollgate_core::catalog::ServerListing;
use tollgate_core::circuit_breaker::BreakerState;
use tollgate_mcp::client::{RequestError, SharedConnection};
use tracing::debug;

use super::call_limiter::CallLimiter;
use super::connect::{ServerDownError, ServerLink};
use super::connection_schedule::{ConnectionSchedule, ConnectionTask};
use super::garbage::{self, GarbageMonitor};
use super::listing::{self, ListingReport};
use super::ping::{PingError, ping};
use super::process::ChildProcess;
use super::restart_state::RestartState;
use super::supervisor::{
    ConnectedUpstream, Interruption, Supervisor, SupervisorNext, close_link, interruption,
};
use super::upstream_shared::{LiveConnection, ReturnForecast, UpstreamShared};
use super::{Change, UpstreamState};

/// The exit of a child and EOF on its pipe come together; the second may be this late.
const EXIT_GRACE: Duration = Duration::from_millis(200);
/// How long a server may take to accept our subscription to changes.
const WATCH_TIMEOUT: Duration = Duration::from_secs(30);

struct UpstreamSession {
    live: Arc<LiveConnection>,
    link: ServerLink,
    agenda: ConnectionSchedule,
    chore: Option<ConnectionTaskFuture>,
    watched: watch::Receiver<Vec<String>>,
    garbage: GarbageMonitor,
    listing_trouble: Option<String>,
}

type ConnectionTaskFuture = Pin<Box<dyn Future<Output = ConnectionTaskResult> + Send>>;

enum ConnectionTaskResult {
    Listed(Result<ListingReport, RequestError>),
    Watched,
    Pinged(Result<(), PingError>),
}

/// Events that a session reacts to.
enum UpstreamSessionEvent {
    Interruption(Interruption),
    Mail,
    Exit,
    Done(ConnectionTaskResult),
    WatchedChanged,
    Time,
}

enum UpstreamSessionEnd {
    Lost(String),
    Exited,
    Interrupted(Interruption),
}

impl Supervisor {
    pub(super) async fn in_service(&mut self, up: ConnectedUpstream) -> SupervisorNext {
        let ConnectedUpstream { link, mailbox, listed } = up;
        let since = self.shared.clock.now();
        let connection = SharedConnection::clone(&link.connection);
        let clock = Arc::clone(&self.shared.clock);
        let limiter = CallLimiter::new(clock, Arc::clone(&mailbox), self.slots);
        let last_answer = Arc::clone(&self.shared.last_answer);
        last_answer.note();
        let place = Arc::clone(&self.place);
        let live = Arc::new(LiveConnection { connection, mailbox, limiter, last_answer, place });
        let mut session = UpstreamSession {
            live: Arc::clone(&live),
            link,
            agenda: ConnectionSchedule::new(self.connector.nature(), since),
            chore: None,
            watched: self.shared.watched.subscribe(),
            garbage: GarbageMonitor::default(),
            listing_trouble: listed.trouble,
        };
        self.life.note_up();
        self.shared.live.store(Some(live));
        self.publish(listed.listing).await;
        let ended = self.serve(&mut session).await;

        let (reason, interruption) = match ended {
            UpstreamSessionEnd::Lost(reason) => (Some(reason), None),
            UpstreamSessionEnd::Exited => (None, None),
            UpstreamSessionEnd::Interrupted(it) => (Some("stopping".to_owned()), Some(it)),
        };
        self.shared.expect(ReturnForecast::Soon);
        self.withdraw().await;
        let preliminary = reason.as_deref().unwrap_or("its process ended");
        self.shared.set(UpstreamState::Offline, preliminary, |_| {});
        let process = close_link(session.link).await;
        if let Some(interruption) = interruption {
            return self.handle_interruption(interruption).await;
        }
        let process = process.map(|ended| ended.to_string());
        let reason = reason.or(process).unwrap_or_else(|| "ended".to_owned());
        let up = self.shared.clock.now().duration_since(since);
        self.down(ServerDownError::down(reason), up).await
    }

    async fn serve(&mut self, session: &mut UpstreamSession) -> UpstreamSessionEnd {
        loop {
            let now = self.shared.clock.now();
            session.start_due_task(now, &self.life.listing);
            session.show(&self.shared, &self.life);
            let ended = match session.next(&mut self.orders, now).await {
                UpstreamSessionEvent::Interruption(it) => Some(UpstreamSessionEnd::Interrupted(it)),
                UpstreamSessionEvent::Exit => {
                    // Its last messages may still be in the pipe.
                    let _ = tokio::time::timeout(EXIT_GRACE, session.live.mailbox.wait_for_mail())
                        .await;
                    Some(UpstreamSessionEnd::Exited)
                }
                UpstreamSessionEvent::Mail => self.read_mail(session).await,
                UpstreamSessionEvent::Done(done) => self.handle_task_result(session, done).await,
                UpstreamSessionEvent::WatchedChanged => {
                    session.agenda.watch();
                    None
                }
                UpstreamSessionEvent::Time => None,
            };
            if let Some(ended) = ended {
                return ended;
            }
        }
    }

    async fn read_mail(&mut self, session: &mut UpstreamSession) -> Option<UpstreamSessionEnd> {
        let mail = session.live.mailbox.take();
        let now = self.shared.clock.now();
        for uri in mail.updated {
            self.tell(Change::ResourceUpdated(uri)).await;
        }
        if mail.changed {
            session.agenda.note_list_changed(now);
        }
        if mail.late > 0 {
            self.shared.count_late(mail.late);
        }
        if mail.garbage > 0 {
            session.garbage.add(now, mail.garbage);
        }
        if mail.rechecks > 0 {
            session.agenda.doubt(now);
        }
        let reason = mail.closed?;
        let exit = tokio::time::timeout(EXIT_GRACE, wait_exit(&mut session.link.process)).await;
        Some(if exit.is_ok() {
            UpstreamSessionEnd::Exited
        } else {
            UpstreamSessionEnd::Lost(reason)
        })
    }

    async fn handle_task_result(
        &mut self,
        session: &mut UpstreamSession,
        done: ConnectionTaskResult,
    ) -> Option<UpstreamSessionEnd> {
        match done {
            ConnectionTaskResult::Listed(Ok(ListingReport { listing, trouble })) => {
                session.listing_trouble = trouble;
                self.shared.last_answer.note();
                self.publish(listing).await;
            }
            ConnectionTaskResult::Listed(Err(error)) => {
                return Some(UpstreamSessionEnd::Lost(error.to_string()));
            }
            // It may only be busy: a server that blocks in a tool does not read meanwhile.
            ConnectionTaskResult::Pinged(Err(PingError::Silence))
                if !session.agenda.is_doubted() =>
            {
                session.agenda.doubt(self.shared.clock.now());
            }
            ConnectionTaskResult::Pinged(Err(why)) => {
                return Some(UpstreamSessionEnd::Lost(why.to_string()));
            }
            ConnectionTaskResult::Pinged(Ok(())) => {
                self.shared.last_answer.note();
                let calls = session.live.limiter.in_use();
                session.agenda.note_ping_answered(self.shared.clock.now(), calls);
            }
            ConnectionTaskResult::Watched => {}
        }
        None
    }
}

impl UpstreamSession {
    /// Starts the next due task, unless one is running.
    fn start_due_task(&mut self, now: Instant, listing: &Arc<ServerListing>) {
        if self.chore.is_some() {
            return;
        }
        let connection = SharedConnection::clone(&self.link.connection);
        self.chore = self.agenda.due(now).map(|chore| -> ConnectionTaskFuture {
            match chore {
                ConnectionTask::Ping => {
                    Box::pin(async move { ConnectionTaskResult::Pinged(ping(&*connection).await) })
                }
                ConnectionTask::List => {
                    let before = Arc::clone(listing);
                    Box::pin(async move {
                        ConnectionTaskResult::Listed(listing::list(&*connection, &before).await)
                    })
                }
                ConnectionTask::Watch => {
                    let resources = self.watched.borrow_and_update().clone();
                    Box::pin(watch_changes(connection, resources))
                }
            }
        });
    }

    async fn next(
        &mut self,
        orders: &mut tokio::sync::mpsc::Receiver<super::supervisor::SupervisorCommand>,
        now: Instant,
    ) -> UpstreamSessionEvent {
        let wake = self.wake_at(now);
        let happening = tokio::select! {
            it = interruption(orders) => UpstreamSessionEvent::Interruption(it),
            () = self.live.mailbox.wait_for_mail() => UpstreamSessionEvent::Mail,
            () = wait_exit(&mut self.link.process) => UpstreamSessionEvent::Exit,
            done = running(&mut self.chore) => UpstreamSessionEvent::Done(done),
            Ok(()) = self.watched.changed() => UpstreamSessionEvent::WatchedChanged,
            () = tokio::time::sleep_until(wake.into()) => UpstreamSessionEvent::Time,
        };
        if matches!(happening, UpstreamSessionEvent::Done(_)) {
            self.chore = None;
        }
        happening
    }

    /// No task starts while another runs; reported problems expire by themselves.
    fn wake_at(&mut self, now: Instant) -> Instant {
        let fading = now + garbage::WINDOW / 4;
        if self.chore.is_some() { fading } else { self.agenda.wake_at().min(fading) }
    }

    fn show(&mut self, shared: &UpstreamShared, life: &RestartState) {
        let tools = life.listing.tools.len();
        let breaker = match self.live.limiter.breaker() {
            BreakerState::Closed => None,
            BreakerState::Open => Some("circuit breaker open: too many recent calls failed"),
            BreakerState::HalfOpen => Some("circuit breaker half-open: trying one call"),
        };
        let garbage = self.garbage.trouble(shared.clock.now());
        let troubles = [breaker.map(str::to_owned), garbage, self.listing_trouble.clone()];
        let troubles: Vec<String> = troubles.into_iter().flatten().collect();
        let facts = self.live.connection.facts();
        let (state, reason) = if troubles.is_empty() {
            (UpstreamState::Ready, "in service".to_owned())
        } else {
            (UpstreamState::Degraded, troubles.join("; "))
        };
        let pid = self.link.process.as_ref().map(ChildProcess::id);
        let now = shared.status();
        let unchanged = now.state == state
            && now.reason == reason
            && (now.tools, now.pid, now.revision) == (tools, pid, Some(facts.revision));
        if unchanged {
            return;
        }
        shared.set(state, &reason, |status| {
            status.tools = tools;
            status.restarts = life.restarts();
            status.pid = pid;
            status.revision = Some(facts.revision);
            if let Some(trouble) = troubles.first() {
                status.last_error = Some(trouble.clone());
            }
        });
    }
}

async fn watch_changes(
    connection: SharedConnection,
    resources: Vec<String>,
) -> ConnectionTaskResult {
    match tokio::time::timeout(WATCH_TIMEOUT, connection.watch(&resources)).await {
        Ok(Ok(())) => {}
        // The lists are read again periodically anyway.
        Ok(Err(error)) => debug!(%error, "cannot subscribe to changes"),
        Err(_) => debug!("no answer to the subscription to changes"),
    }
    ConnectionTaskResult::Watched
}

async fn wait_exit(process: &mut Option<ChildProcess>) {
    match process {
        Some(process) => {
            process.wait_exit().await;
        }
        None => std::future::pending().await,
    }
}

async fn running(chore: &mut Option<ConnectionTaskFuture>) -> ConnectionTaskResult {
    match chore {
        Some(chore) => chore.await,
        None => std::future::pending().await,
    }
}
