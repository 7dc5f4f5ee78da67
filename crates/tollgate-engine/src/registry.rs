//! The catalogue registry: takes the listings of servers, builds the next snapshot, and swaps it in
//! as a whole. Readers never lock. Independent of connections; servers send it their updates.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tollgate_core::catalog::{Catalog, CatalogInputs, ServerListing, ServerOffer, ServerRules};
use tollgate_core::id::ServerId;
use tollgate_core::names::{NameOwners, NamePattern};
use tollgate_core::trust::ToolPins;

use crate::clock::Clock;
use crate::meters::ToolMeters;
use crate::notices::Notices;
use crate::owners;
use crate::pins::PinStore;
use crate::policy_snapshot::PolicySnapshot;
use crate::upstream::{Change, Update, UpstreamUpdateSender};

/// Updates that may be queued; then servers wait (back-pressure).
const QUEUE: usize = 256;
/// Readers that lag further behind miss resource updates.
const RESOURCE_QUEUE: usize = 256;

/// Lines that one build may log.
const MAX_LOGGED_CHANGES: usize = 20;

mod generation;
mod quarantine_notices;

pub use generation::ToolVisibility;
pub(crate) use generation::{CatalogGeneration, ViewQuery};

/// The read side, shared by all.
pub(crate) struct CatalogRegistry {
    current: ArcSwap<CatalogGeneration>,
    version: watch::Sender<u64>,
    resources: broadcast::Sender<Arc<str>>,
    orders: mpsc::Sender<RegistryCommand>,
    book: Arc<PinStore>,
}

impl CatalogRegistry {
    pub(crate) fn current(&self) -> arc_swap::Guard<Arc<CatalogGeneration>> {
        self.current.load()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    pub(crate) fn resource_updates(&self) -> broadcast::Receiver<Arc<str>> {
        self.resources.subscribe()
    }

    /// Waits until all updates sent so far are in the catalogue.
    pub(crate) async fn flush(&self) {
        self.order(RegistryCommand::Flush).await;
    }

    pub(crate) fn pin_store(&self) -> &PinStore {
        &self.book
    }

    pub(crate) fn pins(&self) -> Arc<ToolPins> {
        self.book.pins()
    }

    /// Rebuilds the catalogue with the current pins; returns once it is published.
    pub(crate) async fn rebuild(&self) {
        self.order(RegistryCommand::Rebuild).await;
    }

    /// Swaps in a catalogue with other rules, together with the policy snapshot; returns once it is
    /// published.
    pub(crate) async fn reconfigure(&self, change: RegistryReconfiguration) {
        self.order(|done| RegistryCommand::Reconfigure(Box::new(change), done)).await;
    }

    async fn order(&self, order: impl FnOnce(oneshot::Sender<()>) -> RegistryCommand) {
        let (done, carried_out) = oneshot::channel();
        if self.orders.send(order(done)).await.is_ok() {
            let _ = carried_out.await;
        }
    }

    fn publish(&self, generation: CatalogGeneration) {
        let version = generation.catalog.version;
        self.current.store(Arc::new(generation));
        self.version.send_replace(version);
    }
}

/// Commands to the registry actor, which replies when done.
enum RegistryCommand {
    Flush(oneshot::Sender<()>),
    Rebuild(oneshot::Sender<()>),
    Reconfigure(Box<RegistryReconfiguration>, oneshot::Sender<()>),
}

/// A new configuration for the next catalogue.
pub(crate) struct RegistryReconfiguration {
    /// In the order of the config, built-in servers first.
    pub(crate) rules: Vec<Arc<ServerRules>>,
    pub(crate) policy: Arc<PolicySnapshot>,
    pub(crate) pattern: NamePattern,
    /// Listings of servers that need no connection.
    pub(crate) listings: Vec<(ServerId, ServerListing)>,
    /// Restarted servers, whose listings are awaited again.
    pub(crate) outdated: Vec<ServerId>,
}

/// Dependencies of a registry.
pub(crate) struct RegistryParts {
    /// In the order of the config, built-in servers first.
    pub(crate) rules: Vec<Arc<ServerRules>>,
    pub(crate) policy: Arc<PolicySnapshot>,
    pub(crate) pattern: NamePattern,
    /// File for owners of names; `None`: forgotten at exit.
    pub(crate) owners: Option<std::path::PathBuf>,
    /// Provides the tier of each tool.
    pub(crate) meters: Arc<ToolMeters>,
    /// Provides the trusted definitions.
    pub(crate) book: Arc<PinStore>,
    /// Receives notices of quarantined tools.
    pub(crate) notices: Notices,
    pub(crate) clock: Arc<dyn Clock>,
}

/// The write side, owned by one task.
pub(crate) struct RegistryActor {
    registry: Arc<CatalogRegistry>,
    updates: mpsc::Receiver<Update>,
    orders: mpsc::Receiver<RegistryCommand>,
    offers: Vec<ServerOffer>,
    places: HashMap<ServerId, usize>,
    policy: Arc<PolicySnapshot>,
    pattern: NamePattern,
    owners: NameOwners,
    owners_file: Option<std::path::PathBuf>,
    build: BuildCatalogFn,
    meters: Arc<ToolMeters>,
    moves: watch::Receiver<u64>,
    notices: Notices,
    clock: Arc<dyn Clock>,
    /// Listings that changed since the last catalogue, in that order.
    changed: Vec<usize>,
}

type BuildCatalogFn = fn(&CatalogInputs<'_>, &mut NameOwners) -> Catalog;

/// The queue on which servers send their updates.
pub(crate) fn updates() -> (UpstreamUpdateSender, mpsc::Receiver<Update>) {
    mpsc::channel(QUEUE)
}

/// An empty registry, and the actor that fills it from the updates.
pub(crate) fn registry(
    plan: RegistryParts,
    updates: mpsc::Receiver<Update>,
) -> (Arc<CatalogRegistry>, RegistryActor) {
    let policy = plan.policy;
    let empty = CatalogGeneration::new(Arc::new(Catalog::default()), Arc::clone(&policy));
    let (order, orders) = mpsc::channel(1);
    let registry = Arc::new(CatalogRegistry {
        current: ArcSwap::from_pointee(empty),
        version: watch::Sender::new(0),
        resources: broadcast::Sender::new(RESOURCE_QUEUE),
        orders: order,
        book: plan.book,
    });
    let offers: Vec<ServerOffer> = plan.rules.into_iter().map(absent).collect();
    let registry_actor = RegistryActor {
        registry: Arc::clone(&registry),
        updates,
        orders,
        places: places(&offers),
        offers,
        policy,
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
    (registry, registry_actor)
}

impl RegistryActor {
    /// Adds a listing that needs no connection, so that the first snapshot has it.
    pub(crate) fn offer(&mut self, server: &ServerId, listing: ServerListing) {
        self.apply(Update { server: server.clone(), change: Change::Listed(Arc::new(listing)) });
    }

    /// Builds a snapshot whenever something changed, until all senders are gone.
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
                        // The queue is empty, and earlier updates are published.
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

    async fn carry_out(&mut self, order: RegistryCommand) {
        let done = match order {
            RegistryCommand::Flush(done) => done,
            RegistryCommand::Rebuild(done) => {
                self.rebuild().await;
                done
            }
            RegistryCommand::Reconfigure(change, done) => {
                self.reconfigure(*change);
                self.rebuild().await;
                done
            }
        };
        let _ = done.send(());
    }

    /// Servers that stay keep their listings; new ones are awaited, even if a built-in server had
    /// the same name.
    fn reconfigure(&mut self, change: RegistryReconfiguration) {
        let mut known: HashMap<ServerId, ServerOffer> =
            self.offers.drain(..).map(|offer| (offer.rules.server.clone(), offer)).collect();
        let stays = |offer: &ServerOffer, rules: &ServerRules| {
            offer.rules.origin == rules.origin && !change.outdated.contains(&rules.server)
        };
        let offer = |rules: Arc<ServerRules>| match known.remove(&rules.server) {
            Some(offer) if stays(&offer, &rules) => ServerOffer { rules, ..offer },
            Some(_) | None => absent(rules),
        };
        self.offers = change.rules.into_iter().map(offer).collect();
        self.places = places(&self.offers);
        self.changed.clear();
        self.policy = change.policy;
        self.pattern = change.pattern;
        for (server, listing) in change.listings {
            self.offer(&server, listing);
        }
    }

    /// Returns whether the catalogue has to be rebuilt.
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
                // No listener is fine.
                let _ = self.registry.resources.send(uri.into());
                false
            }
        }
    }

    /// A listing that cannot be built is left out; all other tools stay.
    async fn rebuild(&mut self) {
        let suspects = std::mem::take(&mut self.changed);
        if self.build().await {
            return;
        }
        for &at in suspects.iter().rev().filter(|_| suspects.len() > 1) {
            let was = std::mem::replace(&mut self.offers[at].present, false);
            if self.build().await {
                return self.log_left_out(at);
            }
            self.offers[at].present = was;
        }
        for at in suspects {
            self.offers[at].present = false;
            self.log_left_out(at);
        }
        self.build().await;
    }

    /// Tools changed their tiers: publishes the same catalogue with new views.
    fn retier(&self) {
        let catalog = Arc::clone(&self.registry.current().catalog);
        let tiers = self.meters.tiers(&catalog.tools);
        if tiers != catalog.tiers {
            let next = catalog.in_tiers(catalog.version + 1, tiers);
            self.registry.publish(CatalogGeneration::new(Arc::new(next), Arc::clone(&self.policy)));
        }
    }

    fn log_left_out(&self, at: usize) {
        let server = &self.offers[at].rules.server;
        tracing::error!(%server, "server left out: its lists cannot be built into the catalogue");
    }

    /// Returns whether there is a new catalogue. Compiling schemas is slow, and the schemas are
    /// untrusted: it does not run on a thread that serves calls, and a panic leaves the old
    /// catalogue in place.
    async fn build(&mut self) -> bool {
        let previous = Arc::clone(&self.registry.current().catalog);
        let offers = self.offers.clone();
        let pattern = self.pattern.clone();
        let mut owners = self.owners.clone();
        let build = self.build;
        let meters = Arc::clone(&self.meters);
        let before = Arc::clone(&previous);
        let book = Arc::clone(&self.registry.book);
        let at = self.clock.wall();
        let built = tokio::task::spawn_blocking(move || {
            let pins = book.pins();
            let inputs = CatalogInputs {
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
            catalog.tiers = meters.register_tools(&catalog.tools);
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
        for notice in quarantine_notices::notices(&before, &catalog) {
            self.notices.tell(notice);
        }
        self.registry.publish(CatalogGeneration::new(Arc::new(catalog), Arc::clone(&self.policy)));
        true
    }

    async fn remember_owners(&self) {
        let Some(file) = self.owners_file.clone() else { return };
        let owners = self.owners.clone();
        let saved = tokio::task::spawn_blocking(move || owners::save(&file, &owners));
        // The panic hook has already reported a panic; the names are still in memory.
        let _ = saved.await;
    }
}

/// Lines to log once: problems, and tools whose definition changed under the same name.
fn news(previous: &Catalog, next: &Catalog) -> Vec<String> {
    let known: HashSet<String> = previous.problems.iter().map(ToString::to_string).collect();
    let problems = next.problems.iter().map(ToString::to_string);
    let changed = next.tools.iter().filter(|tool| {
        let known = previous.tool(tool.exposed.as_str());
        known.is_some_and(|known| known.id == tool.id && known.hash != tool.hash)
    });
    let changed = changed.map(|tool| format!("`{}`: the server changed this tool", tool.id));
    let mut all = problems.filter(|problem| !known.contains(problem)).chain(changed);
    let mut lines: Vec<String> = all.by_ref().take(MAX_LOGGED_CHANGES).collect();
    match all.count() {
        0 => {}
        more => lines.push(format!("and {more} more of the kind")),
    }
    lines
}

fn absent(rules: Arc<ServerRules>) -> ServerOffer {
    ServerOffer { rules, listing: Arc::default(), present: false }
}

fn places(offers: &[ServerOffer]) -> HashMap<ServerId, usize> {
    let place = |(at, offer): (usize, &ServerOffer)| (offer.rules.server.clone(), at);
    offers.iter().enumerate().map(place).collect()
}

#[cfg(test)]
mod tests;
