//! What is probed, how often, and what comes of it; against servers that do as they are told and
//! count what is asked of them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tollgate_core::agent::Agent;
use tollgate_core::catalog::{ServerListing, ServerOrigin, ServerRules};
use tollgate_core::id::{ServerId, ToolId, ToolName};
use tollgate_core::json::raw_value;
use tollgate_core::names::NamePattern;
use tollgate_core::tier_assignment;
use tollgate_core::tool::ToolOverride;
use tollgate_mcp::Era;
use tollgate_mcp::client::{Answer, AnswerKind};
use tollgate_mcp::tasks::{self, Task};

use super::{BackgroundProbing, Calibration, CalibrationScope, Outcome, spawn_background};
use crate::backend::{Backend, BackendConnection, BackendError, BackendJob};
use crate::clock::{Clock, SystemClock};
use crate::gate::{Gate, GateParts};
use crate::meters::{MeterDeps, MeterMaintenance, ToolMeters};
use crate::notices::Notices;
use crate::pins::PinStore;
use crate::policy_snapshot::PolicySnapshot;
use crate::random::SystemRandom;
use crate::registry::{self, RegistryParts};
use crate::resource_watches::ResourceWatches;
use crate::servers::ServerDirectory;
use crate::settings::{CodeModeSettings, EngineSettings};
use crate::upstream::{Change, TrialRunner, Update, UpstreamUpdateSender};
use arc_swap::ArcSwap;

mod by_command;
mod by_itself;

/// One server of a stage: what it lists, and what the operator says of it.
struct Server {
    name: &'static str,
    trusted: Trust,
    tools: Vec<Value>,
    answers: Vec<(&'static str, Value)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    Trusted,
    Untrusted,
}

/// How a tool behaves from now on.
#[derive(Clone, Copy)]
enum Does {
    Answer(u64),
    Fail(u64),
    Hang,
}

#[derive(Default)]
struct Log {
    /// Calls so far, by server and tool.
    calls: BTreeMap<String, usize>,
    /// Most calls that a server had at once, and all servers together.
    most_at_once: HashMap<String, usize>,
    at_once: HashMap<String, usize>,
    last_arguments: HashMap<String, Value>,
}

/// A server that does as it is told.
struct Scripted {
    name: &'static str,
    does: Arc<Mutex<HashMap<String, Does>>>,
    log: Arc<Mutex<Log>>,
}

struct Inside<'s>(&'s Scripted);

impl<'s> Inside<'s> {
    fn enter(server: &'s Scripted, tool: &str, params: &Value) -> Self {
        let mut log = server.log.lock();
        let name = format!("{}/{tool}", server.name);
        log.last_arguments.insert(name.clone(), params["arguments"].clone());
        *log.calls.entry(name).or_default() += 1;
        for who in [server.name, "all"] {
            let now = log.at_once.entry(who.to_owned()).or_default();
            *now += 1;
            let now = *now;
            let most = log.most_at_once.entry(who.to_owned()).or_default();
            *most = now.max(*most);
        }
        Self(server)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let mut log = self.0.log.lock();
        for who in [self.0.name, "all"] {
            *log.at_once.entry(who.to_owned()).or_default() -= 1;
        }
    }
}

struct Door(Arc<Scripted>);

#[async_trait]
impl Backend for Door {
    async fn connection(&self) -> Result<Arc<dyn BackendConnection>, BackendError> {
        Ok(Arc::<Scripted>::clone(&self.0))
    }

    async fn wait_until_available(&self, _: Instant) -> bool {
        true
    }
}

#[async_trait]
impl BackendConnection for Scripted {
    async fn run(&self, job: BackendJob<'_>) -> Result<Answer, BackendError> {
        job.departure.note();
        let params: Value = serde_json::from_str(&job.params.to_text()).unwrap();
        let tool = params["name"].as_str().unwrap_or_default().to_owned();
        let _inside = Inside::enter(self, &tool, &params);
        let does = self.does.lock().get(&tool).copied().unwrap_or(Does::Answer(10));
        let (pause, is_error) = match does {
            Does::Answer(millis) => (millis, false),
            Does::Fail(millis) => (millis, true),
            Does::Hang => std::future::pending().await,
        };
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let text = if is_error { "no\nsuch \u{1b}[31mthing" } else { "well" };
        let result = json!({"content": [{"type": "text", "text": text}], "isError": is_error});
        Ok(Answer { kind: AnswerKind::Complete, result: raw_value(&result) })
    }

    fn era(&self) -> Era {
        Era::Modern
    }
}

/// A gate over scripted servers.
struct Stage {
    gate: Arc<Gate>,
    does: Arc<Mutex<HashMap<String, Does>>>,
    log: Arc<Mutex<Log>>,
    listings: HashMap<&'static str, ServerListing>,
    updates: UpstreamUpdateSender,
    _registry_task: Task,
    _maintenance: MeterMaintenance,
}

fn reads(name: &str) -> Value {
    json!({"name": name, "annotations": {"readOnlyHint": true}, "inputSchema": {"type": "object",
        "properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]}})
}

fn writes(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

fn server(name: &'static str, tools: Vec<Value>) -> Server {
    Server { name, trusted: Trust::Trusted, tools, answers: Vec::new() }
}

fn rules(server: &Server) -> ServerRules {
    let lines = server.answers.iter().map(|(tool, arguments)| {
        let lines = ToolOverride { probe: Some(arguments.clone()), ..ToolOverride::default() };
        (ToolName::new(tool), lines)
    });
    ServerRules {
        trusted: server.trusted == Trust::Trusted,
        tools: lines.collect(),
        ..ServerRules::new(ServerId::parse(server.name).unwrap(), ServerOrigin::Upstream)
    }
}

impl Stage {
    async fn of(servers: Vec<Server>) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let notices = Notices::default();
        let meters = ToolMeters::new(MeterDeps {
            clock: Arc::clone(&clock),
            rules: tier_assignment::TierRules::default(),
            notices: notices.clone(),
            archive: None,
        });
        let agent = Agent::implicit();
        let settings =
            EngineSettings { agents: vec![agent], ..EngineSettings::new("nowhere".into()) };
        let (updates, receiver) = registry::updates();
        let plan = RegistryParts {
            rules: servers.iter().map(rules).map(Arc::new).collect(),
            policy: Arc::new(PolicySnapshot::of(&settings)),
            pattern: NamePattern::parse("{server}_{tool}").unwrap(),
            owners: None,
            meters: Arc::clone(&meters),
            book: Arc::new(PinStore::open(None).unwrap()),
            notices: notices.clone(),
            clock: Arc::new(SystemClock),
        };
        let (registry, mut registry_actor) = registry::registry(plan, receiver);
        let does = Arc::default();
        let log = Arc::default();
        let mut backends: HashMap<ServerId, Arc<dyn Backend>> = HashMap::new();
        let mut listings = HashMap::new();
        for Server { name, tools, .. } in servers {
            let id = ServerId::parse(name).unwrap();
            let tools = tools.iter().map(raw_value).collect();
            let listing = ServerListing { tools, ..ServerListing::default() };
            registry_actor.offer(&id, listing.clone());
            listings.insert(name, listing);
            let scripted = Scripted { name, does: Arc::clone(&does), log: Arc::clone(&log) };
            backends.insert(id, Arc::new(Door(Arc::new(scripted))));
        }
        let mut changes = registry.changes();
        let registry_actor = tasks::spawn("registry", registry_actor.run());
        changes.changed().await.unwrap();
        let gate = Gate::of(GateParts {
            links: Arc::default(),
            registry,
            meters: Arc::clone(&meters),
            notices,
            backends,
            servers: ServerDirectory::new(Vec::new(), Vec::new(), clock.wall()),
            trials: TrialRunner::new(Arc::clone(&clock), PathBuf::new(), None),
            watches: ResourceWatches::new(HashMap::new()),
            observers: Vec::new(),
            ledger: Arc::default(),
            code: CodeModeSettings::default(),
            memory_service: None,
            model_usage: crate::model_usage::ModelUsageMeter::open(
                Arc::clone(&clock),
                crate::settings::ModelUsageSettings::default(),
                None,
            ),
            tracer: crate::spans::Tracer::default(),
            environment: "test".to_owned(),
            clock,
            random: Arc::new(SystemRandom),
        });
        let _tending = meters.start_maintenance();
        Self {
            gate,
            does,
            log,
            listings,
            updates,
            _registry_task: registry_actor,
            _maintenance: _tending,
        }
    }

    fn set(&self, tool: &str, does: Does) {
        self.does.lock().insert(tool.to_owned(), does);
    }

    /// `s/a=5 s/b=1`: who was called how often so far.
    fn calls(&self) -> String {
        let log = self.log.lock();
        let calls = log.calls.iter().map(|(tool, times)| format!("{tool}={times}"));
        calls.collect::<Vec<_>>().join(" ")
    }

    fn calls_of(&self, tool: &str) -> usize {
        self.log.lock().calls.get(tool).copied().unwrap_or(0)
    }

    fn assigned_tier(&self, server: &str, tool: &str) -> String {
        let id = ToolId { server: ServerId::parse(server).unwrap(), tool: ToolName::new(tool) };
        self.gate.meters.assigned_tier(&id).unwrap().to_string()
    }

    /// Begins to probe by itself, every five minutes.
    fn keep(&self) -> Task {
        let probing =
            BackgroundProbing { every: Duration::from_secs(300), left_alone: HashSet::new() };
        spawn_background(&self.gate, Arc::new(ArcSwap::from_pointee(probing)))
    }

    async fn change(&self, server: &str, change: Change) {
        let server = ServerId::parse(server).unwrap();
        let mut changes = self.gate.changes();
        changes.mark_unchanged();
        self.updates.send(Update { server, change }).await.unwrap();
        changes.changed().await.unwrap();
    }
}

/// Time goes by; whatever is due happens.
async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

/// All steps, one a line: `1/4 s_a probed`.
async fn run_to_end(mut calibration: Calibration) -> String {
    let mut lines = Vec::new();
    while let Some(step) = calibration.next().await {
        let outcome = match step.outcome {
            Outcome::Probed { took } => format!("probed in {} ms", took.as_millis()),
            Outcome::Skipped { why } => why,
            Outcome::Failed { why } => format!("failed: {why}"),
        };
        lines.push(format!("{}/{} {} {outcome}", step.done, step.total, step.exposed));
    }
    lines.join("\n")
}
