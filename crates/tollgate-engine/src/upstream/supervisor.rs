//! The supervisor of one server: starts, watches and restarts it. One task per server.
//! [`RestartState`] and the connection schedule decide; commands come from the handle.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tollgate_core::catalog::ServerListing;
use tracing::warn;

use super::connect::{Connector, ServerDownError, ServerLink};
use super::connection_schedule::UpstreamKind;
use super::listing::{self, ListingReport};
use super::listing_cache::ListingCache;
use super::mailbox::Mailbox;
use super::process;
use super::restart_state::{RestartState, ServerOutage};
use super::upstream_shared::{ReturnForecast, UpstreamShared};
use super::{Change, Update, UpstreamState, UpstreamUpdateSender};
use crate::backend::PeerAddress;
use crate::settings::ConcurrencySettings;

/// A call to a server that is down brings the next attempt forward, but not below this.
const SOONEST_TRY: Duration = Duration::from_millis(250);
/// How long closing a connection may take.
const GOODBYE: Duration = Duration::from_secs(1);

/// Commands of the handle. The reply is sent when a command is done.
pub(super) enum SupervisorCommand {
    /// A caller wants to use the server.
    Wake,
    Restart(oneshot::Sender<()>),
    Stop(oneshot::Sender<()>),
}

pub(super) struct Supervisor {
    pub(super) shared: Arc<UpstreamShared>,
    pub(super) connector: Arc<dyn Connector>,
    pub(super) orders: mpsc::Receiver<SupervisorCommand>,
    pub(super) updates: UpstreamUpdateSender,
    /// The listing cache of a lazy server.
    pub(super) stored: Option<ListingCache>,
    pub(super) life: RestartState,
    pub(super) slots: ConcurrencySettings,
    pub(super) place: Arc<PeerAddress>,
}

/// What comes next.
#[derive(Debug)]
pub(super) enum SupervisorNext {
    Try,
    /// Wait this long, or for a command.
    Rest(Option<Duration>),
    End(Option<oneshot::Sender<()>>),
}

/// Connected and listed.
pub(super) struct ConnectedUpstream {
    pub(super) link: ServerLink,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) listed: ListingReport,
}

/// A command that ends the current phase.
#[derive(Debug)]
pub(super) enum Interruption {
    Restart(oneshot::Sender<()>),
    Stop(Option<oneshot::Sender<()>>),
}

/// Waits for such a command. Cancel-safe.
pub(super) async fn interruption(orders: &mut mpsc::Receiver<SupervisorCommand>) -> Interruption {
    loop {
        match orders.recv().await {
            // A server that is starting or in service is awake already.
            Some(SupervisorCommand::Wake) => {}
            Some(SupervisorCommand::Restart(reply)) => return Interruption::Restart(reply),
            Some(SupervisorCommand::Stop(reply)) => return Interruption::Stop(Some(reply)),
            None => return Interruption::Stop(None),
        }
    }
}

impl Supervisor {
    pub(super) async fn run(mut self) {
        let mut next = self.begin().await;
        loop {
            next = match next {
                SupervisorNext::Try => self.attempt().await,
                SupervisorNext::Rest(pause) => self.rest(pause).await,
                SupervisorNext::End(reply) => {
                    self.shared.expect(ReturnForecast::Never);
                    self.shared.set(UpstreamState::Offline, "stopped", |status| status.pid = None);
                    if let Some(reply) = reply {
                        let _ = reply.send(());
                    }
                    return;
                }
            };
        }
    }

    /// A lazy server with a cached listing sleeps until it is used. Without one it is started like
    /// any other: there is no other way to learn its tools.
    async fn begin(&mut self) -> SupervisorNext {
        let Some(stored) = self.stored.clone() else {
            return SupervisorNext::Try;
        };
        let Ok(Some(listing)) = tokio::task::spawn_blocking(move || stored.load()).await else {
            return SupervisorNext::Try;
        };
        let tools = listing.tools.len();
        self.publish(listing).await;
        self.shared.set(UpstreamState::Ready, "idle; starts on first use", |it| it.tools = tools);
        SupervisorNext::Rest(None)
    }

    async fn rest(&mut self, pause: Option<Duration>) -> SupervisorNext {
        let since = self.shared.clock.now();
        let mut pause = pause;
        loop {
            let until = pause.map(|pause| since + pause);
            self.shared.expect(ReturnForecast::of(until));
            let timer = async {
                match until {
                    Some(until) => tokio::time::sleep_until(until.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = timer => return SupervisorNext::Try,
                order = self.orders.recv() => match order {
                    None => return SupervisorNext::End(None),
                    Some(SupervisorCommand::Stop(reply)) => return SupervisorNext::End(Some(reply)),
                    Some(SupervisorCommand::Restart(reply)) => return self.fresh_start(reply),
                    Some(SupervisorCommand::Wake) => pause = self.pause_after_wake(pause),
                },
            }
        }
    }

    /// A call wakes a sleeping server and brings forward the next attempt at a remote one; a
    /// crashed child keeps its backoff.
    fn pause_after_wake(&self, pause: Option<Duration>) -> Option<Duration> {
        let asleep = pause.is_none() && self.life.present;
        match (asleep, pause, self.connector.nature()) {
            (true, _, _) => Some(Duration::ZERO),
            (false, Some(pause), UpstreamKind::Remote) => Some(pause.min(SOONEST_TRY)),
            (false, pause, _) => pause,
        }
    }

    fn fresh_start(&mut self, reply: oneshot::Sender<()>) -> SupervisorNext {
        self.life.forget();
        // Set before the reply, so that the caller does not see the old state.
        self.shared.set(UpstreamState::Starting, "starting", |_| {});
        let _ = reply.send(());
        SupervisorNext::Try
    }

    async fn attempt(&mut self) -> SupervisorNext {
        self.life.start();
        let restarts = self.life.restarts();
        self.shared.expect(ReturnForecast::Soon);
        if !self.life.is_retried_quietly() {
            self.shared
                .set(UpstreamState::Starting, "starting", |status| status.restarts = restarts);
        }
        let coming = self.bring_up();
        let event = tokio::select! {
            event = coming => event,
            interruption = interruption(&mut self.orders) => {
                return self.handle_interruption(interruption).await;
            }
        };
        match event {
            Ok(up) => self.in_service(up).await,
            Err(trouble) => self.down(trouble, Duration::ZERO).await,
        }
    }

    pub(super) async fn handle_interruption(
        &mut self,
        interruption: Interruption,
    ) -> SupervisorNext {
        self.withdraw().await;
        match interruption {
            Interruption::Restart(reply) => self.fresh_start(reply),
            Interruption::Stop(reply) => SupervisorNext::End(reply),
        }
    }

    /// Connects and lists. Borrows nothing from `self`, so that commands can be received meanwhile.
    fn bring_up(&self) -> impl Future<Output = Result<ConnectedUpstream, ServerDownError>> + use<> {
        let mailbox = Arc::new(Mailbox::new(Arc::clone(&self.shared.log)));
        let connector = Arc::clone(&self.connector);
        let before = Arc::clone(&self.life.listing);
        async move {
            let link = connector.connect(Arc::<Mailbox>::clone(&mailbox)).await?;
            match listing::list(&*link.connection, &before).await {
                Ok(listed) => Ok(ConnectedUpstream { link, mailbox, listed }),
                Err(error) => {
                    let ended = close_link(link).await;
                    let reason = ended.map_or(error.to_string(), |ended| ended.to_string());
                    Err(ServerDownError::down(format!(
                        "{reason}, while its tools were being listed"
                    )))
                }
            }
        }
    }

    /// Publishes the outage, and decides when to retry.
    pub(super) async fn down(&mut self, trouble: ServerDownError, up: Duration) -> SupervisorNext {
        self.withdraw().await;
        let ServerDownError { reason, kind } = trouble;
        let fall = ServerOutage { at: self.shared.clock.now(), up, kind };
        let (state, rest) = self.life.note_down(&fall, rand::random());
        self.shared.expect(ReturnForecast::of(rest.map(|rest| fall.at + rest)));
        if self.shared.status().last_error.as_ref() != Some(&reason) {
            warn!(server = %self.shared.server, reason, "server is down");
        }
        self.shared.set(state, &reason, |status| {
            status.last_error = Some(reason.clone());
            status.pid = None;
        });
        SupervisorNext::Rest(rest)
    }

    /// Publishes the listing, unless it is unchanged.
    pub(super) async fn publish(&mut self, listing: ServerListing) {
        if self.life.present && listing::same(&self.life.listing, &listing) {
            return;
        }
        let listing = Arc::new(listing);
        self.life.listing = Arc::clone(&listing);
        self.life.present = true;
        self.tell(Change::Listed(Arc::clone(&listing))).await;
        self.store(listing).await;
    }

    async fn store(&self, listing: Arc<ServerListing>) {
        let Some(stored) = self.stored.clone() else {
            return;
        };
        let saved = tokio::task::spawn_blocking(move || stored.save(&listing)).await;
        if let Ok(Err(error)) = saved {
            warn!(server = %self.shared.server, %error, "cannot save its tool list");
        }
    }

    /// Takes the server out of service, if it was in service.
    pub(super) async fn withdraw(&mut self) {
        self.shared.live.store(None);
        if std::mem::take(&mut self.life.present) {
            self.tell(Change::Gone).await;
        }
    }

    pub(super) async fn tell(&self, change: Change) {
        if self.shared.muted.load(Ordering::Acquire) {
            return;
        }
        let update = Update { server: self.shared.server.clone(), change };
        // The receiver is gone only during shutdown.
        let _ = self.updates.send(update).await;
    }
}

/// Closes the connection first, then stops the child.
pub(super) async fn close_link(link: ServerLink) -> Option<process::ExitReport> {
    let ServerLink { connection, process } = link;
    let _ = tokio::time::timeout(GOODBYE, connection.close()).await;
    drop(connection);
    match process {
        Some(process) => Some(process.stop().await),
        None => None,
    }
}
