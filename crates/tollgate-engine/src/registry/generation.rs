//! One catalogue under one charter, and the views of it, made on first use and then shared.

use std::sync::{Arc, OnceLock};

use quick_cache::sync::Cache;
use tollgate_core::agent::{Agent, Wish};
use tollgate_core::budget::Tier;
use tollgate_core::catalog::Catalog;
use tollgate_core::filter::{self, Explained, Level, Narrow, Sieve};
use tollgate_core::glob::Glob;
use tollgate_core::id::{AgentId, ToolId};
use tollgate_core::lease::Revoked;
use tollgate_core::view::View;

use crate::charter::{Charter, UnknownAgent};

/// Views of requests and principals with filters of their own that are kept.
const NARROWED: usize = 256;

pub(crate) struct Generation {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) charter: Arc<Charter>,
    /// One slot for each agent and tier.
    views: Box<[OnceLock<Arc<View>>]>,
    narrowed: Cache<Key, Arc<View>>,
}

/// How one agent sees one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    pub agent: AgentId,
    /// For turns of each tier: what keeps the tool out; `None`: it is seen.
    pub kept_out: [(Tier, Option<String>); Tier::ALL.len()],
}

/// What a view is asked for with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) agent: Option<&'a str>,
    pub(crate) wish: Wish,
    /// What the principal may see at all; `None`: no list of its own.
    pub(crate) principal: Option<&'a [Glob]>,
    pub(crate) request: Option<&'a Narrow>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    slot: usize,
    principal: Option<Vec<Glob>>,
    request: Option<Narrow>,
}

impl Generation {
    pub(super) fn new(catalog: Arc<Catalog>, charter: Arc<Charter>) -> Self {
        let slots = charter.agents.len() * Tier::ALL.len();
        let views = (0..slots).map(|_| OnceLock::new()).collect();
        Self { catalog, charter, views, narrowed: Cache::new(NARROWED) }
    }

    /// What is seen in a turn, and the budget of the turn.
    pub(crate) fn view(&self, seen: Seen<'_>) -> Result<(Arc<View>, Option<Tier>), UnknownAgent> {
        let at = self.charter.find(seen.agent)?;
        let budget = self.charter.agents[at].budget(seen.wish);
        let tier = budget.unwrap_or(Tier::Deep);
        let slot = at * Tier::ALL.len() + tier as usize;
        let build = || Arc::new(View::build(&self.catalog, &self.sieve(at, tier, seen)));
        let view = match (seen.principal, seen.request) {
            (None, None) => Arc::clone(self.views[slot].get_or_init(build)),
            (principal, request) => {
                let (principal, request) = (principal.map(<[Glob]>::to_vec), request.cloned());
                let key = Key { slot, principal, request };
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

    fn sieve<'s>(&'s self, agent: usize, tier: Tier, seen: Seen<'s>) -> Sieve<'s> {
        Sieve {
            house: &self.charter.house,
            principal: seen.principal,
            agent: &self.charter.agents[agent],
            request: seen.request,
            tier,
        }
    }

    pub(crate) fn has_agent(&self, agent: &AgentId) -> bool {
        self.charter.agents.iter().any(|known| known.id == *agent)
    }

    /// Why the agent may not have the tool any more, if the operator took it away. A tool that is
    /// only away, doubted or too slow was not.
    pub(crate) fn taken_away(&self, agent: &AgentId, tool: &ToolId) -> Option<Revoked> {
        let at = self.charter.agents.iter().position(|known| known.id == *agent)?;
        let seen = Seen { agent: None, wish: Wish::Ceiling, principal: None, request: None };
        let sieve = self.sieve(at, Tier::Deep, seen);
        let explained = filter::explain_one(&self.catalog, &sieve, tool)?;
        let (level, why) = explained.stopped?;
        match level {
            Level::Server | Level::Switch | Level::House | Level::Environment | Level::Agent => {
                let why =
                    format!("`{tool}` was taken from agent `{agent}` ({}: {why})", level.as_str());
                Some(Revoked::because(why))
            }
            Level::Catalog
            | Level::Trust
            | Level::Away
            | Level::Principal
            | Level::Request
            | Level::Tier
            | Level::Code => None,
        }
    }

    /// Whether each agent sees the tool in turns of each tier, and if not, why.
    pub(crate) fn sights(&self, tool: &ToolId) -> Vec<Sight> {
        let seen = Seen { agent: None, wish: Wish::Ceiling, principal: None, request: None };
        let agents = self.charter.agents.iter().enumerate();
        let sight = |(at, agent): (usize, &Agent)| {
            let kept_out = |tier: Tier| match agent.ceiling.filter(|most| tier > *most) {
                Some(most) => Some(format!("turns of this agent have `{most}` at most")),
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
            Sight {
                agent: agent.id.clone(),
                kept_out: Tier::ALL.map(|tier| (tier, kept_out(tier))),
            }
        };
        agents.map(sight).collect()
    }

    /// Why each tool is in such a view, or out of it.
    pub(crate) fn explain(&self, seen: Seen<'_>) -> Result<Vec<Explained>, UnknownAgent> {
        let at = self.charter.find(seen.agent)?;
        let tier = self.charter.agents[at].budget(seen.wish).unwrap_or(Tier::Deep);
        Ok(filter::explain(&self.catalog, &self.sieve(at, tier, seen)))
    }
}
