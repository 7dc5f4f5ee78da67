//! What the engine is told to run: checked values, made by whoever reads the config.
//! Nothing here is optional unless leaving it out means something.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tollgate_core::agent::Agent;
use tollgate_core::budget::Limits;
use tollgate_core::call::UntrustedMarking;
use tollgate_core::filter::GlobalRules;
use tollgate_core::glob::Glob;
use tollgate_core::id::{AgentId, ServerId, ToolName};
use tollgate_core::mask::MaskPattern;
use tollgate_core::names::NamePattern;
use tollgate_core::secret::Secret;
use tollgate_core::tier_assignment;
use tollgate_core::tier_selector::TierKeywords;
use tollgate_core::tool::{SlowResponse, ToolOverride, ToolReach};
use tollgate_core::trust::TrustPolicy;
use tollgate_mcp::Revision;
use tollgate_mcp::client::Credentials;

mod builtin;
mod code;
mod images;
mod memory;
mod model_usage;
mod serving;
mod telemetry;
mod web;

pub use builtin::{BuiltinSettings, MusicSettings};
pub use code::CodeModeSettings;
pub(crate) use code::sandbox_limits;
pub use images::ImageSettings;
pub use memory::{MemoryDatabaseSettings, MemorySettings};
pub use model_usage::ModelUsageSettings;
pub use serving::{
    ConcurrencySettings, RestartPolicy, RestartSettings, ServerCalibration, ServerDesiredState,
    StartMode,
};
pub use telemetry::{BaggagePolicy, EngineTelemetrySettings};
pub use tollgate_core::call_policy::{
    ApprovalLimits, ArgumentRecording, AuditDurability, ContentCapture, OnAuditFailure, ResultForm,
    SecretArgumentPolicy, SecretResultPolicy, UnapprovedCallPolicy,
};
pub use web::{SearchProvider, WebSearchSettings, WebSettings};

#[derive(Debug, Clone)]
pub struct EngineSettings {
    pub environment: String,
    /// The data directory: state that is kept over restarts.
    pub data: PathBuf,
    pub names: NamePattern,
    pub limits: Limits,
    pub approvals: ApprovalLimits,
    pub budget: TierSettings,
    /// In the order of the config: it decides who keeps a name that two want.
    pub servers: Vec<Server>,
    pub builtin: BuiltinSettings,
    pub code: CodeModeSettings,
    pub memory: MemorySettings,
    pub model_usage: ModelUsageSettings,
    /// Which tools there are for anybody.
    pub global: GlobalRules,
    pub audit: Audit,
    pub secrets: SecretSettings,
    pub telemetry: EngineTelemetrySettings,
    /// What holds for tools of servers that say nothing else, those in this process among them.
    pub trust: TrustPolicy,
    pub mark: UntrustedMarking,
    pub agents: Vec<Agent>,
    pub default_agent: Option<AgentId>,
}

impl EngineSettings {
    /// Whether any tool is called in code by models; otherwise they are not shown the means.
    pub fn has_code_mode(&self) -> bool {
        self.servers.iter().any(|server| server.reach == ToolReach::Code)
            || self.agents.iter().any(|agent| agent.persona.code_mode)
    }

    /// As it runs unless something else is said: the built-in tools, for everybody.
    pub fn new(data: PathBuf) -> Self {
        Self {
            environment: "default".to_owned(),
            names: NamePattern::default(),
            limits: Limits::default(),
            approvals: ApprovalLimits::default(),
            budget: TierSettings::default(),
            servers: Vec::new(),
            builtin: BuiltinSettings::new(data.join("files")),
            code: CodeModeSettings::default(),
            memory: MemorySettings::default(),
            model_usage: ModelUsageSettings::default(),
            global: GlobalRules::default(),
            audit: Audit::default(),
            secrets: SecretSettings::default(),
            telemetry: EngineTelemetrySettings::default(),
            trust: TrustPolicy::default(),
            mark: UntrustedMarking::Off,
            agents: Vec::new(),
            default_agent: None,
            data,
        }
    }
}

/// The latency tiers, and what puts tools and turns into them.
#[derive(Debug, Clone)]
pub struct TierSettings {
    /// What decides a tool's tier.
    pub standing: tier_assignment::TierRules,
    /// A second deep turn of a conversation sooner than this is a standard one.
    pub deep_interval: Duration,
    /// How often the tools of an idle server are measured. Zero: never.
    pub calibrate_every: Duration,
    /// Words that ask for more time, whatever the agent.
    pub keywords: TierKeywords,
}

impl Default for TierSettings {
    fn default() -> Self {
        Self {
            standing: tier_assignment::TierRules::default(),
            deep_interval: Duration::from_secs(30),
            calibrate_every: Duration::from_secs(300),
            keywords: TierKeywords::default(),
        }
    }
}

/// What the audit trail holds, and what happens when it cannot be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    pub arguments: ArgumentRecording,
    /// Names of arguments that are never kept, beside those that everybody knows.
    pub redact: Vec<String>,
    pub durable: AuditDurability,
    pub on_failure: OnAuditFailure,
    /// How long a row is kept at least; `None`: for ever.
    pub keep: Option<Duration>,
    pub keep_rows: u64,
}

impl Default for Audit {
    fn default() -> Self {
        Self {
            arguments: ArgumentRecording::None,
            redact: Vec::new(),
            durable: AuditDurability::Mutating,
            on_failure: OnAuditFailure::Refuse,
            keep: Some(Duration::from_secs(90 * 24 * 3_600)),
            keep_rows: 10_000_000,
        }
    }
}

/// What becomes of secrets in calls.
#[derive(Debug, Clone)]
pub struct SecretSettings {
    pub arguments: SecretArgumentPolicy,
    pub results: SecretResultPolicy,
    /// What else is one.
    pub patterns: Vec<MaskPattern>,
}

impl Default for SecretSettings {
    fn default() -> Self {
        let arguments = SecretArgumentPolicy::Passed;
        let results = SecretResultPolicy::Passed;
        Self { arguments, results, patterns: Vec::new() }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    pub id: ServerId,
    pub transport: ServerTransport,
    pub protocol: ProtocolSelection,
    /// May its annotations allow retries, caching, probes?
    pub trusted: bool,
    /// What becomes of its new, changed and suspicious tools.
    pub trust: TrustPolicy,
    /// Whether models read its results as they are.
    pub results: ResultForm,
    /// Whether models read in the text that a result is its.
    pub mark: UntrustedMarking,
    pub calibrate: ServerCalibration,
    pub state: ServerDesiredState,
    pub start: StartMode,
    pub restart: RestartSettings,
    pub timeout: Duration,
    pub slow_response: Option<SlowResponse>,
    pub allow: Vec<Glob>,
    pub deny: Vec<Glob>,
    pub tools: BTreeMap<ToolName, ToolOverride>,
    pub category: Option<String>,
    pub slots: ConcurrencySettings,
    /// Whether models call its tools by their names, or in code.
    pub reach: ToolReach,
}

impl Server {
    /// As it is run unless something else is said.
    pub fn new(id: ServerId, transport: ServerTransport) -> Self {
        Self {
            id,
            transport,
            protocol: ProtocolSelection::Auto,
            trusted: false,
            trust: TrustPolicy::default(),
            results: ResultForm::Clean,
            mark: UntrustedMarking::Off,
            calibrate: ServerCalibration::ByItself,
            state: ServerDesiredState::Enabled,
            start: StartMode::Eager,
            restart: RestartSettings::default(),
            timeout: Duration::from_secs(10),
            slow_response: None,
            allow: vec![Glob::new("*")],
            deny: Vec::new(),
            tools: BTreeMap::new(),
            category: None,
            slots: ConcurrencySettings::default(),
            reach: ToolReach::Direct,
        }
    }

    /// Whether a server that runs as `other` says need not be started again to run as this one
    /// says: only what the gate makes of it is different.
    pub fn runs_like(&self, other: &Self) -> bool {
        self.run() == other.run()
    }

    /// Without what only concerns the gate. Whatever is not named here is about the running.
    fn run(&self) -> Self {
        Self {
            trusted: false,
            trust: TrustPolicy::default(),
            results: ResultForm::Clean,
            mark: UntrustedMarking::Off,
            calibrate: ServerCalibration::ByItself,
            timeout: Duration::ZERO,
            slow_response: None,
            allow: Vec::new(),
            deny: Vec::new(),
            tools: BTreeMap::new(),
            category: None,
            reach: ToolReach::Direct,
            ..self.clone()
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerTransport {
    Stdio(StdioCommand),
    StreamableHttp(HttpEndpoint),
    /// HTTP+SSE of 2024-11-05.
    Sse(HttpEndpoint),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StdioCommand {
    /// Never empty; the first word is the program.
    pub words: Vec<String>,
    /// Added to the clean base environment.
    pub env: BTreeMap<String, Secret>,
    pub cwd: Option<PathBuf>,
    pub sandbox: ServerSandbox,
}

impl StdioCommand {
    /// Only the words; they must not be empty.
    pub fn new(words: Vec<String>) -> Self {
        Self { words, env: BTreeMap::new(), cwd: None, sandbox: ServerSandbox::default() }
    }
}

/// What the process of a server may do. File rules, a closed network and frozen privileges need a
/// launcher, see [`crate::confine`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerSandbox {
    pub limits: ProcessLimits,
    /// Files and directories it may read and run, and those it may read and change. With both
    /// empty there are no file rules; otherwise everything else is closed, but for what any
    /// program needs.
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    pub network: NetworkAccess,
    pub privileges: Privileges,
    pub gateway_files: GatewayFiles,
}

impl ServerSandbox {
    /// Nothing is limited and nothing is closed.
    pub fn none() -> Self {
        Self {
            limits: ProcessLimits {
                memory_bytes: None,
                cpu_seconds: None,
                open_files: None,
                processes: None,
                file_bytes: None,
            },
            privileges: Privileges::AsFound,
            gateway_files: GatewayFiles::Open,
            ..Self::default()
        }
    }

    pub fn has_file_rules(&self) -> bool {
        !self.read.is_empty() || !self.write.is_empty()
    }
}

/// Kept by the kernel for each process of a server, not for all of them together. `None`: no
/// limit but the gateway's own. It travels to the launcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessLimits {
    /// Memory of its own that it may write to.
    pub memory_bytes: Option<u64>,
    pub cpu_seconds: Option<u64>,
    pub open_files: Option<u64>,
    /// Processes and threads of the whole user.
    pub processes: Option<u64>,
    pub file_bytes: Option<u64>,
}

impl Default for ProcessLimits {
    fn default() -> Self {
        Self {
            memory_bytes: Some(4096 << 20),
            cpu_seconds: None,
            open_files: Some(1024),
            processes: None,
            file_bytes: Some(4096 << 20),
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum NetworkAccess {
    #[default]
    Allow,
    Deny,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Privileges {
    /// Nothing it runs gains any (`sudo`, setuid), and it is kept apart from other processes.
    #[default]
    Frozen,
    AsFound,
}

/// Whether a server can open the gateway's config, its data directory and its secret files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GatewayFiles {
    /// Where the kernel cannot do that, the server is not started.
    #[default]
    Closed,
    Open,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpEndpoint {
    /// http or https, with a host, without credentials.
    pub url: String,
    pub headers: BTreeMap<String, Secret>,
    pub auth: ServerAuth,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerAuth {
    None,
    /// Sent as `authorization: Bearer …`; written in the config with or without that word.
    Token(Secret),
    ClientCredentials(ClientCredentials),
    /// A person consents once; the tokens are kept.
    Login(OauthLoginSettings),
    Brought(ProvidedCredentials),
}

/// OAuth 2.1 authorization code, by `tollgate servers login`.
#[derive(Default, Debug, Clone, PartialEq, Eq)]
pub struct OauthLoginSettings {
    /// `None`: the gateway registers itself.
    pub client_id: Option<String>,
    pub client_secret: Option<Secret>,
    /// The authorization server that it must be.
    pub issuer: Option<String>,
    /// Empty: what the server asks for.
    pub scopes: Vec<String>,
}

/// Credentials that an embedding program brings along.
#[derive(Clone)]
pub struct ProvidedCredentials(pub Arc<dyn Credentials>);

impl fmt::Debug for ProvidedCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<credentials>")
    }
}

impl PartialEq for ProvidedCredentials {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ProvidedCredentials {}

/// OAuth 2.1 client credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCredentials {
    pub client_id: String,
    pub client_secret: Secret,
    /// Found by discovery when it is not given.
    pub token_url: Option<String>,
    pub scopes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtocolSelection {
    /// Ask the server which era it speaks.
    Auto,
    Pinned(Revision),
}
