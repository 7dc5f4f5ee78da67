use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tollgate_core::agent::Agent;
use tollgate_core::budget::Deadline;
use tollgate_core::call::{CallStatus, GateRequest, RequestKind, TaskVerb};
use tollgate_core::catalog::{ServerListing, ServerOrigin, ServerRules};
use tollgate_core::glob::Glob;
use tollgate_core::id::{AgentId, ServerId};
use tollgate_core::json::{Object, raw, raw_value};
use tollgate_core::names::NamePattern;
use tollgate_core::policy::PermitError;
use tollgate_core::tier_assignment;
use tollgate_core::turn::{Actor, Principal, Turn};
use tollgate_mcp::client::{Answer, AnswerKind, Event, ProgressReporting, ServerEventSender};
use tollgate_mcp::meta::ClientFacts;
use tollgate_mcp::tasks::{self, Task};
use tollgate_mcp::{Era, Revision};

use super::{Gate, GateParts, TaskRequest, TurnRequest};
use crate::audit::AuditLedger;
use crate::backend::{
    Backend, BackendConnection, BackendError, BackendJob, Peer, PeerAddress, WaitsFor,
};
use crate::caller::{CallError, Caller, Dialogue, Reply, RoundAnswers};
use crate::clock::{Clock, SystemClock};
use crate::dialogue::ask;
use crate::meters::{MeterDeps, ToolMeters};
use crate::notices::Notices;
use crate::pins::PinStore;
use crate::policy_snapshot::PolicySnapshot;
use crate::random::{RandomSource, SystemRandom};
use crate::record::{CallRecord, Observer};
use crate::registry::{self, RegistryParts};
use crate::resource_watches::ResourceWatches;
use crate::servers::ServerDirectory;
use crate::settings::{Audit, CodeModeSettings, EngineSettings, SecretSettings};
use crate::upstream::{TrialRunner, UpstreamUpdateSender};

mod audit_trail;
mod calls;
mod dialogue;
mod door;
mod leave;
mod limits;
mod reuse;
mod secrets;
mod simulation;
mod trust;

/// What a scripted server gets to see of a job.
struct Seen {
    name: String,
    params: Value,
    events: Option<ServerEventSender>,
    waits: Option<watch::Receiver<WaitsFor>>,
    progress: ProgressReporting,
}

type Script = Box<dyn Fn(Seen) -> BoxFuture<'static, Result<Answer, BackendError>> + Send + Sync>;

/// A server that does what the test says, after as many milliseconds in a queue as the call says.
/// Counts the calls that were begun and dropped.
struct Scripted {
    era: Era,
    script: Script,
    dropped: Arc<Mutex<usize>>,
}

struct Server(Arc<Scripted>);

struct CountDrop(Arc<Mutex<usize>>, bool);

impl Drop for CountDrop {
    fn drop(&mut self) {
        if !self.1 {
            *self.0.lock() += 1;
        }
    }
}

#[async_trait]
impl Backend for Server {
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
        let params: Value = serde_json::from_str(&job.params.to_text()).unwrap();
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        if let Some(millis) = params["arguments"]["queue"].as_u64() {
            tokio::time::sleep(Duration::from_millis(millis)).await;
        }
        job.departure.note();
        let mut guard = CountDrop(Arc::clone(&self.dropped), false);
        let answer = (self.script)(Seen {
            name,
            params,
            events: job.events,
            waits: job.waits,
            progress: job.progress,
        })
        .await;
        guard.1 = true;
        answer
    }

    fn era(&self) -> Era {
        self.era
    }

    fn peer(&self) -> Option<Peer<'_>> {
        let revision = match self.era {
            Era::Modern => Revision::V2026_07_28,
            Era::Legacy => Revision::V2025_11_25,
        };
        Some(Peer { place: &PeerAddress::Pipe, revision })
    }
}

/// A gate over one scripted server `s` with the tools `a`, `b`, `hidden`; the agent sees all but
/// the hidden one.
struct TestGate {
    gate: Arc<Gate>,
    dropped: Arc<Mutex<usize>>,
    records: Arc<Mutex<Vec<String>>>,
    /// Held, so that the registry goes on.
    updates: UpstreamUpdateSender,
    _registry_task: Task,
}

struct Remember(Arc<Mutex<Vec<String>>>);

impl Observer for Remember {
    fn observe(&self, record: &CallRecord) {
        self.0.lock().push(format!("{} {}", record.name, record.end.as_str()));
    }
}

async fn gate<F>(era: Era, script: F) -> TestGate
where
    F: Fn(Seen) -> BoxFuture<'static, Result<Answer, BackendError>> + Send + Sync + 'static,
{
    gate_of(era, |_, _| {}, script).await
}

/// The same, with other rules for the server, or other tools.
async fn gate_of<F>(
    era: Era,
    change: impl FnOnce(&mut ServerRules, &mut Vec<Value>),
    script: F,
) -> TestGate
where
    F: Fn(Seen) -> BoxFuture<'static, Result<Answer, BackendError>> + Send + Sync + 'static,
{
    gate_with(era, RecordingStage::default(), change, script).await
}

/// Where the records of calls go, and how; and what time and chance are.
struct RecordingStage {
    ledger: Arc<AuditLedger>,
    audit: Audit,
    secrets: SecretSettings,
    /// Beside the one that remembers names and ends.
    observers: Vec<Box<dyn Observer>>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn RandomSource>,
}

impl Default for RecordingStage {
    fn default() -> Self {
        Self {
            ledger: Arc::default(),
            audit: Audit::default(),
            secrets: SecretSettings::default(),
            observers: Vec::new(),
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
        }
    }
}

async fn gate_with<F>(
    era: Era,
    stage: RecordingStage,
    change: impl FnOnce(&mut ServerRules, &mut Vec<Value>),
    script: F,
) -> TestGate
where
    F: Fn(Seen) -> BoxFuture<'static, Result<Answer, BackendError>> + Send + Sync + 'static,
{
    let server = ServerId::parse("s").unwrap();
    let mut tools = ["a", "b", "hidden"].map(tool).to_vec();
    let mut rules = ServerRules::new(server, ServerOrigin::Upstream);
    change(&mut rules, &mut tools);
    let agent = Agent { tools: vec![Glob::new("s_a"), Glob::new("s_b")], ..Agent::implicit() };
    gate_for(agent, stage, era, rules, tools, script).await
}

/// The same for another agent.
async fn gate_for<F>(
    agent: Agent,
    stage: RecordingStage,
    era: Era,
    rules: ServerRules,
    tools: Vec<Value>,
    script: F,
) -> TestGate
where
    F: Fn(Seen) -> BoxFuture<'static, Result<Answer, BackendError>> + Send + Sync + 'static,
{
    let server = rules.server.clone();
    let RecordingStage { ledger, audit, secrets, mut observers, clock, random } = stage;
    let notices = Notices::default();
    let meters = ToolMeters::new(MeterDeps {
        clock: Arc::clone(&clock),
        rules: tier_assignment::TierRules::default(),
        notices: notices.clone(),
        archive: None,
    });
    let settings = EngineSettings {
        agents: vec![agent],
        audit,
        secrets,
        ..EngineSettings::new("nowhere".into())
    };
    let (updates, receiver) = registry::updates();
    let plan = RegistryParts {
        rules: vec![Arc::new(rules)],
        policy: Arc::new(PolicySnapshot::of(&settings)),
        pattern: NamePattern::parse("{server}_{tool}").unwrap(),
        owners: None,
        meters: Arc::clone(&meters),
        book: Arc::new(PinStore::open(None).unwrap()),
        notices: notices.clone(),
        clock: Arc::clone(&clock),
    };
    let (registry, mut registry_actor) = registry::registry(plan, receiver);
    registry_actor.offer(&server, listing(&tools));
    let mut changes = registry.changes();
    let registry_actor = tasks::spawn("registry", registry_actor.run());
    changes.changed().await.unwrap();
    let dropped = Arc::new(Mutex::new(0));
    let records = Arc::new(Mutex::new(Vec::new()));
    let backend: Arc<dyn Backend> = Arc::new(Server(Arc::new(Scripted {
        era,
        script: Box::new(script),
        dropped: Arc::clone(&dropped),
    })));
    observers.push(Box::new(Remember(Arc::clone(&records))));
    let gate = Gate::of(GateParts {
        links: Arc::default(),
        registry,
        meters,
        notices,
        backends: HashMap::from([(server, backend)]),
        servers: ServerDirectory::new(Vec::new(), Vec::new(), clock.wall()),
        trials: TrialRunner::new(Arc::clone(&clock), PathBuf::new(), None),
        watches: ResourceWatches::new(HashMap::new()),
        observers,
        ledger,
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
        random,
    });
    TestGate { gate, dropped, records, updates, _registry_task: registry_actor }
}

fn tool(name: &str) -> Value {
    json!({
        "name": name,
        "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}},
    })
}

fn listing(tools: &[Value]) -> ServerListing {
    ServerListing { tools: tools.iter().map(raw_value).collect(), ..ServerListing::default() }
}

impl TestGate {
    fn turn(&self) -> Turn {
        self.turn_of("ada")
    }

    fn turn_of(&self, principal: &str) -> Turn {
        let principal = Principal::from_name(principal);
        let turn_request = TurnRequest::by(Actor::endless(principal));
        self.gate.turn(turn_request).unwrap()
    }

    async fn call(&self, params: &str, caller: Caller<'_>) -> Result<Reply, CallError> {
        self.gate.call(&self.turn(), request(params), caller).await
    }
}

fn request(params: &str) -> GateRequest<'_> {
    GateRequest { kind: RequestKind::CallTool, params: Object::parse(params).unwrap() }
}

fn text(text: &str) -> Answer {
    let result = json!({"content": [{"type": "text", "text": text}]});
    Answer { kind: AnswerKind::Complete, result: raw_value(&result) }
}

fn asking(result: &Value) -> Answer {
    Answer { kind: AnswerKind::InputRequired, result: raw_value(result) }
}

/// What a reply says, short: `ok hello`, `timeout …`.
fn describe_reply(reply: &Result<Reply, CallError>) -> String {
    match reply {
        Ok(Reply::Tool(outcome)) => {
            let result: Value = serde_json::from_str(outcome.result.get()).unwrap();
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            format!("{} {text}", outcome.status)
        }
        Ok(Reply::Result(result) | Reply::Task(result)) => result.get().to_owned(),
        Ok(Reply::InputRequired(_)) => "input required".to_owned(),
        Err(error) => format!("error: {error}"),
    }
}

fn nobody() -> ClientFacts {
    ClientFacts::default()
}

fn someone() -> ClientFacts {
    ClientFacts { capabilities: Some(raw(r#"{"elicitation":{}}"#.to_owned())), ..nobody() }
}
