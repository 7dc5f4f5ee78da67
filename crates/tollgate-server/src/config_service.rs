//! How the admin routes reach the configuration. The program that reads the file implements it;
//! the fronts know nothing of files, and a gateway without one refuses these routes.

use std::time::SystemTime;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tollgate_core::id::ServerId;
use tollgate_core::secret::Secret;
use tollgate_engine::settings::Server;

#[async_trait]
pub trait ConfigService: Send + Sync {
    /// The config as it stands in its file.
    async fn config(&self) -> Result<RedactedConfig, ConfigServiceError>;

    /// One server as it stands in the file; `None` if it is not there.
    async fn server(&self, name: &str) -> Result<Option<ServerConfigEntry>, ConfigServiceError>;

    /// What a server would run as, without being in the config.
    async fn prove(&self, wanted: ProposedServer) -> Result<Server, ConfigServiceError>;

    /// Begins to log in to a server that needs somebody's consent: the link for them to open.
    async fn login(&self, name: &str, by: &str) -> Result<String, ConfigServiceError>;

    /// Changes the config, or only says what would come of it.
    async fn change(
        &self,
        order: ConfigChangeRequest,
    ) -> Result<ConfigChangeSummary, ConfigServiceError>;

    /// What a text of another program would be in the config. Changes nothing.
    async fn import(
        &self,
        text: &str,
        name: Option<&str>,
    ) -> Result<ImportPreview, ConfigServiceError>;

    /// How programs come to a gateway that is reached like this.
    fn connect(&self, reach: &GatewayEndpoint) -> Vec<ClientSetup>;

    /// Servers of the MCP registry, in the shape of `GET /api/registry`.
    async fn registry(
        &self,
        words: &str,
        cursor: Option<&str>,
    ) -> Result<Value, ConfigServiceError>;

    /// Reads the file again.
    async fn reload(&self, by: &str) -> ReloadAttempt;

    /// Which file it is, and whether it can be changed: at once, whatever is being done to it. May
    /// touch the disk.
    fn file(&self) -> ConfigFileStatus;

    /// How the last reading of the file went, `None` before there was one; and how often it went
    /// well or not.
    fn last(&self) -> (Option<ReloadAttempt>, ReloadCounts);
}

/// The file of the config.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigFileStatus {
    /// `None` while what is built in runs.
    pub path: Option<String>,
    pub writable: bool,
}

/// Since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReloadCounts {
    pub applied: u64,
    pub refused: u64,
}

/// A config that may be shown: its secrets are covered.
#[derive(Debug, Clone)]
pub struct RedactedConfig {
    /// `None` while what is built in runs.
    pub file: Option<String>,
    pub version: String,
    pub text: String,
    /// The same as values.
    pub values: Value,
    /// Whether the file can be changed.
    pub writable: bool,
}

/// One server of a config that may be shown.
#[derive(Debug, Clone)]
pub struct ServerConfigEntry {
    /// As the config writes them.
    pub keys: Map<String, Value>,
    /// As it is typed.
    pub yaml: String,
    /// Of the whole file.
    pub version: String,
    pub writable: bool,
}

/// A server that somebody thinks of. Secrets that are covered in it are those of the file.
#[derive(Debug, Clone)]
pub struct ProposedServer {
    pub name: String,
    pub server: Map<String, Value>,
}

/// Where a gateway is, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayEndpoint {
    /// `https://host:port`
    pub url: String,
    /// Whose tools; `None` for whichever agent a key stands for.
    pub agent: Option<String>,
    /// The agent that chat requests may name as their model.
    pub model: String,
    pub door: GatewayAuthMode,
}

/// Whether those who come need a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatewayAuthMode {
    Open,
    Locked,
}

/// What one program needs to come here.
#[derive(Debug, Clone)]
pub struct ClientSetup {
    pub id: String,
    pub name: String,
    /// Where the text belongs, if that is a file.
    pub file: Option<String>,
    pub language: String,
    /// With `TOLLGATE_KEY` where a key belongs.
    pub text: String,
    /// Installs it, opened by a person.
    pub link: Option<String>,
    pub note: Option<String>,
}

/// What was found in a text of another program.
#[derive(Debug, Clone, Default)]
pub struct ImportPreview {
    /// What the text was taken for.
    pub format: String,
    pub servers: Vec<ImportCandidate>,
    /// Agents, providers and models, by section.
    pub others: Vec<(String, ImportCandidate)>,
    /// What has no place here, and why.
    pub dropped: Vec<(String, String)>,
    /// Secrets that were written out in the text, by the variables that now stand for them.
    pub given: Vec<(String, Secret)>,
}

#[derive(Debug, Clone)]
pub struct ImportCandidate {
    pub name: String,
    /// With its keys as the config writes them.
    pub keys: Map<String, Value>,
    /// The config has one of this name.
    pub clash: bool,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct ConfigChangeRequest {
    /// Whose wish it is, for logs.
    pub by: String,
    /// The version that the wish was made for; `None` takes any.
    pub version: Option<String>,
    pub change: ConfigChange,
    pub mode: ApplyMode,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ConfigChange {
    /// The whole text. Secrets that are covered in it stay what they are.
    Text(String),
    /// A server, with its keys as the config writes them, and the agents that are to see its tools.
    Add {
        name: String,
        server: Map<String, Value>,
        agents: Vec<String>,
    },
    /// The same server with these keys, and no others. Secrets that are covered stay what they are.
    Replace {
        name: String,
        server: Map<String, Value>,
    },
    Remove {
        name: String,
    },
    Switch {
        name: String,
        to: ServerSwitch,
    },
}

/// Whether a server of the config is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerSwitch {
    On,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApplyMode {
    Try,
    Apply,
}

/// A change that was made, or could be.
#[derive(Debug, Clone)]
pub struct ConfigChangeSummary {
    /// Of the file after it.
    pub version: String,
    /// As `diff -u` shows it, secrets covered.
    pub diff: String,
    /// What is odd about the new config, in the shape of `tollgate check --json`.
    pub report: Value,
    pub effect: ReloadEffect,
}

/// What a new config did to a gateway that runs, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReloadEffect {
    pub added: Vec<ServerId>,
    pub removed: Vec<ServerId>,
    pub restarted: Vec<ServerId>,
    pub kept: Vec<ServerId>,
    /// Keys that changed and count from the next start on.
    pub needs_restart: Vec<String>,
}

/// One reading of the file.
#[derive(Debug, Clone)]
pub struct ReloadAttempt {
    pub at: SystemTime,
    /// What made us look: `file`, `signal`, or who asked.
    pub by: String,
    pub result: ReloadOutcome,
    /// In the shape of `tollgate check --json`.
    pub report: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReloadOutcome {
    Applied(ReloadEffect),
    /// The file says what it said before.
    Unchanged,
    /// Nothing changed; this is why.
    Refused(String),
}

impl ReloadAttempt {
    /// Whether what stands in the file cannot run.
    pub fn is_refused(&self) -> bool {
        matches!(self.result, ReloadOutcome::Refused(_))
    }
}

/// Why a config is not shown or not changed. Nothing was touched.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ConfigServiceError {
    /// With the report, in the shape of `tollgate check --json`.
    #[error("the config is invalid")]
    Mistakes(Value),
    #[error("the config was changed after you read it; read it again")]
    OtherVersion,
    #[error("{0}")]
    Conflict(String),
    #[error("there is no server `{0}` in the config")]
    UnknownServer(String),
    #[error("there is no agent `{0}` in the config")]
    UnknownAgent(String),
    #[error("a server `{0}` already exists")]
    ServerExists(String),
    /// A text of another program that says nothing.
    #[error("{0}")]
    Unreadable(String),
    /// Somebody else did not answer as they should.
    #[error("{0}")]
    Elsewhere(String),
    /// It says what to write by hand.
    #[error("{why}")]
    Unwritable { why: String, yaml: Option<String> },
    /// A server that is used without anybody's consent.
    #[error("{0}")]
    NoLogin(String),
    /// Somebody else is to blame: the authorization server.
    #[error("{0}")]
    NotLoggedIn(String),
    #[error("{0}")]
    Failed(String),
}
