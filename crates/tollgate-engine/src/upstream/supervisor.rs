//! Owns the life of one server: starts it, keeps it, starts it again. One task per server.
//! [`Life`] and the agenda decide; what it is told to do comes as orders from the handle.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tollgate_core::catalog::Listing;
use tracing::warn;

use super::agenda::Nature;
use super::connect::{Connector, Link, Trouble};
use super::life::{Fall, Life};
use super::listing::{self, Listed};
use super::mailbox::Mailbox;
use super::process;
use super::shared::{Prospect, Shared};
use super::stored::Stored;
use super::{Change, State, Update, Updates};
use crate::backend::Place;
use crate::settings::Slots;

/// A call to a server that is away brings the next try forward, but not below this.
const SOONEST_TRY: Duration = Duration::from_millis(250);
/// How long a connection may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(1);

/// What the handle asks for. The reply comes when it is done.
pub(super) enum Order {
    /// Somebody wants to use the server.
    Wake,
    Restart(oneshot::Sender<()>),
    Stop(oneshot::Sender<()>),
}

pub(super) struct Supervisor {
    pub(super) shared: Arc<Shared>,
    pub(super) connector: Arc<dyn Connector>,
    pub(super) orders: mpsc::Receiver<Order>,
    pub(super) updates: Updates,
    /// Of a lazy server: where its last listing is.
    pub(super) stored: Option<Stored>,
    pub(super) life: Life,
    pub(super) slots: Slots,
    pub(super) place: Arc<Place>,
}

/// What comes next.
#[derive(Debug)]
pub(super) enum Next {
    Try,
    /// Wait so long, or for an order.
    Rest(Option<Duration>),
    End(Option<oneshot::Sender<()>>),
}

/// Connected and listed.
pub(super) struct Up {
    pub(super) link: Link,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) listed: Listed,
}

/// An order that ends what is going on.
#[derive(Debug)]
pub(super) enum Interruption {
    Restart(oneshot::Sender<()>),
    Stop(Option<oneshot::Sender<()>>),
}

/// Waits for such an order. Cancel-safe.
pub(super) async fn interruption(orders: &mut mpsc::Receiver<Order>) -> Interruption {
    loop {
        match orders.recv().await {
            // Whoever is being started or in service is awake.
            Some(Order::Wake) => {}
            Some(Order::Restart(reply)) => return Interruption::Restart(reply),
            Some(Order::Stop(reply)) => return Interruption::Stop(Some(reply)),
            None => return Interruption::Stop(None),
        }
    }
}

impl Supervisor {
    pub(super) async fn run(mut self) {
        let mut next = self.begin().await;
        loop {
            next = match next {
                Next::Try => self.attempt().await,
                Next::Rest(pause) => self.rest(pause).await,
                Next::End(reply) => {
                    self.shared.expect(Prospect::Never);
                    self.shared.set(State::Offline, "stopped", |status| status.pid = None);
                    if let Some(reply) = reply {
                        let _ = reply.send(());
                    }
                    return;
                }
            };
        }
    }

    /// A lazy server whose tools are known sleeps until it is used. One whose tools are not known
    /// is started like any other: there is no other way to learn them.
    async fn begin(&mut self) -> Next {
        let Some(stored) = self.stored.clone() else {
            return Next::Try;
        };
        let Ok(Some(listing)) = tokio::task::spawn_blocking(move || stored.load()).await else {
            return Next::Try;
        };
        let tools = listing.tools.len();
        self.publish(listing).await;
        self.shared.set(State::Ready, "asleep; starts on first use", |it| it.tools = tools);
        Next::Rest(None)
    }

    async fn rest(&mut self, pause: Option<Duration>) -> Next {
        let since = self.shared.clock.now();
        let mut pause = pause;
        loop {
            let until = pause.map(|pause| since + pause);
            self.shared.expect(Prospect::of(until));
            let timer = async {
                match until {
                    Some(until) => tokio::time::sleep_until(until.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = timer => return Next::Try,
                order = self.orders.recv() => match order {
                    None => return Next::End(None),
                    Some(Order::Stop(reply)) => return Next::End(Some(reply)),
                    Some(Order::Restart(reply)) => return self.fresh_start(reply),
                    Some(Order::Wake) => pause = self.woken(pause),
                },
            }
        }
    }

    /// Use wakes a sleeper and hastens the return of a remote server; a child that crashed keeps
    /// to its pause.
    fn woken(&self, pause: Option<Duration>) -> Option<Duration> {
        let asleep = pause.is_none() && self.life.present;
        match (asleep, pause, self.connector.nature()) {
            (true, _, _) => Some(Duration::ZERO),
            (false, Some(pause), Nature::Remote) => Some(pause.min(SOONEST_TRY)),
            (false, pause, _) => pause,
        }
    }

    fn fresh_start(&mut self, reply: oneshot::Sender<()>) -> Next {
        self.life.forget();
        // Seen before the reply, so that who asked does not take the old state for the new.
        self.shared.set(State::Starting, "starting", |_| {});
        let _ = reply.send(());
        Next::Try
    }

    async fn attempt(&mut self) -> Next {
        self.life.start();
        let restarts = self.life.restarts();
        self.shared.expect(Prospect::Soon);
        if !self.life.is_retried_quietly() {
            self.shared.set(State::Starting, "starting", |status| status.restarts = restarts);
        }
        let coming = self.bring_up();
        let came = tokio::select! {
            came = coming => came,
            interruption = interruption(&mut self.orders) => {
                return self.interrupted(interruption).await;
            }
        };
        match came {
            Ok(up) => self.in_service(up).await,
            Err(trouble) => self.down(trouble, Duration::ZERO).await,
        }
    }

    pub(super) async fn interrupted(&mut self, interruption: Interruption) -> Next {
        self.withdraw().await;
        match interruption {
            Interruption::Restart(reply) => self.fresh_start(reply),
            Interruption::Stop(reply) => Next::End(reply),
        }
    }

    /// Connects and lists. Holds nothing of `self`, so that orders can be heard meanwhile.
    fn bring_up(&self) -> impl Future<Output = Result<Up, Trouble>> + use<> {
        let mailbox = Arc::new(Mailbox::new(Arc::clone(&self.shared.log)));
        let connector = Arc::clone(&self.connector);
        let before = Arc::clone(&self.life.listing);
        async move {
            let link = connector.connect(Arc::<Mailbox>::clone(&mailbox)).await?;
            match listing::list(&*link.connection, &before).await {
                Ok(listed) => Ok(Up { link, mailbox, listed }),
                Err(reason) => {
                    let ended = part(link).await;
                    let reason = ended.map_or(reason, |ended| ended.to_string());
                    Err(Trouble::down(format!("{reason}, while it was asked for its tools")))
                }
            }
        }
    }

    /// Tells everybody, and decides when to try again.
    pub(super) async fn down(&mut self, trouble: Trouble, up: Duration) -> Next {
        self.withdraw().await;
        let Trouble { reason, kind } = trouble;
        let fall = Fall { at: self.shared.clock.now(), up, kind };
        let (state, rest) = self.life.fell(&fall, rand::random());
        self.shared.expect(Prospect::of(rest.map(|rest| fall.at + rest)));
        if self.shared.status().last_error.as_ref() != Some(&reason) {
            warn!(server = %self.shared.server, reason, "server is down");
        }
        self.shared.set(state, &reason, |status| {
            status.last_error = Some(reason.clone());
            status.pid = None;
        });
        Next::Rest(rest)
    }

    /// Tells what the server offers, unless that is known already.
    pub(super) async fn publish(&mut self, listing: Listing) {
        if self.life.present && listing::same(&self.life.listing, &listing) {
            return;
        }
        let listing = Arc::new(listing);
        self.life.listing = Arc::clone(&listing);
        self.life.present = true;
        self.tell(Change::Listed(Arc::clone(&listing))).await;
        self.store(listing).await;
    }

    async fn store(&self, listing: Arc<Listing>) {
        let Some(stored) = self.stored.clone() else {
            return;
        };
        let saved = tokio::task::spawn_blocking(move || stored.save(&listing)).await;
        if let Ok(Err(error)) = saved {
            warn!(server = %self.shared.server, %error, "its listing could not be stored");
        }
    }

    /// Takes the server out of service, if it was in.
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
        // Nobody listens any more only when everything ends.
        let _ = self.updates.send(update).await;
    }
}

/// Says goodbye: first the connection, then the child behind it.
pub(super) async fn part(link: Link) -> Option<process::Ended> {
    let Link { connection, process } = link;
    let _ = tokio::time::timeout(GOODBYE, connection.close()).await;
    drop(connection);
    match process {
        Some(process) => Some(process.stop().await),
        None => None,
    }
}
