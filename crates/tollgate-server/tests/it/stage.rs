//! A test gateway on a free port: a gate with a few in-process tools and, where a test needs one, a
//! scripted upstream server.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tollgate_core::agent::Agent;
use tollgate_core::budget::{Ceilings, Tier};
use tollgate_core::filter::GlobalRules;
use tollgate_core::glob::Glob;
use tollgate_core::id::{AgentId, ServerId};
use tollgate_core::names::NamePattern;
use tollgate_core::trust::TrustPolicy;
use tollgate_engine::audit::AuditLedger;
use tollgate_engine::builtin::{
    self, BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError,
};
use tollgate_engine::clock::{Clock as _, SystemClock};
use tollgate_engine::gate::Gate;
use tollgate_engine::settings::{
    CodeModeSettings, EngineSettings, HttpEndpoint, ModelUsageSettings, ProtocolSelection,
    RestartSettings, Server as UpstreamSettings, ServerAuth, ServerCalibration, ServerTransport,
};
use tollgate_engine::{Parts, RunningEngine};
use tollgate_mcp::tasks::{self, Task};
use tollgate_mcp::{Revision, header};
use tollgate_server::config_service::ConfigService;
use tollgate_server::keyring::Keyring;
use tollgate_server::telephony::TelephonySettings;
use tollgate_server::tls::TlsIdentity;
use tollgate_server::{
    ApiKey, Fingerprint, HttpServer, HttpServerOptions, IncomingCallSettings, Limits, Rights, oidc,
};
use tollgate_store::Store;
use tollgate_store::memory::MemoryStore;

/// The token of whoever runs the gateway.
pub(crate) const ADMIN: &str = "the-token-of-the-admin";

pub(crate) struct Stage {
    pub(crate) address: SocketAddr,
    pub(crate) front: HttpServer,
    pub(crate) gate: Arc<Gate>,
    pub(crate) seen: Arc<Seen>,
    pub(crate) stop: CancellationToken,
    pub(crate) serving: Task,
    pub(crate) running: RunningEngine,
    /// What it was started with.
    pub(crate) settings: EngineSettings,
    directory: Directory,
}

/// What the tools in process saw.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) calls: Mutex<Vec<String>>,
    /// Calls that were dropped before they ended.
    pub(crate) cancelled: AtomicUsize,
    pub(crate) finished: AtomicUsize,
}

#[derive(Default)]
pub(crate) struct Setup {
    pub(crate) upstream: Option<SocketAddr>,
    /// Further servers. Each is waited for until its tool `say` is there.
    pub(crate) servers: Vec<UpstreamSettings>,
    pub(crate) keys: Vec<ApiKey>,
    /// Of web pages that may open live sessions.
    pub(crate) origins: Vec<String>,
    /// Whose tokens let in.
    pub(crate) auth: Option<oidc::OidcConfig>,
    pub(crate) limits: Limits,
    pub(crate) telephony: TelephonySettings,
    /// Of all agents.
    pub(crate) ceiling: Option<Tier>,
    /// Where the walls of the tiers stand.
    pub(crate) ceilings: Ceilings,
    pub(crate) operator: Option<Arc<dyn ConfigService>>,
    /// Further servers in process.
    pub(crate) tools: Vec<builtin::Server>,
    /// Instead of the usual two, if there are any.
    pub(crate) agents: Vec<Agent>,
    pub(crate) global: GlobalRules,
    /// What holds for the tools in process.
    pub(crate) trust: TrustPolicy,
    /// How upstream tools are called.
    pub(crate) names: NamePattern,
    pub(crate) models: tollgate_llm::settings::LlmSettings,
    pub(crate) incoming_calls: Vec<IncomingCallSettings>,
    pub(crate) model_usage: ModelUsageSettings,
    pub(crate) memory: Remembers,
    pub(crate) trail: Trail,
    /// Served over TLS as whom.
    pub(crate) tls: Option<TlsIdentity>,
}

/// Whether there is a memory, in the stage's own directory.
#[derive(Default)]
pub(crate) enum Remembers {
    #[default]
    Nothing,
    All,
}

/// Whether calls and decisions are kept, and keys with them, in a file that others may open, too.
#[derive(Default)]
pub(crate) enum Trail {
    #[default]
    None,
    Recorded,
}

/// Returns when ten seconds or more of the day (UTC) are left: limits per day begin anew at midnight.
async fn wait_past_midnight() {
    let since_epoch = SystemClock.wall().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let left = 86_400 - since_epoch % 86_400;
    if left < 10 {
        tokio::time::sleep(Duration::from_secs(left)).await;
    }
}

impl Stage {
    pub(crate) async fn start() -> Self {
        Self::with(Setup::default()).await
    }

    pub(crate) async fn with(setup: Setup) -> Self {
        wait_past_midnight().await;
        let directory = Directory::new();
        let seen = Arc::new(Seen::default());
        let tools = builtin::Server { name: "test", tools: test_tools(&seen) };
        let tools = std::iter::once(tools).chain(setup.tools).collect();
        let memory = match setup.memory {
            Remembers::Nothing => None,
            Remembers::All => {
                Some(Arc::new(MemoryStore::open_sqlite(&directory.0.join("memory.db")).unwrap()))
            }
        };
        let clock = Arc::new(SystemClock);
        let (store, ledger) = match setup.trail {
            Trail::None => (Store::in_memory().unwrap(), Arc::default()),
            Trail::Recorded => {
                let store = Store::open(&directory.0.join("tollgate.db")).unwrap();
                let audit = tollgate_engine::settings::Audit::default();
                let trail = store.audit().unwrap();
                let ledger = AuditLedger::open(trail, &audit, Arc::<SystemClock>::clone(&clock));
                (store, Arc::new(ledger.unwrap()))
            }
        };
        let parts = Parts { tools, memory, ledger, ..Parts::default() };
        let first = match (setup.upstream, &setup.names) {
            (None, _) => "echo",
            (Some(_), NamePattern::PassThrough) => "count",
            (Some(_), NamePattern::Joined(_)) => "up_count",
        };
        let mut awaited = vec![first.to_owned()];
        awaited.extend(setup.servers.iter().map(|server| format!("{}_say", server.id)));
        let mut settings = settings(&directory.0, setup.upstream);
        settings.servers.extend(setup.servers);
        settings.global = setup.global;
        settings.trust = setup.trust;
        settings.names = setup.names;
        settings.model_usage = setup.model_usage;
        settings.budget.standing.ceilings = setup.ceilings;
        if !setup.agents.is_empty() {
            settings.agents = setup.agents;
        }
        settings
            .agents
            .iter_mut()
            .filter(|agent| agent.ceiling.is_none())
            .for_each(|agent| agent.ceiling = setup.ceiling);
        let running = tollgate_engine::start(&settings, parts).unwrap();
        let gate = Arc::clone(&running.gate);
        gate.wait_until_settled().await;
        for tool in awaited {
            wait_for(&gate, &tool).await;
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let admin = Some(Fingerprint::of(ADMIN.as_bytes()));
        let keyring = Keyring::new(Arc::new(store), clock);
        let options = HttpServerOptions {
            hosts: Vec::new(),
            origins: setup.origins,
            keys: setup.keys,
            keyring: Some(Arc::new(keyring)),
            admin,
            auth: setup.auth,
            limits: setup.limits,
            models: setup.models,
            telephony: setup.telephony,
            incoming_calls: setup.incoming_calls,
        };
        let server = HttpServer::new(Arc::clone(&gate), &options).unwrap();
        server.set_identity(setup.tls);
        let front = server.clone();
        if let Some(operator) = setup.operator {
            server.operated_by(operator);
        }
        let stop = CancellationToken::new();
        let token = stop.clone();
        let serving = tasks::spawn("server", async move { server.serve(listener, token).await });
        Self { address, front, gate, seen, stop, serving, running, settings, directory }
    }

    /// Where its files are.
    pub(crate) fn data(&self) -> &std::path::Path {
        &self.directory.0
    }

    pub(crate) fn calls(&self) -> usize {
        self.seen.calls.lock().len()
    }

    /// Waits until so many calls have reached the tools in process.
    pub(crate) async fn call_tool(&self, requested: usize) {
        let arrived = async {
            while self.calls() < requested {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), arrived).await.expect("called in time");
    }

    /// Waits until the count is reached, for a while.
    pub(crate) async fn reaches(&self, count: &AtomicUsize, requested: usize) {
        for _ in 0..200 {
            if count.load(Ordering::SeqCst) >= requested {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{} instead of {requested}", count.load(Ordering::SeqCst));
    }
}

/// A key for every agent.
pub(crate) fn key(name: &str, secret: &str, rights: Rights) -> ApiKey {
    ApiKey { rights, ..ApiKey::new(name, Fingerprint::of(secret.as_bytes())) }
}

/// Until the tool is in the catalogue.
async fn wait_for(gate: &Gate, tool: &str) {
    let mut changes = gate.changes();
    let listed = async {
        while gate.catalog().tool(tool).is_none() {
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(30), listed).await.expect("listed in time");
}

/// `sage` sees only `echo`; `default` sees everything.
fn settings(directory: &std::path::Path, upstream: Option<SocketAddr>) -> EngineSettings {
    let agent = |name: &str, tools: &[&str]| Agent {
        id: AgentId::parse(name).unwrap(),
        tools: tools.iter().map(|pattern| Glob::new(*pattern)).collect(),
        ..Agent::implicit()
    };
    EngineSettings {
        environment: "test".to_owned(),
        limits: tollgate_core::budget::Limits {
            global: Duration::from_secs(20),
            ..tollgate_core::budget::Limits::default()
        },
        servers: upstream.map(scripted).into_iter().collect(),
        agents: vec![agent("default", &["*"]), agent("sage", &["echo"])],
        code: CodeModeSettings { worker: worker(), ..CodeModeSettings::default() },
        ..EngineSettings::new(directory.to_owned())
    }
}

/// Where it lies once a test has asked for it: most tests run no programs.
fn worker() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let built = own.parent().and_then(std::path::Path::parent).unwrap();
    built.join("tollgate-worker")
}

fn scripted(address: SocketAddr) -> UpstreamSettings {
    server("up", at(address), Revision::NEWEST_LEGACY)
}

pub(crate) fn at(address: SocketAddr) -> ServerTransport {
    let url = format!("http://{address}/mcp");
    ServerTransport::StreamableHttp(HttpEndpoint {
        url,
        headers: BTreeMap::new(),
        auth: ServerAuth::None,
    })
}

pub(crate) fn server(id: &str, transport: ServerTransport, revision: Revision) -> UpstreamSettings {
    UpstreamSettings {
        protocol: ProtocolSelection::Pinned(revision),
        calibrate: ServerCalibration::OnCommand,
        restart: RestartSettings {
            backoff: Duration::from_millis(50),
            ..RestartSettings::default()
        },
        ..UpstreamSettings::new(ServerId::parse(id).unwrap(), transport)
    }
}

fn test_tools(seen: &Arc<Seen>) -> Vec<Box<dyn BuiltinTool>> {
    let tool = |name, properties| TestTool { name, properties, seen: Arc::clone(seen) };
    let text = json!({"text": {"type": "string"}});
    let mirrored = json!({
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
    });
    vec![
        Box::new(tool("echo", text)),
        Box::new(tool("wait", json!({"ms": {"type": "integer"}}))),
        Box::new(tool("boom", json!({}))),
        Box::new(tool("mirrored", mirrored)),
    ]
}

struct TestTool {
    name: &'static str,
    properties: Value,
    seen: Arc<Seen>,
}

#[async_trait]
impl BuiltinTool for TestTool {
    fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "description": "A tool for tests",
            "inputSchema": {"type": "object", "properties": self.properties},
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        _: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        self.seen.calls.lock().push(self.name.to_owned());
        let text = |text: &str| Ok(BuiltinReply { text: text.to_owned(), structured: None });
        match self.name {
            "boom" => panic!("a tool that panics"),
            "wait" => {
                let mut guard = Guard { seen: &self.seen, ended: false };
                let ms = arguments.get("ms").and_then(Value::as_u64).unwrap_or(0);
                tokio::time::sleep(Duration::from_millis(ms)).await;
                guard.ended = true;
                text("waited")
            }
            _ => text(arguments.get("text").and_then(Value::as_str).unwrap_or("nothing")),
        }
    }
}

/// Notices a call that is dropped.
struct Guard<'a> {
    seen: &'a Seen,
    ended: bool,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let count = if self.ended { &self.seen.finished } else { &self.seen.cancelled };
        count.fetch_add(1, Ordering::SeqCst);
    }
}

pub(crate) struct Directory(pub(crate) PathBuf);

impl Directory {
    pub(crate) fn new() -> Self {
        let name = format!("tollgate-server-test-{:032x}", rand::random::<u128>());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(path.join("files")).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The headers of a modern request, as its body wants them.
pub(crate) fn modern_headers(method: &str, params: &Value) -> Vec<(String, String)> {
    let mut headers = vec![
        ("mcp-protocol-version".to_owned(), "2026-07-28".to_owned()),
        ("mcp-method".to_owned(), method.to_owned()),
    ];
    let named = header::named_by(method).and_then(|key| params.get(key)).and_then(Value::as_str);
    if let Some(name) = named {
        let value = header::encode(name).to_str().unwrap().to_owned();
        headers.push(("mcp-name".to_owned(), value));
    }
    headers
}
