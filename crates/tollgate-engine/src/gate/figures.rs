//! Figures of tools, for whoever compares tools or installations.

use std::collections::HashMap;

use tollgate_core::id::{ServerId, ToolId};
use tollgate_core::score::Aggregate;

use super::Gate;

/// Under what names figures are compared.
pub(crate) struct Labels {
    pub(crate) environment: String,
    pub(crate) categories: HashMap<ServerId, String>,
}

impl Gate {
    /// Where the tools are measured.
    pub fn environment(&self) -> &str {
        &self.labels.environment
    }

    /// What kind of tools the server has, if the config says so.
    pub fn category(&self, server: &ServerId) -> Option<&str> {
        self.labels.categories.get(server).map(String::as_str)
    }

    /// The last calls of the tool, to be merged with those of others.
    pub fn aggregate(&self, tool: &ToolId) -> Option<Aggregate> {
        Some(Aggregate::of(&self.meters.samples(tool)?))
    }
}
