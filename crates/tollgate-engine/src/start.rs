//! Builds a gate from settings: registry, backends, supervisors. The only place that knows how
//! the parts of the engine fit together.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tollgate_core::agent::Agent;
use tollgate_core::catalog::{Origin, Rules};
use tollgate_core::glob::Glob;
use tollgate_core::id::ServerId;
use tollgate_mcp::tasks::{self, Task};

use tollgate_store::Store;

use crate::backend::Backend;
use crate::builtin;
use crate::builtin::backend::BuiltinBackend;
use crate::calibration::{self, Habit, Upkeep};
use crate::clock::{Clock, SystemClock};
use crate::gate::{Gate, Labels, Made};
use crate::meters::{Archive, Basics, Meters, Tending};
use crate::notices::Notices;
use crate::record::Observer;
use crate::registry::{self, Plan};
use crate::servers::Servers;
use crate::settings::{Server, Settings};
use crate::upstream::{Context, Upstream};
use crate::watches::{Watched, Watches};

/// What an embedding program may bring along.
#[derive(Default)]
pub struct Parts {
    /// Tools of its own, beside the built-in ones.
    pub tools: Vec<builtin::Server>,
    pub observers: Vec<Box<dyn Observer>>,
    /// Where measurements outlast the process; `None` forgets them with it.
    pub store: Option<Arc<Store>>,
    pub upkeep: Upkeep,
}

/// A gate, and the task that keeps its catalogue; the gate serves for as long as that is held.
pub struct Running {
    pub gate: Arc<Gate>,
    _keeper: Task,
    _tending: Tending,
    _calibration: Option<Task>,
}

const BUILTIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Starts everything. Returns at once; servers come up on their own, see [`Gate::settled`].
pub fn start(settings: Settings, parts: Parts) -> Running {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let mut servers = builtin::table::servers(&settings.builtin);
    servers.extend(parts.tools);
    let servers = named(servers, &settings.servers);
    let agents = match settings.agents {
        agents if agents.is_empty() => vec![Agent::implicit()],
        agents => agents,
    };
    let notices = Notices::default();
    let habit = Habit::of(&settings.budget, &settings.servers);
    let budget = settings.budget;
    let labels = labels(settings.environment.clone(), &settings.servers);
    let archive = parts.store.map(|store| Archive::new(store, settings.environment));
    let meters = Meters::new(Basics {
        clock: Arc::clone(&clock),
        rules: budget.standing,
        notices: notices.clone(),
        archive,
    });
    let builtin_rules = servers.iter().map(|(id, _)| builtin_rules(id));
    let upstream_rules = settings.servers.iter().map(rules);
    let (registry, mut keeper, updates) = registry::registry(Plan {
        rules: builtin_rules.chain(upstream_rules).map(Arc::new).collect(),
        agents: agents.clone(),
        pattern: settings.names,
        owners: Some(settings.data.join("names.json")),
        meters: Arc::clone(&meters),
    });

    let mut backends: HashMap<ServerId, Arc<dyn Backend>> = HashMap::new();
    let mut counted = Vec::new();
    for (id, server) in servers {
        let (backend, listing) = BuiltinBackend::new(server);
        counted.push((id.clone(), listing.tools.len()));
        keeper.offer(&id, listing);
        backends.insert(id, Arc::new(backend));
    }
    let context = Context { updates, clock: Arc::clone(&clock), data: settings.data };
    let mut upstreams = Vec::new();
    let mut watched: HashMap<ServerId, Arc<dyn Watched>> = HashMap::new();
    for server in settings.servers {
        let upstream = Upstream::start(server, &context);
        backends.insert(upstream.id().clone(), Arc::<Upstream>::clone(&upstream));
        watched.insert(upstream.id().clone(), Arc::<Upstream>::clone(&upstream));
        upstreams.push(upstream);
    }
    let gate = Gate::of(Made {
        registry,
        meters: Arc::clone(&meters),
        notices,
        backends,
        servers: Servers::new(counted, upstreams, clock.wall()),
        watches: Watches::new(watched),
        observers: parts.observers,
        limits: settings.limits,
        budget,
        labels,
        agents,
        default_agent: settings.default_agent,
        clock,
    });
    let by_itself = parts.upkeep == Upkeep::ByItself;
    Running {
        _calibration: by_itself.then(|| calibration::keep(&gate, habit)),
        gate,
        _keeper: tasks::spawn("registry", keeper.run()),
        _tending: meters.tend(),
    }
}

fn labels(environment: String, servers: &[Server]) -> Labels {
    let category = |server: &Server| Some((server.id.clone(), server.category.clone()?));
    Labels { environment, categories: servers.iter().filter_map(category).collect() }
}

fn rules(server: &Server) -> Rules {
    Rules {
        server: server.id.clone(),
        origin: Origin::Upstream,
        trusted: server.trusted,
        timeout: server.timeout,
        slow: server.slow_response.clone(),
        allow: server.allow.clone(),
        deny: server.deny.clone(),
        tools: server.tools.clone(),
    }
}

fn builtin_rules(server: &ServerId) -> Rules {
    Rules {
        server: server.clone(),
        origin: Origin::Builtin,
        trusted: true,
        timeout: BUILTIN_TIMEOUT,
        slow: None,
        allow: vec![Glob::new("*")],
        deny: Vec::new(),
        tools: BTreeMap::new(),
    }
}

/// A configured server keeps its id; a built-in one of the same name steps aside. Tools in process
/// are exposed under their bare names, so no tool changes its name by that.
fn named(servers: Vec<builtin::Server>, configured: &[Server]) -> Vec<(ServerId, builtin::Server)> {
    let id = |server: &builtin::Server| {
        let taken = |it: &Server| it.id.as_str().eq_ignore_ascii_case(server.name);
        let name = match configured.iter().any(taken) {
            true => format!("builtin-{}", server.name),
            false => server.name.to_owned(),
        };
        ServerId::parse(&name).expect("built-in servers have valid names")
    };
    servers.into_iter().map(|server| (id(&server), server)).collect()
}
