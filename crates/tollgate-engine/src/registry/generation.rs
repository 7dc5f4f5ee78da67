//! One catalogue under one version of the config, and the views of it, made on first use and then shared.

use std::sync::{Arc, OnceLock};

use quick_cache::sync::Cache;
use tollgate_core::agent::{Agent, RequestedTier};
use tollgate_core::budget::Tier;
use tollgate_core::call_policy::CallPolicy;
use tollgate_core::catalog::Catalog;
use tollgate_core::filter::{self, FilterLevel, RequestFilter, ToolExplanation, ToolFilter};
use tollgate_core::glob::Glob;
use tollgate_core::id::{AgentId, ToolId};
use tollgate_core::lease::RevokedError;
use tollgate_core::view::View;

use crate::policy_snapshot::{PolicySnapshot, UnknownAgentError};

/// Views of requests and principals with filters of their own that are kept.
const MAX_NARROWED_VIEWS: usize = 256;

pub(crate) struct CatalogGeneration {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) policy: Arc<PolicySnapshot>,
    /// What turns that begin now carry.
    pub(crate) calls: Arc<CallPolicy>,
    /// One slot for each agent and tier.
    views: Box<[OnceLock<Arc<View>>]>,
    narrowed: Cache<ViewKey, Arc<View>>,
}

/// How one agent sees one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolVisibility {
    pub agent: AgentId,
    /// For turns of each tier: what keeps the tool out; `None`: it is seen.
    pub hidden_by: [(Tier, Option<String>); Tier::ALL.len()],
}

/// What a view is asked for with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ViewQuery<'a> {
    pub(crate) agent: Option<&'a str>,
    pub(crate) wish: RequestedTier,
    /// What the principal may see at all; `None`: no list of its own.
    pub(crate) principal: Option<&'a [Glob]>,
    pub(crate) request: Option<&'a RequestFilter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ViewKey {
    slot: usize,
    principal: Option<Vec<Glob>>,
    request: Option<RequestFilter>,
}

impl CatalogGeneration {
    pub(super) fn new(catalog: Arc<Catalog>, policy: Arc<PolicySnapshot>) -> Self {
        let mut calls = policy.calls.clone();
        calls.results.builtin.clone_from(&catalog.own);
        let slots = policy.agents.len() * Tier::ALL.len();
        let views = (0..slots).map(|_| OnceLock::new()).collect();
        let calls = Arc::new(calls);
        Self { catalog, policy, calls, views, narrowed: Cache::new(MAX_NARROWED_VIEWS) }
    }

    /// What is seen in a turn, and the budget of the turn.
    pub(crate) fn view(
        &self,
        seen: ViewQuery<'_>,
    ) -> Result<(Arc<View>, Option<Tier>), UnknownAgentError> {
        let at = self.policy.find(seen.agent)?;
        let budget = self.policy.agents[at].budget(seen.wish);
        let tier = budget.unwrap_or(Tier::Deep);
        let slot = at * Tier::ALL.len() + tier as usize;
        let build = || Arc::new(View::build(&self.catalog, &self.sieve(at, tier, seen)));
        let view = match (seen.principal, seen.request) {
            (None, None) => Arc::clone(self.views[slot].get_or_init(build)),
            (principal, request) => {
                let principal = principal.map(<[Glob]>::to_vec);
                let request = request.cloned();
                let key = ViewKey { slot, principal, request };
                let kept = self.narrowed.get(&key);
                kept.unwrap_or_else(|| {
                    let view = build();
                    self.narrowed.insert(key, Arc::clone(&view));
                    view
                })
            }
        };
        Ok((view, budget))
    }

    fn sieve<'s>(&'s self, agent: usize, tier: Tier, seen: ViewQuery<'s>) -> ToolFilter<'s> {
        ToolFilter {
            global: &self.policy.global,
            principal: seen.principal,
            agent: &self.policy.agents[agent],
            request: seen.request,
            tier,
        }
    }

    pub(crate) fn has_agent(&self, agent: &AgentId) -> bool {
        self.policy.agents.iter().any(|known| known.id == *agent)
    }

    /// Why the agent may not have the tool any more, if the operator took it away. A tool that is
    /// only away, doubted or too slow was not.
    pub(crate) fn operator_revocation(
        &self,
        agent: &AgentId,
        tool: &ToolId,
    ) -> Option<RevokedError> {
        let at = self.policy.agents.iter().position(|known| known.id == *agent)?;
        let seen =
            ViewQuery { agent: None, wish: RequestedTier::Ceiling, principal: None, request: None };
        let sieve = self.sieve(at, Tier::Deep, seen);
        let explained = filter::explain_one(&self.catalog, &sieve, tool)?;
        let (level, why) = explained.stopped?;
        match level {
            FilterLevel::Server
            | FilterLevel::Switch
            | FilterLevel::Global
            | FilterLevel::Environment
            | FilterLevel::Agent => {
                let why = format!(
                    "agent `{agent}` may no longer call `{tool}` ({}: {why})",
                    level.as_str()
                );
                Some(RevokedError::because(why))
            }
            FilterLevel::Catalog
            | FilterLevel::Trust
            | FilterLevel::Away
            | FilterLevel::Principal
            | FilterLevel::Request
            | FilterLevel::Tier
            | FilterLevel::Code => None,
        }
    }

    /// Whether each agent sees the tool in turns of each tier, and if not, why.
    pub(crate) fn tool_visibility(&self, tool: &ToolId) -> Vec<ToolVisibility> {
        let seen =
            ViewQuery { agent: None, wish: RequestedTier::Ceiling, principal: None, request: None };
        let agents = self.policy.agents.iter().enumerate();
        let sight = |(at, agent): (usize, &Agent)| {
            let kept_out = |tier: Tier| match agent.ceiling.filter(|most| tier > *most) {
                Some(most) => Some(format!("this agent's maximum tier is `{most}`")),
                None => {
                    let sieve = self.sieve(at, tier, seen);
                    let explained = filter::explain_one(&self.catalog, &sieve, tool);
                    match explained.map(|it| it.stopped) {
                        Some(stopped) => {
                            stopped.map(|(level, why)| format!("{}: {why}", level.as_str()))
                        }
                        None => Some("no server lists it now".to_owned()),
                    }
                }
            };
            ToolVisibility {
                agent: agent.id.clone(),
                hidden_by: Tier::ALL.map(|tier| (tier, kept_out(tier))),
            }
        };
        agents.map(sight).collect()
    }

    /// Why each tool is in such a view, or out of it.
    pub(crate) fn explain(
        &self,
        seen: ViewQuery<'_>,
    ) -> Result<Vec<ToolExplanation>, UnknownAgentError> {
        let at = self.policy.find(seen.agent)?;
        let tier = self.policy.agents[at].budget(seen.wish).unwrap_or(Tier::Deep);
        Ok(filter::explain(&self.catalog, &self.sieve(at, tier, seen)))
    }
}
