//! Builds a gate from settings, and applies new settings to a running one (hot reload). The only
//! place that knows how the parts of the engine fit together.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::sync::Mutex;
use tollgate_mcp::tasks::{self, Task, TaskGroup};
use tollgate_store::Store;
use tollgate_store::memory::MemoryStore;

use crate::audit::AuditLedger;
use crate::builtin;
use crate::builtin::BuiltinDeps;
use crate::builtin::file_links::FileLinks;
use crate::builtin::stamp::BuiltinFilesStamp;
use crate::calibration::{self, BackgroundProbing, CalibrationMode};
use crate::clock::{Clock, SystemClock};
use crate::confine::Launcher;
use crate::embedding::Embedder;
use crate::gate::{CodeBackend, Gate, GateParts};
use crate::memory::{MemoryIndexer, MemoryService};
use crate::meters::{MeterArchive, MeterDeps, MeterMaintenance, ToolMeters};
use crate::model_usage::{ModelUsageArchive, ModelUsageMeter};
use crate::notices::Notices;
use crate::pins::PinStore;
use crate::policy_snapshot::PolicySnapshot;
use crate::random::SystemRandom;
use crate::record::Observer;
use crate::registry::{self, RegistryParts, RegistryReconfiguration};
use crate::resource_watches::ResourceWatches;
pub use crate::server_set::ServerChanges;
use crate::server_set::{BuiltinServerParts, ServerSet};
use crate::servers::ServerDirectory;
use crate::settings::EngineSettings;
use crate::spans::Tracer;
use crate::upstream::{TrialRunner, Upstream, UpstreamContext};

/// What an embedding program may provide.
#[derive(Default)]
pub struct Parts {
    /// Additional in-process tools.
    pub tools: Vec<builtin::Server>,
    pub observers: Vec<Box<dyn Observer>>,
    /// Store of measurements and pins; `None`: they are lost at exit.
    pub store: Option<Arc<Store>>,
    /// The memory of agents; `None`: no memory, and no tools for it.
    pub memory: Option<Arc<MemoryStore>>,
    /// The embedding model; `None`: search is by text only.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Ledger of calls and decisions.
    pub ledger: Arc<AuditLedger>,
    pub calibration: CalibrationMode,
    /// Launcher for child processes. Without one they get their limits just after their start, and
    /// servers with file rules or without network are refused.
    pub launcher: Option<Launcher>,
    /// Creates the trace spans of requests.
    pub tracer: Tracer,
}

/// A gate and its background tasks; the gate works until this is dropped.
pub struct RunningEngine {
    pub gate: Arc<Gate>,
    /// Locked while the settings change, one change at a time.
    server_set: Mutex<ServerSet>,
    probing: Arc<ArcSwap<BackgroundProbing>>,
    /// Servers that were replaced or removed, and stop when their calls have ended.
    ending: TaskGroup,
    /// Starts the first worker for programs.
    warming: ArcSwapOption<Task>,
    _registry_task: Task,
    _maintenance: MeterMaintenance,
    _usage_archive: ModelUsageArchive,
    /// Indexes transcripts.
    reading: Option<MemoryIndexer>,
    _calibration: Option<Task>,
}

/// How long a server that stops may take to finish its calls.
const LAST_CALLS: Duration = Duration::from_secs(30);
/// Beyond this, servers are stopped without waiting for their calls.
const MAX_DRAINING_SERVERS: usize = 1_024;

/// Why the engine could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The trusted tool definitions cannot be read.
    #[error("cannot read the tool pins: {0}; {remedy}", remedy = .0.remedy())]
    Pins(#[source] tollgate_store::Error),
}

/// Starts everything. Returns at once; servers come up in the background, see [`Gate::wait_until_settled`].
pub fn start(settings: &EngineSettings, parts: Parts) -> Result<RunningEngine, StartError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let notices = Notices::default();
    let book = Arc::new(PinStore::open(parts.store.clone()).map_err(StartError::Pins)?);
    let meters = tool_meters(settings, parts.store.clone(), &clock, &notices);
    let (updates, receiver) = registry::updates();
    let context = UpstreamContext {
        updates,
        clock: Arc::clone(&clock),
        data: settings.data.clone(),
        launcher: parts.launcher,
        store: parts.store.clone(),
        notices: notices.clone(),
    };
    let trials =
        TrialRunner::new(Arc::clone(&clock), context.data.clone(), context.launcher.clone());
    let programs = Arc::new(CodeBackend::default());
    let memory_service =
        parts.memory.map(|store| MemoryService::new(store, parts.embedder, Arc::clone(&clock)));
    let model_usage = open_model_usage(settings, parts.store.clone(), &clock);
    let links = Arc::new(FileLinks::new(Arc::clone(&clock), Arc::new(SystemRandom)));
    let around = BuiltinDeps {
        memory_service: memory_service.clone(),
        notices: notices.clone(),
        links: Arc::clone(&links),
        ..BuiltinDeps::default()
    };
    let builtin =
        BuiltinServerParts { brought: parts.tools, programs: Arc::clone(&programs) as _, around };
    let mut server_set = ServerSet::new(context, settings, builtin);
    let policy = Arc::new(PolicySnapshot::of(settings));
    parts.tracer.quote(policy.quoting());
    let registry_parts = RegistryParts {
        rules: server_set.rules(&settings.servers, settings.trust),
        policy,
        pattern: settings.names.clone(),
        owners: Some(settings.data.join("names.json")),
        meters: Arc::clone(&meters),
        book,
        notices: notices.clone(),
        clock: Arc::clone(&clock),
    };
    let (registry, mut registry_actor) = registry::registry(registry_parts, receiver);
    for (id, listing) in server_set.listings(&settings.servers) {
        registry_actor.offer(&id, listing);
    }
    server_set.launch(&settings.servers);
    let counted = server_set.builtin_tool_counts(&settings.servers);
    let gate = Gate::of(GateParts {
        registry,
        meters: Arc::clone(&meters),
        notices,
        backends: server_set.backends(),
        servers: ServerDirectory::new(counted, server_set.upstreams(), clock.wall()),
        trials,
        watches: ResourceWatches::new(server_set.watch_targets()),
        observers: parts.observers,
        ledger: parts.ledger,
        environment: settings.environment.clone(),
        code: settings.code.clone(),
        memory_service: memory_service.clone(),
        model_usage: Arc::clone(&model_usage),
        links,
        tracer: parts.tracer,
        clock,
        random: Arc::new(SystemRandom),
    });
    programs.serve(&gate);
    let probing = shared_probing(settings);
    Ok(RunningEngine {
        _calibration: spawn_calibration(parts.calibration, &gate, &probing),
        warming: ArcSwapOption::from_pointee(warming(&gate, settings)),
        gate,
        server_set: Mutex::new(server_set),
        probing,
        ending: TaskGroup::new("ending servers", MAX_DRAINING_SERVERS),
        _registry_task: tasks::spawn("registry", registry_actor.run()),
        _maintenance: meters.start_maintenance(),
        _usage_archive: model_usage.start_saving(),
        reading: memory_service.map(|it| MemoryIndexer::begin(&it, settings.memory.keep)),
    })
}

/// Which tools are probed in the background; a reload swaps it.
fn shared_probing(settings: &EngineSettings) -> Arc<ArcSwap<BackgroundProbing>> {
    let probing = BackgroundProbing::of(&settings.budget, &settings.servers);
    Arc::new(ArcSwap::from_pointee(probing))
}

fn spawn_calibration(
    mode: CalibrationMode,
    gate: &Arc<Gate>,
    probing: &Arc<ArcSwap<BackgroundProbing>>,
) -> Option<Task> {
    (mode == CalibrationMode::ByItself)
        .then(|| calibration::spawn_background(gate, Arc::clone(probing)))
}

fn open_model_usage(
    settings: &EngineSettings,
    store: Option<Arc<Store>>,
    clock: &Arc<dyn Clock>,
) -> Arc<ModelUsageMeter> {
    ModelUsageMeter::open(Arc::clone(clock), settings.model_usage.clone(), store)
}

fn tool_meters(
    settings: &EngineSettings,
    store: Option<Arc<Store>>,
    clock: &Arc<dyn Clock>,
    notices: &Notices,
) -> Arc<ToolMeters> {
    ToolMeters::new(MeterDeps {
        clock: Arc::clone(clock),
        rules: settings.budget.standing,
        notices: notices.clone(),
        archive: store.map(|store| MeterArchive::new(store, settings.environment.clone())),
    })
}

impl RunningEngine {
    /// Applies new settings. The catalogue and everything that turns depend on change in one step;
    /// running turns keep their view, and servers with unchanged settings are not affected. The
    /// environment and the data directory do not change: they need a restart.
    ///
    /// `swapped` runs as soon as the new catalogue is published, before anything else.
    pub async fn reconfigure(
        &self,
        settings: &EngineSettings,
        swapped: impl FnOnce() + Send,
    ) -> ServerChanges {
        let mut server_set = self.server_set.lock().await;
        let gate = &self.gate;
        let servers = &settings.servers[..];
        let renewed = server_set.reread_builtins(&settings.builtin).await;
        server_set.replace_builtins(settings, renewed);
        gate.meters.set_rules(settings.budget.standing);
        gate.model_usage.reconfigure(&settings.model_usage);
        gate.update_sandbox(settings);
        gate.ledger().reconfigure(&settings.audit);
        if let Some(reading) = &self.reading {
            reading.keep(settings.memory.keep);
        }
        self.probing.store(Arc::new(BackgroundProbing::of(&settings.budget, servers)));
        let policy = Arc::new(PolicySnapshot::of(settings));
        let quoting = policy.quoting();
        let change = RegistryReconfiguration {
            rules: server_set.rules(servers, settings.trust),
            policy,
            pattern: settings.names.clone(),
            listings: server_set.listings(servers),
            outdated: server_set.servers_to_restart(servers),
        };
        gate.registry.reconfigure(change).await;
        gate.tracer().quote(quoting);
        swapped();
        gate.review();
        self.warming.store(warming(gate, settings).map(Arc::new));
        let (changes, ending) = server_set.launch(servers);
        gate.executor.backends.store(Arc::new(server_set.backends()));
        gate.servers.replace(server_set.builtin_tool_counts(servers), server_set.upstreams());
        gate.watches.replace(server_set.watch_targets());
        for upstream in ending {
            self.end(upstream);
        }
        changes
    }

    /// The new stamp of the files of built-in tools, if they changed since they were read;
    /// [`RunningEngine::reconfigure`] reads them again.
    pub async fn changed_files(&self) -> Option<BuiltinFilesStamp> {
        self.server_set.lock().await.changed_files().await
    }

    /// A server that cannot be awaited is killed by the drop.
    fn end(&self, upstream: Arc<Upstream>) {
        let ended = async move { upstream.retire(LAST_CALLS).await };
        if self.ending.spawn(ended).is_err() {
            tracing::warn!("too many servers are stopping at once; not waiting for this one");
        }
    }
}

/// `None`: code mode is off.
fn warming(gate: &Arc<Gate>, settings: &EngineSettings) -> Option<Task> {
    let warm = || tasks::spawn("first worker", Arc::clone(gate).warm());
    settings.has_code_mode().then(warm)
}

#[cfg(test)]
mod tests;
