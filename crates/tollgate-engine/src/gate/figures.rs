//! Figures of tools, for whoever compares tools or installations.

use tollgate_core::id::{ServerId, ToolId};
use tollgate_core::score::Aggregate;

use super::Gate;

impl Gate {
    /// Where the tools are measured.
    pub fn environment(&self) -> &str {
        &self.environment
    }

    /// What kind of tools the server has, if the config says so.
    pub fn category(&self, server: &ServerId) -> Option<String> {
        self.registry.current().charter.categories.get(server).cloned()
    }

    /// The last calls of the tool, to be merged with those of others.
    pub fn aggregate(&self, tool: &ToolId) -> Option<Aggregate> {
        Some(Aggregate::of(&self.meters.samples(tool)?))
    }
}
