//! A server in service: its lists are kept fresh, its health is watched, until it ends.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tollgate_core::breaker::Standing;
use tollgate_core::catalog::Listing;
use tollgate_mcp::client::SharedConnection;
use tracing::debug;

use super::agenda::{Agenda, Chore};
use super::connect::{Link, Trouble};
use super::garbage::{self, Garbage};
use super::life::Life;
use super::listing::{self, Listed};
use super::ping::{Unanswered, ping};
use super::process::Process;
use super::shared::{Live, Prospect, Shared};
use super::supervisor::{Interruption, Next, Supervisor, Up, interruption, part};
use super::turnstile::Turnstile;
use super::{Change, State};

/// The end of a child and the end of its pipe come together; the second may be this late.
const TOGETHER: Duration = Duration::from_millis(200);
/// How long a server may take to agree to tell us of changes.
const WATCH_PATIENCE: Duration = Duration::from_secs(30);

struct Session {
    live: Arc<Live>,
    link: Link,
    agenda: Agenda,
    chore: Option<Running>,
    watched: watch::Receiver<Vec<String>>,
    garbage: Garbage,
    listing_trouble: Option<String>,
}

type Running = Pin<Box<dyn Future<Output = Done> + Send>>;

enum Done {
    Listed(Result<Listed, String>),
    Watched,
    Pinged(Result<(), Unanswered>),
}

/// What there is to react to.
enum Happening {
    Interruption(Interruption),
    Mail,
    Exit,
    Done(Done),
    WatchedChanged,
    Time,
}

enum Ended {
    Lost(String),
    Exited,
    Interrupted(Interruption),
}

impl Supervisor {
    pub(super) async fn in_service(&mut self, up: Up) -> Next {
        let Up { link, mailbox, listed } = up;
        let since = self.shared.clock.now();
        let connection = SharedConnection::clone(&link.connection);
        let clock = Arc::clone(&self.shared.clock);
        let turnstile = Turnstile::new(clock, Arc::clone(&mailbox), self.slots);
        let heard = Arc::clone(&self.shared.heard);
        heard.note();
        let place = Arc::clone(&self.place);
        let live = Arc::new(Live { connection, mailbox, turnstile, heard, place });
        let mut session = Session {
            live: Arc::clone(&live),
            link,
            agenda: Agenda::new(self.connector.nature(), since),
            chore: None,
            watched: self.shared.watched.subscribe(),
            garbage: Garbage::default(),
            listing_trouble: listed.trouble,
        };
        self.life.arrived();
        self.shared.live.store(Some(live));
        self.publish(listed.listing).await;
        let ended = self.serve(&mut session).await;

        let (reason, interruption) = match ended {
            Ended::Lost(reason) => (Some(reason), None),
            Ended::Exited => (None, None),
            Ended::Interrupted(it) => (Some("stopping".to_owned()), Some(it)),
        };
        self.shared.expect(Prospect::Soon);
        self.withdraw().await;
        let preliminary = reason.as_deref().unwrap_or("its process ended");
        self.shared.set(State::Offline, preliminary, |_| {});
        let process = part(session.link).await;
        if let Some(interruption) = interruption {
            return self.interrupted(interruption).await;
        }
        let process = process.map(|ended| ended.to_string());
        let reason = reason.or(process).unwrap_or_else(|| "ended".to_owned());
        let up = self.shared.clock.now().duration_since(since);
        self.down(Trouble::down(reason), up).await
    }

    async fn serve(&mut self, session: &mut Session) -> Ended {
        loop {
            let now = self.shared.clock.now();
            session.take_up(now, &self.life.listing);
            session.show(&self.shared, &self.life);
            let ended = match session.next(&mut self.orders, now).await {
                Happening::Interruption(it) => Some(Ended::Interrupted(it)),
                Happening::Exit => {
                    // What it said last may still be on its way.
                    let _ = tokio::time::timeout(TOGETHER, session.live.mailbox.arrived()).await;
                    Some(Ended::Exited)
                }
                Happening::Mail => self.read_mail(session).await,
                Happening::Done(done) => self.done(session, done).await,
                Happening::WatchedChanged => {
                    session.agenda.watch();
                    None
                }
                Happening::Time => None,
            };
            if let Some(ended) = ended {
                return ended;
            }
        }
    }

    async fn read_mail(&mut self, session: &mut Session) -> Option<Ended> {
        let mail = session.live.mailbox.take();
        let now = self.shared.clock.now();
        for uri in mail.updated {
            self.tell(Change::ResourceUpdated(uri)).await;
        }
        if mail.changed {
            session.agenda.changed(now);
        }
        if mail.late > 0 {
            self.shared.count_late(mail.late);
        }
        if mail.garbage > 0 {
            session.garbage.add(now, mail.garbage);
        }
        if mail.doubts > 0 {
            session.agenda.doubt(now);
        }
        let reason = mail.closed?;
        let exit = tokio::time::timeout(TOGETHER, exited(&mut session.link.process)).await;
        Some(if exit.is_ok() { Ended::Exited } else { Ended::Lost(reason) })
    }

    async fn done(&mut self, session: &mut Session, done: Done) -> Option<Ended> {
        match done {
            Done::Listed(Ok(Listed { listing, trouble })) => {
                session.listing_trouble = trouble;
                self.shared.heard.note();
                self.publish(listing).await;
            }
            Done::Listed(Err(reason)) => return Some(Ended::Lost(reason)),
            // It may only be busy: a program that waits in a tool hears nothing meanwhile.
            Done::Pinged(Err(Unanswered::Silence)) if !session.agenda.is_doubted() => {
                session.agenda.doubt(self.shared.clock.now());
            }
            Done::Pinged(Err(why)) => return Some(Ended::Lost(why.to_string())),
            Done::Pinged(Ok(())) => {
                self.shared.heard.note();
                let calls = session.live.turnstile.used();
                session.agenda.pinged(self.shared.clock.now(), calls);
            }
            Done::Watched => {}
        }
        None
    }
}

impl Session {
    /// Begins the next chore, unless one is running.
    fn take_up(&mut self, now: Instant, listing: &Arc<Listing>) {
        if self.chore.is_some() {
            return;
        }
        let connection = SharedConnection::clone(&self.link.connection);
        self.chore = self.agenda.due(now).map(|chore| -> Running {
            match chore {
                Chore::Ping => Box::pin(async move { Done::Pinged(ping(&*connection).await) }),
                Chore::List => {
                    let before = Arc::clone(listing);
                    Box::pin(
                        async move { Done::Listed(listing::list(&*connection, &before).await) },
                    )
                }
                Chore::Watch => {
                    let resources = self.watched.borrow_and_update().clone();
                    Box::pin(watch_changes(connection, resources))
                }
            }
        });
    }

    async fn next(
        &mut self,
        orders: &mut tokio::sync::mpsc::Receiver<super::supervisor::Order>,
        now: Instant,
    ) -> Happening {
        let wake = self.wake_at(now);
        let happening = tokio::select! {
            it = interruption(orders) => Happening::Interruption(it),
            () = self.live.mailbox.arrived() => Happening::Mail,
            () = exited(&mut self.link.process) => Happening::Exit,
            done = running(&mut self.chore) => Happening::Done(done),
            Ok(()) = self.watched.changed() => Happening::WatchedChanged,
            () = tokio::time::sleep_until(wake.into()) => Happening::Time,
        };
        if matches!(happening, Happening::Done(_)) {
            self.chore = None;
        }
        happening
    }

    /// Nothing new begins while a chore runs; troubles fade by themselves.
    fn wake_at(&mut self, now: Instant) -> Instant {
        let fading = now + garbage::WINDOW / 4;
        if self.chore.is_some() { fading } else { self.agenda.wake_at().min(fading) }
    }

    fn show(&mut self, shared: &Shared, life: &Life) {
        let tools = life.listing.tools.len();
        let breaker = match self.live.turnstile.breaker() {
            Standing::Closed => None,
            Standing::Open => Some("too many calls failed lately; more are refused for now"),
            Standing::HalfOpen => Some("too many calls failed lately; trying one"),
        };
        let garbage = self.garbage.trouble(shared.clock.now());
        let troubles = [breaker.map(str::to_owned), garbage, self.listing_trouble.clone()];
        let troubles: Vec<String> = troubles.into_iter().flatten().collect();
        let facts = self.live.connection.facts();
        let (state, reason) = if troubles.is_empty() {
            (State::Ready, "in service".to_owned())
        } else {
            (State::Degraded, troubles.join("; "))
        };
        let pid = self.link.process.as_ref().map(Process::id);
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

async fn watch_changes(connection: SharedConnection, resources: Vec<String>) -> Done {
    match tokio::time::timeout(WATCH_PATIENCE, connection.watch(&resources)).await {
        Ok(Ok(())) => {}
        // The lists are read again from time to time in any case.
        Ok(Err(error)) => debug!(%error, "changes cannot be watched"),
        Err(_) => debug!("no answer to the wish to watch changes"),
    }
    Done::Watched
}

async fn exited(process: &mut Option<Process>) {
    match process {
        Some(process) => {
            process.exited().await;
        }
        None => std::future::pending().await,
    }
}

async fn running(chore: &mut Option<Running>) -> Done {
    match chore {
        Some(chore) => chore.await,
        None => std::future::pending().await,
    }
}
