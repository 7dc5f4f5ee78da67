//! Interface of the admin routes to the configuration. The binary that owns the config file
//! implements it. The fronts know nothing of files. A gateway without a file refuses these routes.

use std::time::SystemTime;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tollgate_core::id::ServerId;
use tollgate_core::secret::Secret;
use tollgate_engine::settings::Server;

#[async_trait]
pub trait ConfigService: Send + Sync {
    /// The config as it is in the file.
    async fn config(&self) -> Result<RedactedConfig, ConfigServiceError>;

    /// One server as it is in the file. `None` if it is not there.
    async fn server(&self, name: &str) -> Result<Option<ServerConfigEntry>, ConfigServiceError>;

    /// The server that a config entry would result in, without adding it.
    async fn prove(&self, wanted: ProposedServer) -> Result<Server, ConfigServiceError>;

    /// Starts the OAuth login to a server. Returns the consent link.
    async fn login(&self, name: &str, by: &str) -> Result<String, ConfigServiceError>;

    /// Changes the config, or only reports the effect of a change.
    async fn change(
        &self,
        order: ConfigChangeRequest,
    ) -> Result<ConfigChangeSummary, ConfigServiceError>;

    /// Converts the config of another program. Changes nothing.
    async fn import(
        &self,
        text: &str,
        name: Option<&str>,
    ) -> Result<ImportPreview, ConfigServiceError>;

    /// Setup of client programs for a gateway at this endpoint.
    fn connect(&self, reach: &GatewayEndpoint) -> Vec<ClientSetup>;

    /// Servers of the MCP registry, in the shape of `GET /api/registry`.
    async fn registry(
        &self,
        words: &str,
        cursor: Option<&str>,
    ) -> Result<Value, ConfigServiceError>;

    /// Reloads the file.
    async fn reload(&self, by: &str) -> ReloadAttempt;

    /// The file and whether it is writable. Does not wait for a change in progress. May touch the
    /// disk.
    fn file(&self) -> ConfigFileStatus;

    /// Result of the last reload, `None` before the first one, and the counts of successes and
    /// failures.
    fn last(&self) -> (Option<ReloadAttempt>, ReloadCounts);
}

/// Status of the config file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigFileStatus {
    /// `None` while the built-in config runs.
    pub path: Option<String>,
    pub writable: bool,
}

/// Counts since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReloadCounts {
    pub applied: u64,
    pub refused: u64,
}

/// A config with its secrets redacted.
#[derive(Debug, Clone)]
pub struct RedactedConfig {
    /// `None` while the built-in config runs.
    pub file: Option<String>,
    pub version: String,
    pub text: String,
    /// The same, parsed.
    pub values: Value,
    /// Whether the file can be changed.
    pub writable: bool,
}

/// One server of a redacted config.
#[derive(Debug, Clone)]
pub struct ServerConfigEntry {
    /// Its config keys.
    pub keys: Map<String, Value>,
    /// The entry as YAML text.
    pub yaml: String,
    /// Version of the whole file.
    pub version: String,
    pub writable: bool,
}

/// A server that is not in the config. Redacted secrets in it stand for those of the file.
#[derive(Debug, Clone)]
pub struct ProposedServer {
    pub name: String,
    pub server: Map<String, Value>,
}

/// Address of a gateway, and the agent to use there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayEndpoint {
    /// `https://host:port`
    pub url: String,
    /// Agent whose tools are used. `None`: the agent of the key.
    pub agent: Option<String>,
    /// Agent that chat requests name as their model.
    pub model: String,
    pub door: GatewayAuthMode,
}

/// Whether clients need a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatewayAuthMode {
    Open,
    Locked,
}

/// Setup of one client program for this gateway.
#[derive(Debug, Clone)]
pub struct ClientSetup {
    pub id: String,
    pub name: String,
    /// File that the text belongs to, if any.
    pub file: Option<String>,
    pub language: String,
    /// With `TOLLGATE_KEY` as placeholder for a key.
    pub text: String,
    /// Install link for a person to open.
    pub link: Option<String>,
    pub note: Option<String>,
}

/// Result of converting the config of another program.
#[derive(Debug, Clone, Default)]
pub struct ImportPreview {
    /// Detected format.
    pub format: String,
    pub servers: Vec<ImportCandidate>,
    /// Agents, providers and models, by section.
    pub others: Vec<(String, ImportCandidate)>,
    /// Settings without an equivalent here, and why.
    pub dropped: Vec<(String, String)>,
    /// Secrets found in plain text, by the variables that replace them.
    pub given: Vec<(String, Secret)>,
}

#[derive(Debug, Clone)]
pub struct ImportCandidate {
    pub name: String,
    /// Its config keys.
    pub keys: Map<String, Value>,
    /// The config has an entry of this name already.
    pub clash: bool,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct ConfigChangeRequest {
    /// The principal that requested it, for logs.
    pub by: String,
    /// The version that the change is based on. `None` accepts any.
    pub version: Option<String>,
    pub change: ConfigChange,
    pub mode: ApplyMode,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ConfigChange {
    /// The whole text. Redacted secrets in it keep their values.
    Text(String),
    /// Adds a server with its config keys, for the agents that are to see its tools.
    Add {
        name: String,
        server: Map<String, Value>,
        agents: Vec<String>,
    },
    /// Replaces all keys of a server. Redacted secrets keep their values.
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

/// Whether a configured server is enabled.
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

/// A change that was made, or a preview of it.
#[derive(Debug, Clone)]
pub struct ConfigChangeSummary {
    /// Version of the file after the change.
    pub version: String,
    /// Unified diff, secrets redacted.
    pub diff: String,
    /// Warnings about the new config, in the shape of `tollgate check --json`.
    pub report: Value,
    pub effect: ReloadEffect,
}

/// Effect of a new config on the running gateway, or a preview of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReloadEffect {
    pub added: Vec<ServerId>,
    pub removed: Vec<ServerId>,
    pub restarted: Vec<ServerId>,
    pub unchanged: Vec<ServerId>,
    /// Changed keys that take effect at the next start.
    pub needs_restart: Vec<String>,
}

/// One reload of the file.
#[derive(Debug, Clone)]
pub struct ReloadAttempt {
    pub at: SystemTime,
    /// Trigger: `file`, `signal`, or the principal that asked.
    pub by: String,
    pub result: ReloadOutcome,
    /// In the shape of `tollgate check --json`.
    pub report: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReloadOutcome {
    Applied(ReloadEffect),
    /// The file did not change.
    Unchanged,
    /// The new config was refused, for this reason. The old one stays in force.
    Refused(String),
}

impl ReloadAttempt {
    /// Whether the content of the file was refused.
    pub fn is_refused(&self) -> bool {
        matches!(self.result, ReloadOutcome::Refused(_))
    }
}

/// Why a config was not shown or not changed. Nothing was modified.
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
    /// The text of another program could not be parsed.
    #[error("{0}")]
    Unreadable(String),
    /// An upstream service, the registry, failed.
    #[error("{0}")]
    Elsewhere(String),
    /// The file cannot be written. Contains the YAML to add by hand.
    #[error("{why}")]
    Unwritable { why: String, yaml: Option<String> },
    /// The server does not use OAuth login.
    #[error("{0}")]
    NoLogin(String),
    /// The authorization server failed.
    #[error("{0}")]
    NotLoggedIn(String),
    #[error("{0}")]
    Failed(String),
}
