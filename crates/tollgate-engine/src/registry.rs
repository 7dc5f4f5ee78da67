//! Keeps the catalogue: takes what servers offer, builds the next snapshot, swaps it in whole.
//! Readers never lock. Knows nothing of connections; servers tell it what changed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tollgate_core::catalog::{Catalog, Inputs, Listing, Offer, Rules};
use tollgate_core::id::ServerId;
use tollgate_core::names::{NamePattern, Owners};
use tollgate_core::trust::Pins;

use crate::charter::Charter;
use crate::clock::Clock;
use crate::meters::Meters;
use crate::notices::Notices;
use crate::owners;
use crate::pins::Book;
use crate::upstream::{Change, Update, Updates};

/// How many updates may wait; servers then wait to tell more.
const QUEUE: usize = 256;
/// Readers that fall behind so far miss updates of resources.
const RESOURCE_QUEUE: usize = 256;

/// Lines that one build may log.
const MOST_NEWS: usize = 20;

mod doubts;
mod generation;

pub use generation::Sight;
pub(crate) use generation::{Generation, Seen};

/// The reading side, shared by everyone.
pub(crate) struct Registry {
    current: ArcSwap<Generation>,
    version: watch::Sender<u64>,
    resources: broadcast::Sender<Arc<str>>,
    orders: mpsc::Sender<Order>,
    book: Arc<Book>,
}

impl Registry {
    pub(crate) fn current(&self) -> arc_swap::Guard<Arc<Generation>> {
        self.current.load()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    pub(crate) fn resource_updates(&self) -> broadcast::Receiver<Arc<str>> {
        self.resources.subscribe()
    }

    /// Waits until all that servers have told so far is in the catalogue.
    pub(crate) async fn flushed(&self) {
        self.order(Order::Flush).await;
    }

    pub(crate) fn book(&self) -> &Book {
        &self.book
    }

    pub(crate) fn pins(&self) -> Arc<Pins> {
        self.book.pins()
    }

    /// Builds the catalogue again, by the pins that there are now; returns once it is there.
    pub(crate) async fn rebuilt(&self) {
        self.order(Order::Rebuild).await;
    }

    /// Swaps in a catalogue by other rules, together with the charter; returns once it is there.
    pub(crate) async fn reform(&self, reform: Reform) {
        self.order(|done| Order::Reform(Box::new(reform), done)).await;
    }

    async fn order(&self, order: impl FnOnce(oneshot::Sender<()>) -> Order) {
        let (done, carried_out) = oneshot::channel();
        if self.orders.send(order(done)).await.is_ok() {
            let _ = carried_out.await;
        }
    }

    fn publish(&self, generation: Generation) {
        let version = generation.catalog.version;
        self.current.store(Arc::new(generation));
        self.version.send_replace(version);
    }
}

/// What the keeper is asked for. It answers when it is done.
enum Order {
    Flush(oneshot::Sender<()>),
    Rebuild(oneshot::Sender<()>),
    Reform(Box<Reform>, oneshot::Sender<()>),
}

/// Another config: what the next catalogue is made by.
pub(crate) struct Reform {
    /// In the order of the config, built-in servers first.
    pub(crate) rules: Vec<Arc<Rules>>,
    pub(crate) charter: Arc<Charter>,
    pub(crate) pattern: NamePattern,
    /// Of servers that need no connection.
    pub(crate) listings: Vec<(ServerId, Listing)>,
    /// Servers that are started again: what they offered is awaited anew.
    pub(crate) outdated: Vec<ServerId>,
}

/// What a registry is made of.
pub(crate) struct Plan {
    /// In the order of the config, built-in servers first.
    pub(crate) rules: Vec<Arc<Rules>>,
    pub(crate) charter: Arc<Charter>,
    pub(crate) pattern: NamePattern,
    /// Where owners of names are remembered; `None` forgets them with the process.
    pub(crate) owners: Option<std::path::PathBuf>,
    /// Says which tier each tool is in.
    pub(crate) meters: Arc<Meters>,
    /// Which definitions are trusted.
    pub(crate) book: Arc<Book>,
    /// Hears of tools that are doubted.
    pub(crate) notices: Notices,
    pub(crate) clock: Arc<dyn Clock>,
}

/// The writing side: one task owns it.
pub(crate) struct Keeper {
    registry: Arc<Registry>,
    updates: mpsc::Receiver<Update>,
    orders: mpsc::Receiver<Order>,
    offers: Vec<Offer>,
    places: HashMap<ServerId, usize>,
    charter: Arc<Charter>,
    pattern: NamePattern,
    owners: Owners,
    owners_file: Option<std::path::PathBuf>,
    build: Build,
    meters: Arc<Meters>,
    moves: watch::Receiver<u64>,
    notices: Notices,
    clock: Arc<dyn Clock>,
    /// Which offers changed since the last catalogue, in that order.
    changed: Vec<usize>,
}

type Build = fn(&Inputs<'_>, &mut Owners) -> Catalog;

/// The queue by which servers tell what they offer.
pub(crate) fn updates() -> (Updates, mpsc::Receiver<Update>) {
    mpsc::channel(QUEUE)
}

/// An empty registry, and the task that fills it with what is heard.
pub(crate) fn registry(plan: Plan, updates: mpsc::Receiver<Update>) -> (Arc<Registry>, Keeper) {
    let charter = plan.charter;
    let empty = Generation::new(Arc::new(Catalog::default()), Arc::clone(&charter));
    let (order, orders) = mpsc::channel(1);
    let registry = Arc::new(Registry {
        current: ArcSwap::from_pointee(empty),
        version: watch::Sender::new(0),
        resources: broadcast::Sender::new(RESOURCE_QUEUE),
        orders: order,
        book: plan.book,
    });
    let offers: Vec<Offer> = plan.rules.into_iter().map(absent).collect();
    let keeper = Keeper {
        registry: Arc::clone(&registry),
        updates,
        orders,
        places: places(&offers),
        offers,
        charter,
        pattern: plan.pattern,
        owners: plan.owners.as_deref().map(owners::load).unwrap_or_default(),
        owners_file: plan.owners,
        build: Catalog::build,
        moves: plan.meters.moves(),
        meters: plan.meters,
        notices: plan.notices,
        clock: plan.clock,
        changed: Vec::new(),
    };
    (registry, keeper)
}

impl Keeper {
    /// Puts in what needs no connection, so that the first snapshot already has it.
    pub(crate) fn offer(&mut self, server: &ServerId, listing: Listing) {
        self.apply(Update { server: server.clone(), change: Change::Listed(Arc::new(listing)) });
    }

    /// Builds a snapshot whenever something changed, until nobody can tell it anything any more.
    pub(crate) async fn run(mut self) {
        loop {
            self.rebuild().await;
            let mut changed = false;
            while !changed {
                let update = tokio::select! {
                    biased;
                    update = self.updates.recv() => update,
                    Ok(()) = self.moves.changed() => {
                        self.retier();
                        continue;
                    }
                    Some(order) = self.orders.recv() => {
                        // Nothing waits, and what came before was published.
                        self.carry_out(order).await;
                        continue;
                    }
                };
                let Some(update) = update else { return };
                changed = self.apply(update);
                // Servers that start together are merged into one snapshot.
                while let Ok(update) = self.updates.try_recv() {
                    changed |= self.apply(update);
                }
            }
        }
    }

    async fn carry_out(&mut self, order: Order) {
        let done = match order {
            Order::Flush(done) => done,
            Order::Rebuild(done) => {
                self.rebuild().await;
                done
            }
            Order::Reform(reform, done) => {
                self.reform(*reform);
                self.rebuild().await;
                done
            }
        };
        let _ = done.send(());
    }

    /// Servers that stay keep what they told; new ones are awaited, also where one that is built in had the name.
    fn reform(&mut self, reform: Reform) {
        let mut known: HashMap<ServerId, Offer> =
            self.offers.drain(..).map(|offer| (offer.rules.server.clone(), offer)).collect();
        let stays = |offer: &Offer, rules: &Rules| {
            offer.rules.origin == rules.origin && !reform.outdated.contains(&rules.server)
        };
        let offer = |rules: Arc<Rules>| match known.remove(&rules.server) {
            Some(offer) if stays(&offer, &rules) => Offer { rules, ..offer },
            Some(_) | None => absent(rules),
        };
        self.offers = reform.rules.into_iter().map(offer).collect();
        self.places = places(&self.offers);
        self.changed.clear();
        self.charter = reform.charter;
        self.pattern = reform.pattern;
        for (server, listing) in reform.listings {
            self.offer(&server, listing);
        }
    }

    /// Whether the catalogue has to be built again.
    fn apply(&mut self, update: Update) -> bool {
        let Some(&at) = self.places.get(&update.server) else { return false };
        let offer = &mut self.offers[at];
        match update.change {
            Change::Listed(listing) => {
                offer.listing = listing;
                offer.present = true;
                self.changed.retain(|earlier| *earlier != at);
                self.changed.push(at);
                true
            }
            Change::Gone => std::mem::replace(&mut offer.present, false),
            Change::ResourceUpdated(uri) => {
                // Nobody listening is fine.
                let _ = self.registry.resources.send(uri.into());
                false
            }
        }
    }

    /// A listing that cannot be built is left out; everybody else's tools stay.
    async fn rebuild(&mut self) {
        let suspects = std::mem::take(&mut self.changed);
        if self.build().await {
            return;
        }
        for &at in suspects.iter().rev().filter(|_| suspects.len() > 1) {
            let was = std::mem::replace(&mut self.offers[at].present, false);
            if self.build().await {
                return self.left_out(at);
            }
            self.offers[at].present = was;
        }
        for at in suspects {
            self.offers[at].present = false;
            self.left_out(at);
        }
        self.build().await;
    }

    /// Tools moved: the same catalogue, seen from other tiers.
    fn retier(&self) {
        let catalog = Arc::clone(&self.registry.current().catalog);
        let tiers = self.meters.tiers(&catalog.tools);
        if tiers != catalog.tiers {
            let next = catalog.in_tiers(catalog.version + 1, tiers);
            self.registry.publish(Generation::new(Arc::new(next), Arc::clone(&self.charter)));
        }
    }

    fn left_out(&self, at: usize) {
        let server = &self.offers[at].rules.server;
        tracing::error!(%server, "left out: no catalogue can be built with what the server lists");
    }

    /// Whether there is a new catalogue. Compiling schemas takes its time, and strangers wrote
    /// them: not on a thread that serves calls, and a panic leaves the old catalogue.
    async fn build(&mut self) -> bool {
        let previous = Arc::clone(&self.registry.current().catalog);
        let (offers, pattern) = (self.offers.clone(), self.pattern.clone());
        let (mut owners, build) = (self.owners.clone(), self.build);
        let meters = Arc::clone(&self.meters);
        let before = Arc::clone(&previous);
        let (book, at) = (Arc::clone(&self.registry.book), self.clock.wall());
        let built = tokio::task::spawn_blocking(move || {
            let pins = book.pins();
            let inputs = Inputs {
                version: previous.version + 1,
                offers: &offers,
                pattern: &pattern,
                previous: Some(&previous),
                pins: &pins,
            };
            let mut catalog = build(&inputs, &mut owners);
            if !catalog.first_uses.is_empty() {
                book.first_uses(&catalog.first_uses, at);
            }
            catalog.tiers = meters.know(&catalog.tools);
            (catalog, owners)
        });
        let Ok((catalog, owners)) = built.await else { return false };
        if self.owners != owners {
            self.owners = owners;
            self.remember_owners().await;
        }
        for line in news(&before, &catalog) {
            tracing::warn!("{line}");
        }
        for notice in doubts::notices(&before, &catalog) {
            self.notices.tell(notice);
        }
        self.registry.publish(Generation::new(Arc::new(catalog), Arc::clone(&self.charter)));
        true
    }

    async fn remember_owners(&self) {
        let Some(file) = self.owners_file.clone() else { return };
        let owners = self.owners.clone();
        let saved = tokio::task::spawn_blocking(move || owners::save(&file, &owners));
        // A panic in there is told by the panic itself; the names are still known to us.
        let _ = saved.await;
    }
}

/// What is to be said once: problems, and tools whose definition changed under the same name.
fn news(previous: &Catalog, next: &Catalog) -> Vec<String> {
    let known: HashSet<String> = previous.problems.iter().map(ToString::to_string).collect();
    let problems = next.problems.iter().map(ToString::to_string);
    let changed = next.tools.iter().filter(|tool| {
        let known = previous.tool(tool.exposed.as_str());
        known.is_some_and(|known| known.id == tool.id && known.hash != tool.hash)
    });
    let changed = changed.map(|tool| format!("`{}`: the server changed this tool", tool.id));
    let mut all = problems.filter(|problem| !known.contains(problem)).chain(changed);
    let mut lines: Vec<String> = all.by_ref().take(MOST_NEWS).collect();
    match all.count() {
        0 => {}
        more => lines.push(format!("and {more} more of the kind")),
    }
    lines
}

fn absent(rules: Arc<Rules>) -> Offer {
    Offer { rules, listing: Arc::default(), present: false }
}

fn places(offers: &[Offer]) -> HashMap<ServerId, usize> {
    let place = |(at, offer): (usize, &Offer)| (offer.rules.server.clone(), at);
    offers.iter().enumerate().map(place).collect()
}

#[cfg(test)]
mod tests;
