//! The catalogue: an immutable snapshot of everything that all servers offer, replaced as a whole.
//! Built by the registry, read by views. Independent of agents.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use crate::budget::Tier;
use crate::glob::Glob;
use crate::id::{ExposedName, ServerId, ToolId, ToolName};
pub use crate::names::ServerOrigin;
use crate::names::{NameKind, NameOwners, NamePattern, OwnedName, shape};
use crate::tool::{Finding, SlowResponse, Tool, ToolOverride, ToolReach};
use crate::trust::{ToolPins, TrustDoubt, TrustPolicy, TrustVerdict};

mod call_terms;
mod prompts;
mod requested_names;
mod resources;
mod settle;
mod tool_listing;
mod tool_shadowing;
mod tools;
mod unlisted;

use requested_names::{RequestedName, RequestedNames};
use tool_shadowing::ToolMentions;
use tools::CatalogRejections;
pub use unlisted::UnlistedServer;

/// The lists of one server, as received.
#[derive(Debug, Clone, Default)]
pub struct ServerListing {
    pub tools: Vec<Box<RawValue>>,
    pub resources: Vec<Box<RawValue>>,
    pub templates: Vec<Box<RawValue>>,
    pub prompts: Vec<Box<RawValue>>,
}

/// The configuration of one server, as far as it concerns its tools.
#[derive(Debug, Clone)]
pub struct ServerRules {
    pub server: ServerId,
    pub origin: ServerOrigin,
    /// Whether the server's own annotations may allow retries, caching and probes.
    pub trusted: bool,
    pub timeout: Duration,
    pub slow: Option<SlowResponse>,
    /// An empty list allows nothing.
    pub allow: Vec<Glob>,
    pub deny: Vec<Glob>,
    pub tools: BTreeMap<ToolName, ToolOverride>,
    /// How new, changed and suspicious tools are handled.
    pub trust: TrustPolicy,
    pub reach: ToolReach,
}

impl ServerRules {
    /// Defaults for a server without rules: all of its tools, none of its annotations trusted.
    pub fn new(server: ServerId, origin: ServerOrigin) -> Self {
        Self {
            server,
            origin,
            trusted: false,
            timeout: Duration::from_secs(10),
            slow: None,
            allow: vec![Glob::new("*")],
            deny: Vec::new(),
            tools: BTreeMap::new(),
            trust: TrustPolicy::default(),
            reach: ToolReach::Direct,
        }
    }
}

/// One server's input to the next catalogue, in config order (built-in servers first).
#[derive(Debug, Clone)]
pub struct ServerOffer {
    pub rules: Arc<ServerRules>,
    pub listing: Arc<ServerListing>,
    /// An absent server keeps its names, but its tools are left out.
    pub present: bool,
}

/// The inputs of a build, except the name owners.
#[derive(Debug, Clone, Copy)]
pub struct CatalogInputs<'a> {
    pub version: u64,
    pub offers: &'a [ServerOffer],
    pub pattern: &'a NamePattern,
    /// Unchanged tools are reused from here instead of compiled again.
    pub previous: Option<&'a Catalog>,
    /// The accepted tool definitions.
    pub pins: &'a ToolPins,
}

#[derive(Debug, Clone, Default)]
pub struct Catalog {
    pub version: u64,
    /// Sorted by exposed name.
    pub tools: Vec<Arc<Tool>>,
    /// For each tool, in the same order: the lowest tier in which it is visible.
    pub tiers: Vec<Tier>,
    pub prompts: Vec<Arc<Prompt>>,
    /// Sorted by URI.
    pub resources: Vec<Arc<CatalogResource>>,
    pub templates: Vec<Arc<ResourceTemplate>>,
    /// What was left out or changed, and why; shown to operators.
    pub problems: Vec<CatalogProblem>,
    /// Tools of absent servers, as far as they are known.
    pub away: Vec<UnavailableTool>,
    /// Absent servers whose tools are not known.
    pub unlisted: Vec<UnlistedServer>,
    /// Tools of present servers that are not served.
    pub withheld: Vec<WithheldTool>,
    /// Tools that an operator should review, by exposed name. Withheld tools are listed only here.
    pub doubted: Vec<DoubtedTool>,
    /// Tools seen for the first time and trusted on first use: to be pinned.
    pub first_uses: Vec<Arc<Tool>>,
    mentions: Arc<ToolMentions>,
    /// In-process servers, whose tools need no trust decision.
    pub own: Vec<ServerId>,
}

/// A tool that needs review.
#[derive(Debug, Clone)]
pub struct DoubtedTool {
    pub tool: Arc<Tool>,
    pub verdict: TrustVerdict,
    /// All findings, including mentions of other servers' tools.
    pub findings: Vec<Finding>,
}

/// A tool whose server is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableTool {
    pub exposed: ExposedName,
    pub tool: ToolId,
}

/// A tool that its server lists but the catalogue does not serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldTool {
    pub tool: ToolId,
    /// The name it would have.
    pub exposed: ExposedName,
    pub cause: WithheldCause,
    /// A sentence for operators.
    pub why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithheldCause {
    /// The config does not allow the server to offer it.
    NotOffered,
    /// Its definition or its name is invalid.
    Unusable,
    /// Its definition has to be accepted first.
    Untrusted,
}

#[derive(Debug)]
pub struct Prompt {
    pub server: ServerId,
    /// The server's own name for it.
    pub name: ToolName,
    pub exposed: ExposedName,
    /// The list entry, under its exposed name.
    pub listed: Box<str>,
}

#[derive(Debug)]
pub struct CatalogResource {
    pub server: ServerId,
    pub uri: String,
    /// Matched against the agents' allowlists.
    pub exposed: ExposedName,
    pub listed: Box<str>,
}

#[derive(Debug)]
pub struct ResourceTemplate {
    pub server: ServerId,
    /// RFC 6570, as the server wrote it.
    pub pattern: String,
    pub exposed: ExposedName,
    pub listed: Box<str>,
}

/// An item that was left out of the catalogue or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogProblem {
    pub tool: ToolId,
    pub kind: CatalogProblemKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatalogProblemKind {
    /// The definition is invalid; the tool is left out.
    Rejected(String),
    /// The name belongs to another tool; this one is left out until `expose_as` renames it.
    NameTaken { exposed: String, owner: ToolId },
    /// Hidden text, which was removed, or text that looks like a prompt injection.
    Suspicious(Finding),
    /// Already listed by this server or an earlier one; the first one is used.
    ListedTwice { owner: ServerId },
    /// Not served until it is accepted.
    Withheld(TrustDoubt),
    /// Served, although its server changed it.
    Doubtful(TrustDoubt),
    /// The config has settings for a tool that the server does not list.
    NoSuchTool,
}

impl CatalogProblem {
    /// Whether the problem causes the tool to be left out.
    pub fn leaves_out(&self) -> bool {
        match self.kind {
            CatalogProblemKind::Rejected(_)
            | CatalogProblemKind::NameTaken { .. }
            | CatalogProblemKind::ListedTwice { .. }
            | CatalogProblemKind::Withheld(_) => true,
            CatalogProblemKind::Suspicious(_)
            | CatalogProblemKind::Doubtful(_)
            | CatalogProblemKind::NoSuchTool => false,
        }
    }
}

impl fmt::Display for CatalogProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, kind } = self;
        match kind {
            CatalogProblemKind::Rejected(reason) => write!(f, "`{tool}` is left out: {reason}"),
            CatalogProblemKind::NameTaken { exposed, owner } => write!(
                f,
                "`{tool}` is left out: the name `{exposed}` is already used by `{owner}`; set \
                 `expose_as` for one of them"
            ),
            CatalogProblemKind::Suspicious(finding) => write!(f, "`{tool}`: {finding}"),
            CatalogProblemKind::ListedTwice { owner } => {
                write!(f, "`{tool}` is left out: `{owner}` lists it already")
            }
            CatalogProblemKind::Withheld(doubt) => {
                write!(f, "`{tool}` is withheld: {doubt}; see `tollgate tools diff {tool}`")
            }
            CatalogProblemKind::Doubtful(doubt) => write!(f, "`{tool}`: {doubt}"),
            CatalogProblemKind::NoSuchTool => {
                write!(f, "the config names `{tool}`, but the server has no such tool")
            }
        }
    }
}

impl Catalog {
    /// Merges all offers. If two tools request the same name, a built-in tool wins, then the server
    /// that comes first. `owners` reserves the names of absent servers, so that no other server
    /// takes them.
    pub fn build(inputs: &CatalogInputs<'_>, owners: &mut NameOwners) -> Self {
        let mut rejected = CatalogRejections::default();
        let mut requested = RequestedNames::default();
        let mut tools = tools::read(inputs, &mut requested, &mut rejected);
        let mentions = tool_shadowing::mark(&mut tools, inputs.previous.map(|it| &*it.mentions));
        let prompts = prompts::read(inputs, &mut requested, &mut rejected.problems);
        release(owners, inputs.offers, &requested);
        let (resources, templates) = resources::merge(inputs, &mut rejected.problems);
        let settled = settle::settle(inputs.pins, tools, owners, &mut rejected);
        let CatalogRejections { mut problems, withheld } = rejected;
        Self {
            version: inputs.version,
            tiers: vec![Tier::Standard; settled.served.len()],
            tools: settled.served,
            doubted: settled.doubted,
            first_uses: settled.first_uses,
            mentions: Arc::new(mentions),
            own: own(inputs.offers),
            prompts: prompts::settle(prompts, owners, &mut problems),
            resources,
            templates,
            problems,
            away: away(owners, inputs.offers),
            unlisted: unlisted::find(inputs),
            withheld,
        }
    }

    /// The same catalogue with new tiers, in the order of `tools`.
    pub fn in_tiers(&self, version: u64, tiers: Vec<Tier>) -> Self {
        debug_assert_eq!(tiers.len(), self.tools.len(), "one tier for each tool");
        Self { version, tiers, first_uses: Vec::new(), ..self.clone() }
    }

    /// Tools that are quarantined until they are accepted.
    pub fn quarantined_tools(&self) -> impl Iterator<Item = (&Arc<Tool>, &TrustDoubt)> {
        self.doubted.iter().filter_map(|it| match &it.verdict {
            TrustVerdict::Withheld(doubt) => Some((&it.tool, doubt)),
            TrustVerdict::Served | TrustVerdict::Flagged(_) => None,
        })
    }

    pub fn tool(&self, exposed: &str) -> Option<&Arc<Tool>> {
        let at = self.tools.binary_search_by(|tool| tool.exposed.as_str().cmp(exposed)).ok()?;
        Some(&self.tools[at])
    }
}

/// Releases a name if its server was removed from the config, or is present and no longer requests
/// the name, or an earlier server requests the same name. An absent server keeps all of its other
/// names.
fn release(owners: &mut NameOwners, offers: &[ServerOffer], requested: &RequestedNames) {
    let turn = |server: &ServerId| {
        let at = offers.iter().position(|offer| offer.rules.server == *server)?;
        Some((offers[at].rules.origin != ServerOrigin::Builtin, at))
    };
    let mut first = HashMap::new();
    for RequestedName { kind, id, exposed } in requested.iter() {
        let Some(turn) = turn(&id.server) else { continue };
        let earliest = first.entry((kind, shape(exposed))).or_insert(turn);
        *earliest = turn.min(*earliest);
    }
    owners.retain(|OwnedName { kind, exposed, owner }| {
        let Some(turn) = turn(&owner.server) else { return false };
        if first.get(&(*kind, shape(exposed))).is_some_and(|earliest| *earliest < turn) {
            return false;
        }
        !offers[turn.1].present || requested.is(*kind, owner, exposed)
    });
}

fn own(offers: &[ServerOffer]) -> Vec<ServerId> {
    let own = offers.iter().filter(|it| it.rules.origin == ServerOrigin::Builtin);
    own.map(|it| it.rules.server.clone()).collect()
}

fn away(owners: &NameOwners, offers: &[ServerOffer]) -> Vec<UnavailableTool> {
    let absent: HashSet<&ServerId> =
        offers.iter().filter(|it| !it.present).map(|it| &it.rules.server).collect();
    owners
        .iter()
        .filter(|owned| owned.kind == NameKind::Tool && absent.contains(&owned.owner.server))
        .map(|it| UnavailableTool { exposed: it.exposed.clone(), tool: it.owner.clone() })
        .collect()
}

#[cfg(test)]
mod tests;
