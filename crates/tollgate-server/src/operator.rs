//! How the admin routes reach the configuration. The program that reads the file implements it;
//! the fronts know nothing of files, and a gateway without one refuses these routes.

use std::time::SystemTime;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tollgate_core::id::ServerId;

#[async_trait]
pub trait Operator: Send + Sync {
    /// The config as it stands in its file.
    async fn config(&self) -> Result<Shown, Refused>;

    /// Changes the config, or only says what would come of it.
    async fn change(&self, order: Order) -> Result<Changed, Refused>;

    /// Reads the file again.
    async fn reload(&self, by: &str) -> Attempt;

    /// How the last reading of the file went, `None` before there was one; and how often it went
    /// well or not.
    fn last(&self) -> (Option<Attempt>, Tally);
}

/// Since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub applied: u64,
    pub refused: u64,
}

/// A config that may be shown: its secrets are covered.
#[derive(Debug, Clone)]
pub struct Shown {
    /// `None` while what is built in runs.
    pub file: Option<String>,
    pub version: String,
    pub text: String,
    /// The same as values.
    pub values: Value,
}

#[derive(Debug, Clone)]
pub struct Order {
    /// Whose wish it is, for logs.
    pub by: String,
    /// The version that the wish was made for; `None` takes any.
    pub version: Option<String>,
    pub change: Change,
    pub mode: Mode,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The whole text. Secrets that are covered in it stay what they are.
    Text(String),
    /// A server, with its keys as the config writes them.
    Add {
        name: String,
        server: Map<String, Value>,
    },
    Remove {
        name: String,
    },
    Switch {
        name: String,
        to: Switch,
    },
}

/// Whether a server of the config is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    On,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Try,
    Apply,
}

/// A change that was made, or could be.
#[derive(Debug, Clone)]
pub struct Changed {
    /// Of the file after it.
    pub version: String,
    /// As `diff -u` shows it, secrets covered.
    pub diff: String,
    /// What is odd about the new config, in the shape of `tollgate check --json`.
    pub report: Value,
    pub effect: Effect,
}

/// What a new config did to a gateway that runs, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Effect {
    pub added: Vec<ServerId>,
    pub removed: Vec<ServerId>,
    pub restarted: Vec<ServerId>,
    pub kept: Vec<ServerId>,
    /// Keys that changed and count from the next start on.
    pub needs_restart: Vec<String>,
}

/// One reading of the file.
#[derive(Debug, Clone)]
pub struct Attempt {
    pub at: SystemTime,
    /// What made us look: `file`, `signal`, or who asked.
    pub by: String,
    pub result: Outcome,
    /// In the shape of `tollgate check --json`.
    pub report: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Applied(Effect),
    /// The file says what it said before.
    Unchanged,
    /// Nothing changed; this is why.
    Refused(String),
}

impl Attempt {
    /// Whether what stands in the file cannot run.
    pub fn is_refused(&self) -> bool {
        matches!(self.result, Outcome::Refused(_))
    }
}

/// Why a config is not shown or not changed. Nothing was touched.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Refused {
    /// With the report, in the shape of `tollgate check --json`.
    #[error("the config has mistakes")]
    Mistakes(Value),
    #[error("the config is not what it was when you read it; read it again")]
    OtherVersion,
    #[error("{0}")]
    Conflict(String),
    #[error("there is no server `{0}` in the config")]
    UnknownServer(String),
    #[error("there is a server `{0}` already")]
    ServerExists(String),
    /// It says what to write by hand.
    #[error("{0}")]
    Unwritable(String),
    #[error("{0}")]
    Failed(String),
}
