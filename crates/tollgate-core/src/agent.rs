//! Who uses tools: what an agent is allowed to see.

use crate::budget::Tier;
use crate::glob::{self, Glob};
use crate::id::AgentId;

#[derive(Debug, Clone)]
pub struct Agent {
    pub id: AgentId,
    pub description: String,
    /// Exposed names and globs. Nothing listed, nothing visible.
    pub tools: Vec<Glob>,
    pub ceiling: Tier,
}

impl Agent {
    /// The one agent of a config without agents: sees everything.
    pub fn implicit() -> Self {
        Self {
            id: AgentId::parse("default").expect("a valid name"),
            description: "Every tool".to_owned(),
            tools: vec![Glob::new("*")],
            ceiling: Tier::Deep,
        }
    }

    pub fn may_see(&self, exposed: &str) -> bool {
        glob::any(&self.tools, exposed)
    }
}
