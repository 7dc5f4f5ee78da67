//! Allowlists and denylists of tools: every level that narrows a view, in one place and in fixed
//! order.
//!
//! Views keep what passes; explanations report where the rest was stopped. Both use
//! [`ToolFilter::judge`], so that they agree.

use std::fmt;

use crate::agent::{Agent, Engine};
use crate::budget::Tier;
use crate::catalog::Catalog;
use crate::code_mode::MetaTool;
use crate::glob::{self, Glob};
use crate::id::{ExposedName, ServerId, ToolId, ToolName};
use crate::tool::{Tool, ToolReach};

mod explain;
mod request_filter;

pub use explain::{ToolExplanation, explain, explain_one};
pub use request_filter::RequestFilter;

/// Rules that apply to every agent of this installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobalRules {
    pub switch: ToolSwitch,
    pub everywhere: AllowDenyLists,
    /// Lists of the environment that this installation runs in.
    pub environment: AllowDenyLists,
    /// The lowest tier with code mode; below it, all visible tools are listed directly.
    pub code_from: Tier,
}

impl Default for GlobalRules {
    fn default() -> Self {
        let everywhere = AllowDenyLists::default();
        let environment = AllowDenyLists::default();
        Self { switch: ToolSwitch::On, everywhere, environment, code_from: Tier::Fast }
    }
}

impl GlobalRules {
    /// The lowest tier in which the agent has code mode. For spoken agents only deep turns leave
    /// time for programs.
    pub fn code_begins(&self, agent: &Agent) -> Tier {
        match agent.persona.engine {
            Engine::SpeechToSpeech => Tier::Deep,
            Engine::Cascaded | Engine::SentenceCascade { .. } => self.code_from,
        }
    }
}

/// Global switch for all tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolSwitch {
    On,
    Off,
}

/// Exposed names and globs. The default allows everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowDenyLists {
    pub allow: Vec<Glob>,
    pub deny: Vec<Glob>,
}

impl Default for AllowDenyLists {
    fn default() -> Self {
        Self { allow: vec![Glob::new("*")], deny: Vec::new() }
    }
}

impl AllowDenyLists {
    fn stop(&self, exposed: &str) -> Option<FilterReason<'_>> {
        let unlisted = || (!glob::any(&self.allow, exposed)).then_some(FilterReason::Unlisted);
        self.find_denial(exposed).or_else(unlisted)
    }

    fn find_denial(&self, exposed: &str) -> Option<FilterReason<'_>> {
        self.deny.iter().find(|glob| glob.matches(exposed)).map(FilterReason::Denied)
    }
}

/// All filter levels between a catalogue and a view, except those of the catalogue itself.
#[derive(Debug, Clone, Copy)]
pub struct ToolFilter<'a> {
    pub global: &'a GlobalRules,
    /// The principal's own allowlist; `None`: no restriction.
    pub principal: Option<&'a [Glob]>,
    pub agent: &'a Agent,
    pub request: Option<&'a RequestFilter>,
    pub tier: Tier,
}

/// A named item to filter: a tool, prompt or resource.
#[derive(Debug, Clone, Copy)]
pub struct FilterSubject<'a> {
    pub server: &'a ServerId,
    /// The server's own name for it, if it has one.
    pub own: Option<&'a ToolName>,
    pub exposed: &'a ExposedName,
    /// The lowest tier in which it is visible; `None`: any.
    pub needs: Option<Tier>,
    pub reach: ToolReach,
}

impl<'a> FilterSubject<'a> {
    pub fn tool(tool: &'a Tool, needs: Tier) -> Self {
        let ToolId { server, tool: own } = &tool.id;
        let exposed = &tool.exposed;
        let reach = tool.terms.reach;
        Self { server, own: Some(own), exposed, needs: Some(needs), reach }
    }
}

/// The level that stopped an item. In the order of evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FilterLevel {
    /// Lists of its server: not allowed there, or denied.
    Server,
    /// Not in the catalogue: its definition or its name is invalid.
    Catalog,
    /// Its definition is not accepted.
    Trust,
    /// Its server is absent.
    Away,
    Switch,
    Global,
    Environment,
    Principal,
    Agent,
    Request,
    Tier,
    /// A meta tool of code mode, and no tool is called in code.
    Code,
}

impl FilterLevel {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Catalog => "catalog",
            Self::Trust => "trust",
            Self::Away => "away",
            Self::Switch => "switch",
            Self::Global => "house",
            Self::Environment => "environment",
            Self::Principal => "principal",
            Self::Agent => "agent",
            Self::Request => "request",
            Self::Tier => "tier",
            Self::Code => "code",
        }
    }
}

/// Why the level stopped it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterReason<'a> {
    Off,
    Denied(&'a Glob),
    Unlisted,
    Excluded(&'a Glob),
    NotIncluded,
    TooSlow { needs: Tier, has: Tier },
    NothingInCode,
}

impl fmt::Display for FilterReason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("all tools are disabled"),
            Self::Denied(glob) => write!(f, "denied by `{glob}`"),
            Self::Unlisted => f.write_str("not in the allowlist"),
            Self::Excluded(glob) => write!(f, "the request excludes `{glob}`"),
            Self::NotIncluded => f.write_str("the request does not include it"),
            Self::TooSlow { needs, has } => {
                write!(f, "requires tier `{needs}`; the turn has tier `{has}`")
            }
            Self::NothingInCode => f.write_str("code mode is off in this turn"),
        }
    }
}

impl<'a> ToolFilter<'a> {
    /// The filter of an agent in a turn of the tier, without further restrictions.
    pub fn of(global: &'a GlobalRules, agent: &'a Agent, tier: Tier) -> Self {
        Self { global, principal: None, agent, request: None, tier }
    }

    /// Whether a model can run programs in such a turn: the tier allows it, and the meta tools are
    /// not denied.
    pub fn runs_programs(&self, catalog: &Catalog) -> bool {
        let runs = |tool: &Tool| {
            tool.terms.reach == ToolReach::Means
                && tool.id.tool.as_str() == MetaTool::Execute.name()
        };
        let mut tools = catalog.tools.iter().zip(&catalog.tiers);
        self.tier >= self.global.code_begins(self.agent)
            && tools
                .any(|(tool, needs)| runs(tool) && self.passes(FilterSubject::tool(tool, *needs)))
    }

    /// Whether the tool is called from programs, where programs run.
    pub fn is_for_programs(&self, tool: &Tool) -> bool {
        match tool.terms.reach {
            ToolReach::Direct => self.agent.persona.code_mode,
            ToolReach::Code => true,
            ToolReach::Means => false,
        }
    }

    /// Passes the item, or returns the level and reason that stopped it.
    pub fn judge(&self, subject: FilterSubject<'_>) -> Result<(), (FilterLevel, FilterReason<'a>)> {
        if subject.reach == ToolReach::Means {
            return self.judge_means(subject);
        }
        let exposed = subject.exposed.as_str();
        let global = self.global;
        if global.switch == ToolSwitch::Off {
            return Err((FilterLevel::Switch, FilterReason::Off));
        }
        if let Some(stop) = global.everywhere.stop(exposed) {
            return Err((FilterLevel::Global, stop));
        }
        if let Some(stop) = global.environment.stop(exposed) {
            return Err((FilterLevel::Environment, stop));
        }
        if self.principal.is_some_and(|globs| !glob::any(globs, exposed)) {
            return Err((FilterLevel::Principal, FilterReason::Unlisted));
        }
        if !self.agent.may_see(exposed) {
            return Err((FilterLevel::Agent, FilterReason::Unlisted));
        }
        if let Some(stop) = self.request.and_then(|narrow| narrow.stop(subject)) {
            return Err((FilterLevel::Request, stop));
        }
        match subject.needs {
            Some(needs) if needs > self.tier => {
                Err((FilterLevel::Tier, FilterReason::TooSlow { needs, has: self.tier }))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Meta tools of code mode need no list entry: the tools they reach are filtered individually.
    /// Denying or excluding a meta tool disables code mode, and all tools are listed directly.
    fn judge_means(
        &self,
        subject: FilterSubject<'_>,
    ) -> Result<(), (FilterLevel, FilterReason<'a>)> {
        let global = self.global;
        let exposed = subject.exposed.as_str();
        if global.switch == ToolSwitch::Off {
            return Err((FilterLevel::Switch, FilterReason::Off));
        }
        let excluded = || self.request.and_then(|narrow| narrow.find_exclusion(subject));
        let stopped = None
            .or_else(|| Some((FilterLevel::Global, global.everywhere.find_denial(exposed)?)))
            .or_else(|| Some((FilterLevel::Environment, global.environment.find_denial(exposed)?)))
            .or_else(|| Some((FilterLevel::Request, excluded()?)));
        stopped.map_or(Ok(()), Err)
    }

    pub fn passes(&self, subject: FilterSubject<'_>) -> bool {
        self.judge(subject).is_ok()
    }
}

#[cfg(test)]
mod tests;
