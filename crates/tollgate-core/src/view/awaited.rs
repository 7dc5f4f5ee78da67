//! Servers that have not listed their tools since the start. A name that can only be one of theirs
//! is not unknown: its server is not there yet.

use crate::agent::Agent;
use crate::budget::Tier;
use crate::catalog::{Catalog, UnlistedServer};
use crate::filter::{FilterSubject, GlobalRules, RequestFilter, ToolFilter};
use crate::glob::Glob;
use crate::id::{ExposedName, ServerId, ToolName};
use crate::tool::ToolReach;

/// The servers, and the filter that their tools will have to pass.
#[derive(Debug)]
pub(super) struct AwaitedServers {
    servers: Vec<UnlistedServer>,
    global: GlobalRules,
    principal: Option<Vec<Glob>>,
    agent: Agent,
    request: Option<RequestFilter>,
    tier: Tier,
}

impl AwaitedServers {
    /// `None`: all servers are listed.
    pub(super) fn new(catalog: &Catalog, filter: &ToolFilter<'_>) -> Option<Self> {
        (!catalog.unlisted.is_empty()).then(|| Self {
            servers: catalog.unlisted.clone(),
            global: filter.global.clone(),
            principal: filter.principal.map(<[Glob]>::to_vec),
            agent: filter.agent.clone(),
            request: filter.request.cloned(),
            tier: filter.tier,
        })
    }

    /// The server whose tool this is, if it has such a tool and the view may show it. Of several
    /// the one with the longest prefix.
    pub(super) fn server_of(&self, exposed: &str) -> Option<&ServerId> {
        let exposed = ExposedName::parse(exposed).ok()?;
        let candidates = self.servers.iter().filter_map(|unlisted| {
            let own = exposed.as_str().strip_prefix(&*unlisted.prefix)?;
            let own = (!own.is_empty()).then(|| ToolName::new(own))?;
            self.passes(unlisted, &own, &exposed).then_some(unlisted)
        });
        candidates.max_by_key(|unlisted| unlisted.prefix.len()).map(|it| &it.rules.server)
    }

    /// The name of a tool that a program calls as `server.tool`.
    pub(super) fn exposed_name(&self, server: &str, tool: &str) -> Option<String> {
        let is_named = |it: &&UnlistedServer| it.rules.server.as_str().replace('-', "_") == server;
        let unlisted = self.servers.iter().find(is_named)?;
        Some(format!("{}{tool}", unlisted.prefix))
    }

    fn passes(&self, unlisted: &UnlistedServer, own: &ToolName, exposed: &ExposedName) -> bool {
        let filter = ToolFilter {
            global: &self.global,
            principal: self.principal.as_deref(),
            agent: &self.agent,
            request: self.request.as_ref(),
            tier: self.tier,
        };
        let server = &unlisted.rules.server;
        let reach = ToolReach::Direct;
        let subject = FilterSubject { server, own: Some(own), exposed, needs: None, reach };
        unlisted.may_offer(own) && filter.passes(subject)
    }
}
