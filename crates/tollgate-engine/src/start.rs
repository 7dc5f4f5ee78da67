//! Builds a gate from settings, and changes one that runs to other settings. The only place that
//! knows how the parts of the engine fit together.

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
use crate::builtin::stamp::BuiltinFilesStamp;
use crate::calibration::{self, BackgroundProbing, CalibrationMode};
use crate::clock::{Clock, SystemClock};
use crate::confine::Launcher;
use crate::embedding::Embedder;
use crate::gate::{CodeBackend, Gate, GateParts};
use crate::memory::{MemoryIndexer, MemoryService};
use crate::meters::{MeterArchive, MeterDeps, MeterMaintenance, ToolMeters};
use crate::notices::Notices;
use crate::pins::PinStore;
use crate::policy_snapshot::PolicySnapshot;
use crate::random::SystemRandom;
use crate::record::Observer;
use crate::registry::{self, RegistryParts, RegistryReconfiguration};
use crate::resource_watches::ResourceWatches;
pub use crate::server_set::ServerTurnover;
use crate::server_set::{BuiltinServerParts, ServerSet};
use crate::servers::ServerDirectory;
use crate::settings::EngineSettings;
use crate::spans::Tracer;
use crate::upstream::{TrialRunner, Upstream, UpstreamContext};

/// What an embedding program may bring along.
#[derive(Default)]
pub struct Parts {
    /// Tools of its own, beside the built-in ones.
    pub tools: Vec<builtin::Server>,
    pub observers: Vec<Box<dyn Observer>>,
    /// Where measurements and pins outlast the process; `None` forgets them with it.
    pub store: Option<Arc<Store>>,
    /// What agents remember; `None`: nothing, and they have no tools for it.
    pub memory: Option<Arc<MemoryStore>>,
    /// Knows what texts mean; `None`: they are found by their words.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Where calls and decisions are kept.
    pub ledger: Arc<AuditLedger>,
    pub upkeep: CalibrationMode,
    /// What children begin as. Without one they get their limits just after their start, and
    /// servers with file rules or without network are refused.
    pub launcher: Option<Launcher>,
    /// Tells what is done for requests to whoever follows them.
    pub tracer: Tracer,
}

/// A gate, and the tasks that keep it; the gate serves for as long as that is held.
pub struct RunningEngine {
    pub gate: Arc<Gate>,
    /// Held while the settings change: one change at a time.
    fleet: Mutex<ServerSet>,
    habit: Arc<ArcSwap<BackgroundProbing>>,
    /// Servers that were replaced or taken out, and end when their calls have.
    ending: TaskGroup,
    /// Starts the first worker for programs.
    warming: ArcSwapOption<Task>,
    _keeper: Task,
    _tending: MeterMaintenance,
    /// Reads transcripts.
    reading: Option<MemoryIndexer>,
    _calibration: Option<Task>,
}

/// How long a server that is to end may take to finish its calls.
const LAST_CALLS: Duration = Duration::from_secs(30);
/// More end at once than wait for their calls.
const MOST_ENDING: usize = 1_024;

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Which definitions of tools are trusted is not known.
    #[error("cannot read the tool pins: {0}; {remedy}", remedy = .0.remedy())]
    Pins(#[source] tollgate_store::Error),
}

/// Starts everything. Returns at once; servers come up on their own, see [`Gate::settled`].
pub fn start(settings: &EngineSettings, parts: Parts) -> Result<RunningEngine, StartError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let notices = Notices::default();
    let book = Arc::new(PinStore::open(parts.store.clone()).map_err(StartError::Pins)?);
    let environment = &settings.environment;
    let archive = parts.store.clone().map(|store| MeterArchive::new(store, environment.clone()));
    let meters = ToolMeters::new(MeterDeps {
        clock: Arc::clone(&clock),
        rules: settings.budget.standing,
        notices: notices.clone(),
        archive,
    });
    let (updates, heard) = registry::updates();
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
    let mind =
        parts.memory.map(|store| MemoryService::new(store, parts.embedder, Arc::clone(&clock)));
    let around =
        BuiltinDeps { mind: mind.clone(), notices: notices.clone(), ..BuiltinDeps::default() };
    let builtin =
        BuiltinServerParts { brought: parts.tools, programs: Arc::clone(&programs) as _, around };
    let mut fleet = ServerSet::new(context, settings, builtin);
    let charter = Arc::new(PolicySnapshot::of(settings));
    parts.tracer.quote(charter.quoting());
    let (registry, mut keeper) = registry::registry(
        RegistryParts {
            rules: fleet.rules(&settings.servers, settings.trust),
            charter,
            pattern: settings.names.clone(),
            owners: Some(settings.data.join("names.json")),
            meters: Arc::clone(&meters),
            book,
            notices: notices.clone(),
            clock: Arc::clone(&clock),
        },
        heard,
    );
    fleet.listings(&settings.servers).into_iter().for_each(|(id, it)| keeper.offer(&id, it));
    fleet.launch(&settings.servers);
    let counted = fleet.builtin_tool_counts(&settings.servers);
    let gate = Gate::of(GateParts {
        registry,
        meters: Arc::clone(&meters),
        notices,
        backends: fleet.backends(),
        servers: ServerDirectory::new(counted, fleet.upstreams(), clock.wall()),
        trials,
        watches: ResourceWatches::new(fleet.watch_targets()),
        observers: parts.observers,
        ledger: parts.ledger,
        environment: environment.clone(),
        code: settings.code.clone(),
        mind: mind.clone(),
        tracer: parts.tracer,
        clock,
        random: Arc::new(SystemRandom),
    });
    programs.serve(&gate);
    let habit = BackgroundProbing::of(&settings.budget, &settings.servers);
    let habit = Arc::new(ArcSwap::from_pointee(habit));
    let calibrates = parts.upkeep == CalibrationMode::ByItself;
    Ok(RunningEngine {
        _calibration: calibrates.then(|| calibration::spawn_background(&gate, Arc::clone(&habit))),
        warming: ArcSwapOption::from_pointee(warming(&gate, settings)),
        gate,
        fleet: Mutex::new(fleet),
        habit,
        ending: TaskGroup::new("ending servers", MOST_ENDING),
        _keeper: tasks::spawn("registry", keeper.run()),
        _tending: meters.start_maintenance(),
        reading: mind.map(|mind| MemoryIndexer::begin(&mind, settings.memory.keep)),
    })
}

impl RunningEngine {
    /// Goes on by other settings. The catalogue and all that turns depend on change in one step;
    /// turns that run keep their view, and servers whose own settings are the same notice nothing.
    /// The environment and the data directory stay as they were: they need a new start.
    ///
    /// `swapped` runs in the moment in which the new catalogue is there, before anything else.
    pub async fn reconfigure(
        &self,
        settings: &EngineSettings,
        swapped: impl FnOnce() + Send,
    ) -> ServerTurnover {
        let mut fleet = self.fleet.lock().await;
        let (gate, servers) = (&self.gate, &settings.servers[..]);
        let renewed = fleet.reread_builtins(&settings.builtin).await;
        fleet.replace_builtins(settings, renewed);
        gate.meters.set_rules(settings.budget.standing);
        gate.furnish(settings);
        gate.ledger().reconfigure(&settings.audit);
        if let Some(reading) = &self.reading {
            reading.keep(settings.memory.keep);
        }
        self.habit.store(Arc::new(BackgroundProbing::of(&settings.budget, servers)));
        let charter = Arc::new(PolicySnapshot::of(settings));
        let quoting = charter.quoting();
        let reform = RegistryReconfiguration {
            rules: fleet.rules(servers, settings.trust),
            charter,
            pattern: settings.names.clone(),
            listings: fleet.listings(servers),
            outdated: fleet.servers_to_restart(servers),
        };
        gate.registry.reconfigure(reform).await;
        gate.tracer().quote(quoting);
        swapped();
        gate.review();
        self.warming.store(warming(gate, settings).map(Arc::new));
        let (turnover, ending) = fleet.launch(servers);
        gate.executor.backends.store(Arc::new(fleet.backends()));
        gate.servers.replace(fleet.builtin_tool_counts(servers), fleet.upstreams());
        gate.watches.replace(fleet.watch_targets());
        for upstream in ending {
            self.end(upstream);
        }
        turnover
    }

    /// How the files of built-in tools stand, if they changed since they were read;
    /// [`RunningEngine::reconfigure`] reads them again.
    pub async fn changed_files(&self) -> Option<BuiltinFilesStamp> {
        self.fleet.lock().await.changed_files().await
    }

    /// One that cannot be waited for is killed by being dropped.
    fn end(&self, upstream: Arc<Upstream>) {
        let ended = async move { upstream.retire(LAST_CALLS).await };
        if self.ending.spawn(ended).is_err() {
            tracing::warn!("too many servers are stopping at once; not waiting for this one");
        }
    }
}

/// `None`: no model writes programs.
fn warming(gate: &Arc<Gate>, settings: &EngineSettings) -> Option<Task> {
    let warm = || tasks::spawn("first worker", Arc::clone(gate).warm());
    settings.has_code_mode().then(warm)
}

#[cfg(test)]
mod tests;
