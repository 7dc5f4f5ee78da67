//! Absent servers that have listed no tool since the start: what a name of theirs would look like.

use std::sync::Arc;

use super::{CatalogInputs, ServerOrigin, ServerRules, tools};
use crate::id::ToolName;

/// A server that has not listed its tools yet.
#[derive(Debug, Clone)]
pub struct UnlistedServer {
    pub rules: Arc<ServerRules>,
    /// The exposed names of its tools begin with this, and go on with the tool's own name.
    pub prefix: Box<str>,
}

impl UnlistedServer {
    /// Whether the config lets it offer a tool of this name.
    pub fn may_offer(&self, tool: &ToolName) -> bool {
        tools::stop(&self.rules, tool).is_none()
    }
}

pub(super) fn find(inputs: &CatalogInputs<'_>) -> Vec<UnlistedServer> {
    let awaited = inputs.offers.iter().filter(|offer| {
        let is_upstream = offer.rules.origin == ServerOrigin::Upstream;
        is_upstream && !offer.present && offer.listing.tools.is_empty()
    });
    let server = |rules: &Arc<ServerRules>| {
        let prefix = inputs.pattern.prefix(&rules.server)?;
        Some(UnlistedServer { rules: Arc::clone(rules), prefix: prefix.into() })
    };
    awaited.filter_map(|offer| server(&offer.rules)).collect()
}
