//! Latency meters of tools, and the tier of each tool that follows from them.
//!
//! Calls are recorded without a lock; one task evaluates, another saves. Independent of servers and
//! agents: the builder of the catalogue registers the tools and asks for their tiers.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tollgate_core::budget::Tier;
use tollgate_core::id::{ServerId, ToolId};
use tollgate_core::latency::Sample;
use tollgate_core::tier_assignment::{AssignedTier, DeclaredLatency, TierRules, TierVerdict};
use tollgate_core::tool::Tool;
use tollgate_store::measurements::Measurement;

use crate::clock::Clock;
use crate::notices::{Notice, Notices};

mod archive;
mod atomic_instant;
mod load;
mod maintenance;
mod meter;
pub(crate) mod sample;

pub(crate) use archive::MeterArchive;
pub(crate) use load::ServerLoadGuard;
pub(crate) use maintenance::MeterMaintenance;

use load::ServerLoad;
use meter::ToolMeter;

/// Meters kept for tools that are absent, in case they return.
const MAX_ABSENT_METERS: usize = 1_000;

/// The meters of one environment, shared by all calls.
pub(crate) struct ToolMeters {
    clock: Arc<dyn Clock>,
    rules: ArcSwap<TierRules>,
    notices: Notices,
    /// `None`: nothing is persisted.
    archive: Option<MeterArchive>,
    /// Reference point of stored instants.
    created: Instant,
    meters: ArcSwap<HashMap<ToolId, Arc<ToolMeter>>>,
    loads: ArcSwap<HashMap<ServerId, Arc<ServerLoad>>>,
    /// Measurements of tools that are not listed yet. Locked while meters are added.
    unclaimed: Mutex<HashMap<ToolId, Measurement>>,
    /// A sample was recorded, or a timer has changed.
    wake: Notify,
    /// A tool was evaluated and may have to be saved.
    judged: Notify,
    moves: watch::Sender<u64>,
}

/// Dependencies of the meters.
pub(crate) struct MeterDeps {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rules: TierRules,
    pub(crate) notices: Notices,
    pub(crate) archive: Option<MeterArchive>,
}

/// The state of one tool's meter, for display.
#[derive(Debug, Clone)]
pub struct MeterReading {
    /// The tier and its reason, the health, and the statistics of the calls that count.
    pub assigned: Arc<AssignedTier>,
    /// When the last call was measured.
    pub measured_at: Option<SystemTime>,
}

impl ToolMeters {
    /// Loads the archive, which may block.
    pub(crate) fn new(basics: MeterDeps) -> Arc<Self> {
        let MeterDeps { clock, rules, notices, archive } = basics;
        let unclaimed = archive.as_ref().map(MeterArchive::load).unwrap_or_default();
        Arc::new(Self {
            created: clock.now(),
            clock,
            rules: ArcSwap::from_pointee(rules),
            notices,
            archive,
            meters: ArcSwap::default(),
            loads: ArcSwap::default(),
            unclaimed: Mutex::new(unclaimed),
            wake: Notify::new(),
            judged: Notify::new(),
            moves: watch::Sender::new(0),
        })
    }

    /// Evaluates all tools by these rules from now on, beginning with the next pass.
    pub(crate) fn set_rules(&self, rules: TierRules) {
        if **self.rules.load() == rules {
            return;
        }
        self.rules.store(Arc::new(rules));
        for meter in self.meters.load().values() {
            meter.mark_for_review();
        }
        self.wake.notify_one();
    }

    /// Records a finished call. Lock-free; a tool that is not listed is not measured.
    pub(crate) fn record(&self, tool: &ToolId, sample: Sample) {
        let meters = self.meters.load();
        if let Some(meter) = meters.get(tool)
            && meter.record(sample, self.clock.now())
        {
            self.wake.notify_one();
        }
    }

    /// Counts a call as in flight at the server until the guard is dropped.
    pub(crate) fn enter_server(&self, server: &ServerId) -> Option<ServerLoadGuard> {
        let load = Arc::clone(self.loads.load().get(server)?);
        Some(ServerLoadGuard::begin(load, Arc::clone(&self.clock)))
    }

    /// Since when the server has been idle; `None` while it is busy.
    pub(crate) fn idle_since(&self, server: &ServerId) -> Option<Instant> {
        match self.loads.load().get(server) {
            Some(load) => load.idle_since(),
            None => Some(self.created),
        }
    }

    pub(crate) fn assigned_tier(&self, tool: &ToolId) -> Option<Arc<AssignedTier>> {
        self.meters.load().get(tool).map(|meter| meter.assigned_tier())
    }

    /// The ceiling of the tool's tier.
    pub(crate) fn ceiling(&self, tool: &ToolId) -> Duration {
        let meters = self.meters.load();
        let tier = meters.get(tool).map_or(Tier::Standard, |meter| meter.assigned_tier().tier);
        self.rules.load().ceilings.of(tier)
    }

    /// The samples in the tool's window, the oldest first.
    pub(crate) fn samples(&self, tool: &ToolId) -> Option<Vec<Sample>> {
        self.meters.load().get(tool).map(|meter| meter.samples())
    }

    /// The last `most` of them.
    pub(crate) fn recent(&self, tool: &ToolId, most: usize) -> Vec<Sample> {
        self.meters.load().get(tool).map_or_else(Vec::new, |meter| meter.recent(most))
    }

    pub(crate) fn reading(&self, tool: &ToolId) -> Option<MeterReading> {
        let meters = self.meters.load();
        let meter = meters.get(tool)?;
        let measured_at = meter.measured_at(self.clock.now(), self.clock.wall());
        Some(MeterReading { assigned: meter.assigned_tier(), measured_at })
    }

    /// How many samples are needed to count.
    pub(crate) fn min_samples(&self) -> u32 {
        self.rules.load().min_samples
    }

    /// Whether more calls could improve the tool's tier.
    pub(crate) fn wants_probe(&self, tool: &ToolId) -> bool {
        self.meters.load().get(tool).is_some_and(|meter| meter.wants_probe())
    }

    /// Changes whenever a tool has moved to another tier.
    pub(crate) fn moves(&self) -> watch::Receiver<u64> {
        self.moves.subscribe()
    }

    /// In the order of `tools`.
    pub(crate) fn tiers(&self, tools: &[Arc<Tool>]) -> Vec<Tier> {
        let meters = self.meters.load();
        let tier = |tool: &Arc<Tool>| meters.get(&tool.id).map(|meter| meter.assigned_tier().tier);
        tools.iter().map(|tool| tier(tool).unwrap_or(Tier::Standard)).collect()
    }

    /// Registers the tools of the next catalogue: measures the new ones from now on, and evaluates
    /// all by their current declarations. Returns their tiers in the same order; these moves are
    /// not signalled by [`ToolMeters::moves`].
    pub(crate) fn register_tools(&self, tools: &[Arc<Tool>]) -> Vec<Tier> {
        self.add(tools);
        let now = self.clock.now();
        let meters = self.meters.load();
        for tool in tools {
            if let Some(meter) = meters.get(&tool.id) {
                let verdict = meter.declare(declared_latency(tool), &self.rules.load(), now);
                self.tell(meter, verdict);
            }
        }
        // Something may be due before the next timer.
        self.wake.notify_one();
        self.tiers(tools)
    }

    fn add(&self, tools: &[Arc<Tool>]) {
        let mut unclaimed = self.unclaimed.lock();
        let meters = self.meters.load();
        if tools.iter().all(|tool| meters.contains_key(&tool.id)) {
            return;
        }
        let mut next = self.staying(&meters, tools);
        let mut loads = HashMap::clone(&self.loads.load());
        let now = self.clock.now();
        let created = self.created;
        let rules = self.rules.load();
        for tool in tools {
            let id = &tool.id;
            let load = || Arc::new(ServerLoad::new(self.created));
            loads.entry(id.server.clone()).or_insert_with(load);
            let made = || {
                let measurement = unclaimed.remove(id);
                let terms = meter::MeterInit {
                    declared: declared_latency(tool),
                    rules: &rules,
                    created,
                    now,
                };
                Arc::new(ToolMeter::new(id.clone(), measurement, &terms))
            };
            let meter = meters.get(id).map_or_else(made, Arc::clone);
            next.insert(id.clone(), meter);
        }
        self.loads.store(Arc::new(loads));
        self.meters.store(Arc::new(next));
    }

    /// The meters of absent tools that are kept. Empty ones are dropped; if there are too many, the
    /// longest unused. The archive has their measurements and merges later ones.
    fn staying(
        &self,
        meters: &HashMap<ToolId, Arc<ToolMeter>>,
        tools: &[Arc<Tool>],
    ) -> HashMap<ToolId, Arc<ToolMeter>> {
        let present: HashSet<&ToolId> = tools.iter().map(|tool| &tool.id).collect();
        let is_away =
            |meter: &&Arc<ToolMeter>| !present.contains(meter.id()) && meter.recorded_count() > 0;
        let mut away: Vec<&Arc<ToolMeter>> = meters.values().filter(is_away).collect();
        let now = self.clock.now();
        let wall = self.clock.wall();
        if away.len() > MAX_ABSENT_METERS {
            away.sort_by_key(|meter| Reverse(meter.last()));
            let is_kept = |meter: &ToolMeter| {
                self.archive.is_none() || meter.unsaved_changes(now, wall).is_none()
            };
            let mut place = 0..;
            away.retain(|meter| place.next() < Some(MAX_ABSENT_METERS) || !is_kept(meter));
        }
        away.into_iter().map(|meter| (meter.id().clone(), Arc::clone(meter))).collect()
    }

    /// Evaluates all tools that were called or whose timer has expired.
    pub(crate) fn judge(&self) {
        let now = self.clock.now();
        let meters = self.meters.load();
        let mut judged = false;
        let mut moved = false;
        for meter in meters.values() {
            if let Some(verdict) = meter.judge(&self.rules.load(), now) {
                judged = true;
                moved |= self.tell(meter, verdict);
            }
        }
        if moved {
            self.moves.send_modify(|moves| *moves += 1);
        }
        if judged {
            self.judged.notify_one();
        }
    }

    /// Whether there was a change to report.
    fn tell(&self, meter: &ToolMeter, verdict: TierVerdict) -> bool {
        let TierVerdict::Moved { from, to } = verdict else { return false };
        let tool = meter.id().clone();
        let reason = meter.assigned_tier().cause.to_string();
        tracing::info!(%tool, %from, %to, reason, "a tool moved to another tier");
        self.notices.tell(Notice::Moved { tool, from, to, reason });
        true
    }

    /// The first instant at which time alone may move a tool.
    fn next_look(&self) -> Option<Instant> {
        self.meters.load().values().filter_map(|meter| meter.next_look()).min()
    }

    /// Saves what is not saved yet. Blocks. An error has already been logged.
    fn save(&self) -> Result<(), tollgate_store::Error> {
        self.judge();
        let Some(archive) = &self.archive else { return Ok(()) };
        let now = self.clock.now();
        let wall = self.clock.wall();
        archive.save(&self.meters.load(), now, wall)
    }
}

fn declared_latency(tool: &Tool) -> DeclaredLatency {
    DeclaredLatency { estimated: tool.terms.estimated, max: tool.terms.max }
}

#[cfg(test)]
mod tests;
