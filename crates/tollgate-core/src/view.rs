//! The view: an immutable set of everything that one turn may see and call, from one catalogue.
//! Listing and calling both use it, so that what is not listed cannot be called.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::agent;
use crate::budget::Tier;
use crate::catalog::{Catalog, CatalogResource, Prompt, ResourceTemplate, WithheldCause};
use crate::code_mode::CodeModeApi;
use crate::filter::{FilterSubject, ToolFilter};
use crate::glob::Glob;
use crate::id::{AgentId, ExposedName, ServerId, ToolName};
use crate::nearest;
use crate::rate::RateLimit;
use crate::tool::{Tool, ToolReach};

mod awaited;
mod hidden_resources;
mod pages;
mod template;

pub use pages::{InvalidCursorError, ListEra, ListKind, Page};

use awaited::AwaitedServers;
use hidden_resources::HiddenResources;
use pages::ListPages;
use template::matches;

#[derive(Debug)]
pub struct View {
    pub agent: AgentId,
    /// The memory policy of the agent.
    pub memory: agent::AgentMemoryPolicy,
    /// The rate limit of the agent.
    pub rate_limit: Option<RateLimit>,
    /// Maximum concurrent calls of the agent; `None`: unlimited.
    pub concurrent: Option<u32>,
    /// Exposed names and globs of tools that run without approval when a model calls them.
    pub auto_execute: Vec<Glob>,
    pub tier: Tier,
    /// Version of the catalogue.
    pub version: u64,
    /// By exposed name: tools that are listed and called by name.
    tools: Vec<Arc<Tool>>,
    /// Index into `tools`: lookup takes constant time.
    by_name: HashMap<ExposedName, usize>,
    /// By exposed name: all tools that a program may call, including the listed ones.
    callable: Vec<Arc<Tool>>,
    /// The view from inside a program, built on first use.
    in_code: OnceLock<Arc<Self>>,
    /// The code mode API of its tools, built on first use.
    book: OnceLock<CodeModeApi>,
    prompts: Vec<Arc<Prompt>>,
    /// By URI.
    resources: Vec<Arc<CatalogResource>>,
    templates: Vec<Arc<ResourceTemplate>>,
    hidden: HiddenResources,
    /// Tools that are missing because their server is absent.
    away: HashMap<ExposedName, ServerId>,
    /// Absent servers whose tools are not known; `None`: all are.
    awaited: Option<Arc<AwaitedServers>>,
    /// Tools that are missing because they are not accepted.
    untrusted: HashMap<ExposedName, ServerId>,
    pages: ListPages,
}

impl View {
    /// Everything that passes the filter, in the catalogue's order.
    pub fn build(catalog: &Arc<Catalog>, sieve: &ToolFilter<'_>) -> Self {
        let (tools, callable) = split_listed_and_callable(catalog, sieve);
        let passes = |server: &ServerId, own: Option<&ToolName>, exposed: &ExposedName| {
            let reach = ToolReach::Direct;
            sieve.passes(FilterSubject { server, own, exposed, needs: None, reach })
        };
        let prompts =
            catalog.prompts.iter().filter(|it| passes(&it.server, Some(&it.name), &it.exposed));
        let (resources, hidden_resources): (Vec<_>, Vec<_>) =
            catalog.resources.iter().cloned().partition(|it| passes(&it.server, None, &it.exposed));
        let (templates, hidden_templates): (Vec<_>, Vec<_>) =
            catalog.templates.iter().cloned().partition(|it| passes(&it.server, None, &it.exposed));
        let hidden = hidden_resources.iter().map(|it| (&it.server, it.uri.as_str()));
        let hidden =
            hidden.chain(hidden_templates.iter().map(|it| (&it.server, it.pattern.as_str())));
        let away = catalog
            .away
            .iter()
            .filter(|it| passes(&it.tool.server, Some(&it.tool.tool), &it.exposed));
        let untrusted = catalog.withheld.iter().filter(|it| {
            it.cause == WithheldCause::Untrusted
                && passes(&it.tool.server, Some(&it.tool.tool), &it.exposed)
        });
        Self {
            agent: sieve.agent.id.clone(),
            memory: sieve.agent.memory.clone(),
            rate_limit: sieve.agent.rate_limit,
            concurrent: sieve.agent.concurrent,
            auto_execute: sieve.agent.auto_execute.clone(),
            tier: sieve.tier,
            version: catalog.version,
            by_name: places(&tools),
            tools,
            callable,
            in_code: OnceLock::new(),
            book: OnceLock::new(),
            prompts: prompts.cloned().collect(),
            resources,
            templates,
            hidden: hidden.collect(),
            away: away.map(|it| (it.exposed.clone(), it.tool.server.clone())).collect(),
            awaited: AwaitedServers::new(catalog, sieve).map(Arc::new),
            untrusted: untrusted.map(|it| (it.exposed.clone(), it.tool.server.clone())).collect(),
            pages: ListPages::default(),
        }
    }

    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.tools
    }

    /// The view of a program in this turn: all tools it may call, without the meta tools.
    pub fn in_code(&self) -> &Arc<Self> {
        self.in_code.get_or_init(|| {
            Arc::new(Self {
                agent: self.agent.clone(),
                memory: self.memory.clone(),
                rate_limit: self.rate_limit,
                concurrent: self.concurrent,
                auto_execute: self.auto_execute.clone(),
                tier: self.tier,
                version: self.version,
                by_name: places(&self.callable),
                tools: self.callable.clone(),
                callable: self.callable.clone(),
                in_code: OnceLock::new(),
                book: OnceLock::new(),
                // Programs call only tools.
                prompts: Vec::new(),
                resources: Vec::new(),
                templates: Vec::new(),
                hidden: HiddenResources::default(),
                away: self.away.clone(),
                awaited: self.awaited.clone(),
                untrusted: self.untrusted.clone(),
                pages: ListPages::default(),
            })
        })
    }

    /// Its tools as code mode presents them.
    pub fn code_api(&self) -> &CodeModeApi {
        self.book.get_or_init(|| CodeModeApi::new(&self.tools))
    }

    /// Whether the turn can reach any tool of the server, directly or in code.
    pub fn has_tools_of(&self, server: &ServerId) -> bool {
        self.callable.iter().any(|tool| tool.id.server == *server)
    }

    /// A tool of this name that is called only from programs.
    pub fn only_in_code(&self, exposed: &str) -> Option<&Arc<Tool>> {
        let at = self.callable.binary_search_by(|it| it.exposed.as_str().cmp(exposed)).ok()?;
        (!self.by_name.contains_key(exposed)).then(|| &self.callable[at])
    }

    pub fn tool(&self, exposed: &str) -> Option<&Arc<Tool>> {
        self.by_name.get(exposed).map(|at| &self.tools[*at])
    }

    /// The absent server of a tool of this name: it lists the tool when it is there, or it has
    /// never listed its tools and the name begins like theirs.
    pub fn away(&self, exposed: &str) -> Option<&ServerId> {
        self.away.get(exposed).or_else(|| self.awaited.as_ref()?.server_of(exposed))
    }

    /// Likewise for a tool as a program writes it: `server.tool`.
    pub fn away_in_code(&self, server: &str, tool: &str) -> Option<&ServerId> {
        let exposed = self.awaited.as_ref()?.exposed_name(server, tool)?;
        self.away(&exposed)
    }

    /// The server of a tool of this name that is not accepted yet.
    pub fn untrusted_server(&self, exposed: &str) -> Option<&ServerId> {
        self.untrusted.get(exposed)
    }

    pub fn prompts(&self) -> &[Arc<Prompt>] {
        &self.prompts
    }

    pub fn prompt(&self, exposed: &str) -> Option<&Arc<Prompt>> {
        let at = self.prompts.binary_search_by(|it| it.exposed.as_str().cmp(exposed)).ok()?;
        Some(&self.prompts[at])
    }

    pub fn resources(&self) -> &[Arc<CatalogResource>] {
        &self.resources
    }

    pub fn templates(&self) -> &[Arc<ResourceTemplate>] {
        &self.templates
    }

    /// The server to ask for `uri`: the one that lists it, else one with a matching template, else
    /// the only one here that has resources (it may serve more than it lists), unless some of its
    /// listed ones are hidden. A listed but hidden resource is never routed.
    pub fn resource_route(&self, uri: &str) -> Option<&ServerId> {
        if let Ok(at) = self.resources.binary_search_by(|it| it.uri.as_str().cmp(uri)) {
            return Some(&self.resources[at].server);
        }
        if self.hidden.lists(uri) {
            return None;
        }
        if let Some(template) = self.templates.iter().find(|it| matches(&it.pattern, uri)) {
            return Some(&template.server);
        }
        let listed = self.resources.iter().map(|it| &it.server);
        let mut servers = listed.chain(self.templates.iter().map(|it| &it.server));
        let only = servers.next()?;
        let is_only = servers.all(|server| server == only) && !self.hidden.has_any_of(only);
        is_only.then_some(only)
    }

    /// Up to three tools here with a name similar to `name`.
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        nearest::nearest(name, self.tools.iter().map(|it| it.exposed.as_str()))
    }

    /// One page of a list, rendered once and cached. Without a cursor: the first.
    pub fn page(
        &self,
        list: ListKind,
        form: ListEra,
        cursor: Option<&str>,
    ) -> Result<Page<'_>, InvalidCursorError> {
        pages::select(self.pages.of(list, form, || self.items(list, form)), cursor)
    }

    /// Changes exactly when this list changes for this view.
    pub fn digest(&self, list: ListKind) -> [u8; 16] {
        self.pages.digest(list, || self.items(list, ListEra::Modern))
    }

    fn items(&self, list: ListKind, form: ListEra) -> Vec<&str> {
        match (list, form) {
            (ListKind::Tools, ListEra::Modern) => {
                self.tools.iter().map(|it| &*it.listed.modern).collect()
            }
            (ListKind::Tools, ListEra::Legacy) => {
                self.tools.iter().map(|it| &*it.listed.legacy).collect()
            }
            (ListKind::Prompts, _) => self.prompts.iter().map(|it| &*it.listed).collect(),
            (ListKind::Resources, _) => self.resources.iter().map(|it| &*it.listed).collect(),
            (ListKind::Templates, _) => self.templates.iter().map(|it| &*it.listed).collect(),
        }
    }
}

/// The listed tools, and those that programs may call; both in the catalogue's order.
fn split_listed_and_callable(
    catalog: &Catalog,
    sieve: &ToolFilter<'_>,
) -> (Vec<Arc<Tool>>, Vec<Arc<Tool>>) {
    let passing = catalog.tools.iter().zip(&catalog.tiers);
    let passing = passing.filter(|(tool, needs)| sieve.passes(FilterSubject::tool(tool, **needs)));
    let mut tools: Vec<Arc<Tool>> = passing.map(|(tool, _)| Arc::clone(tool)).collect();
    let is_means = |tool: &Arc<Tool>| tool.terms.reach == ToolReach::Means;
    let callable: Vec<Arc<Tool>> = tools.iter().filter(|it| !is_means(it)).cloned().collect();
    let runs_programs = sieve.runs_programs(catalog);
    let is_in_code = |tool: &Arc<Tool>| runs_programs && sieve.is_for_programs(tool);
    let is_code_used = callable.iter().any(is_in_code);
    tools.retain(|tool| match tool.terms.reach {
        ToolReach::Means => is_code_used,
        ToolReach::Direct | ToolReach::Code => !is_in_code(tool),
    });
    (tools, callable)
}

fn places(tools: &[Arc<Tool>]) -> HashMap<ExposedName, usize> {
    tools.iter().enumerate().map(|(at, it)| (it.exposed.clone(), at)).collect()
}

#[cfg(test)]
mod tests;
