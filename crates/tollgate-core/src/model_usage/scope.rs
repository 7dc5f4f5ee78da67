//! Whose use of models is counted.

use std::fmt;

use crate::id::AgentId;

/// Each has limits of its own; a request counts for all that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum UsageScope {
    /// A key or another principal, by its name.
    Key(String),
    Agent(AgentId),
    Model(String),
}

impl UsageScope {
    /// Its name in metrics.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Key(_) => "key",
            Self::Agent(_) => "agent",
            Self::Model(_) => "model",
        }
    }
}

impl fmt::Display for UsageScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(_) => f.write_str("this key"),
            Self::Agent(agent) => write!(f, "agent `{agent}`"),
            Self::Model(model) => write!(f, "model `{model}`"),
        }
    }
}
