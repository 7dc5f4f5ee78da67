//! Figures of tools, for whoever compares tools or installations.

use tollgate_core::budget::Ceilings;
use tollgate_core::call::ServerTrust;
use tollgate_core::id::{ServerId, ToolId};
use tollgate_core::latency::Sample;
use tollgate_core::score::LatencyAggregate;

use super::Gate;
use crate::registry::ToolVisibility;

impl Gate {
    /// Where the tools are measured.
    pub fn environment(&self) -> &str {
        &self.environment
    }

    /// What kind of tools the server has, if the config says so.
    pub fn category(&self, server: &ServerId) -> Option<String> {
        self.registry.current().policy.categories.get(server).cloned()
    }

    /// Whether the server's own word on its tools counts. Those in this process are ours.
    pub fn is_trusted(&self, server: &ServerId) -> bool {
        let current = self.registry.current();
        let configured = current.calls.results.configured.get(server);
        configured.is_some_and(|it| it.trust == ServerTrust::Trusted)
            || current.catalog.own.contains(server)
    }

    /// How long turns of each tier may take.
    pub fn ceilings(&self) -> Ceilings {
        self.registry.current().policy.ceilings
    }

    /// The last calls of the tool, at most so many of those that are remembered, oldest first.
    pub fn recent(&self, tool: &ToolId, most: usize) -> Vec<Sample> {
        self.meters.recent(tool, most)
    }

    /// Who sees the tool, and in which turns.
    pub fn tool_visibility(&self, tool: &ToolId) -> Vec<ToolVisibility> {
        self.registry.current().tool_visibility(tool)
    }

    /// The last calls of the tool, to be merged with those of others.
    pub fn aggregate(&self, tool: &ToolId) -> Option<LatencyAggregate> {
        Some(LatencyAggregate::of(&self.meters.samples(tool)?))
    }
}
