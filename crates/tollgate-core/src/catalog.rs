//! The immutable snapshot of everything that all servers offer, built whole and swapped whole.
//! Built by the registry; read by views. Knows nothing of agents.

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

use requested_names::RequestedNames;
use tool_shadowing::ToolMentions;

/// What one server says it has: the items of its lists, as they came.
#[derive(Debug, Clone, Default)]
pub struct ServerListing {
    pub tools: Vec<Box<RawValue>>,
    pub resources: Vec<Box<RawValue>>,
    pub templates: Vec<Box<RawValue>>,
    pub prompts: Vec<Box<RawValue>>,
}

/// What the config says of one server, as far as its tools go.
#[derive(Debug, Clone)]
pub struct ServerRules {
    pub server: ServerId,
    pub origin: ServerOrigin,
    /// May the server's own annotations allow retries, caching, probes?
    pub trusted: bool,
    pub timeout: Duration,
    pub slow: Option<SlowResponse>,
    /// Nothing listed, nothing served.
    pub allow: Vec<Glob>,
    pub deny: Vec<Glob>,
    pub tools: BTreeMap<ToolName, ToolOverride>,
    /// What becomes of new, changed and suspicious tools.
    pub trust: TrustPolicy,
    pub reach: ToolReach,
}

impl ServerRules {
    /// Nothing is said of a server: all of its tools, none of its promises.
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

/// One server's part of the next catalogue, in the order of the config (built-in ones first).
#[derive(Debug, Clone)]
pub struct ServerOffer {
    pub rules: Arc<ServerRules>,
    pub listing: Arc<ServerListing>,
    /// An absent server keeps its names, but its tools are left out.
    pub present: bool,
}

/// All that a catalogue is made of, beside the owners of names.
#[derive(Debug, Clone, Copy)]
pub struct CatalogInputs<'a> {
    pub version: u64,
    pub offers: &'a [ServerOffer],
    pub pattern: &'a NamePattern,
    /// Tools that did not change since are taken over from here, not compiled again.
    pub previous: Option<&'a Catalog>,
    /// Which definitions are known and trusted.
    pub pins: &'a ToolPins,
}

#[derive(Debug, Clone, Default)]
pub struct Catalog {
    pub version: u64,
    /// By exposed name.
    pub tools: Vec<Arc<Tool>>,
    /// Of each tool, in the same order: the least budget in which it can be seen.
    pub tiers: Vec<Tier>,
    pub prompts: Vec<Arc<Prompt>>,
    /// By URI.
    pub resources: Vec<Arc<CatalogResource>>,
    pub templates: Vec<Arc<ResourceTemplate>>,
    /// What was left out or changed on intake, and why; for people to see.
    pub problems: Vec<CatalogProblem>,
    /// Tools whose server is away, as far as they were ever known.
    pub away: Vec<UnavailableTool>,
    /// Tools of servers that are there, which nobody can see.
    pub withheld: Vec<WithheldTool>,
    /// Tools that a person should look at, by exposed name. Those that are withheld stand only here.
    pub doubted: Vec<DoubtedTool>,
    /// Tools that this build saw for the first time and trusts for that: to be pinned.
    pub first_uses: Vec<Arc<Tool>>,
    mentions: Arc<ToolMentions>,
    /// Servers in this process: nobody has to trust their tools.
    pub own: Vec<ServerId>,
}

/// A tool that is not simply served.
#[derive(Debug, Clone)]
pub struct DoubtedTool {
    pub tool: Arc<Tool>,
    pub verdict: TrustVerdict,
    /// All that was found in it, what it says of other servers' tools included.
    pub findings: Vec<Finding>,
}

/// A tool that is not there because its server is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableTool {
    pub exposed: ExposedName,
    pub tool: ToolId,
}

/// A tool that its server lists and the catalogue does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldTool {
    pub tool: ToolId,
    /// The name that it would have.
    pub exposed: ExposedName,
    pub cause: WithheldCause,
    /// In words.
    pub why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithheldCause {
    /// The config does not let the server offer it.
    NotOffered,
    /// Its definition or its name.
    Unusable,
    /// Somebody has to accept its definition first.
    Untrusted,
}

#[derive(Debug)]
pub struct Prompt {
    pub server: ServerId,
    /// As the server says it.
    pub name: ToolName,
    pub exposed: ExposedName,
    /// As listed: under its exposed name.
    pub listed: Box<str>,
}

#[derive(Debug)]
pub struct CatalogResource {
    pub server: ServerId,
    pub uri: String,
    /// What agents' lists of allowed names are matched against.
    pub exposed: ExposedName,
    pub listed: Box<str>,
}

#[derive(Debug)]
pub struct ResourceTemplate {
    pub server: ServerId,
    /// RFC 6570, as the server says it.
    pub pattern: String,
    pub exposed: ExposedName,
    pub listed: Box<str>,
}

/// Something that did not make it into the catalogue, or not unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogProblem {
    pub tool: ToolId,
    pub kind: CatalogProblemKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatalogProblemKind {
    /// The definition cannot be used; the tool is left out.
    Rejected(String),
    /// The name belongs to another tool; this one is left out until `expose_as` gives it another.
    NameTaken { exposed: String, owner: ToolId },
    /// Text that hides something, which was taken out, or that speaks past its reader.
    Suspicious(Finding),
    /// Stands in a list already, by this server or one before it; the first one counts.
    ListedTwice { owner: ServerId },
    /// Not served until somebody accepts it.
    Withheld(TrustDoubt),
    /// Served, though its server changed it.
    Doubtful(TrustDoubt),
    /// The config has settings for it, and the server does not list it.
    NoSuchTool,
}

impl CatalogProblem {
    /// Whether the tool is missing because of it.
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
    /// Merges all offers. Of two that want one name the built-in tool, then the server that stands
    /// first has it; `owners` remembers the names of servers that are away, so that nobody else
    /// takes them meanwhile.
    pub fn build(inputs: &CatalogInputs<'_>, owners: &mut NameOwners) -> Self {
        let mut problems = Vec::new();
        let mut wanted = RequestedNames::default();
        let mut withheld = Vec::new();
        let mut tools = tools::read(inputs, &mut wanted, (&mut problems, &mut withheld));
        let mentions = tool_shadowing::mark(&mut tools, inputs.previous.map(|it| &*it.mentions));
        let prompts = prompts::read(inputs, &mut wanted, &mut problems);
        release(owners, inputs.offers, &wanted);
        let (resources, templates) = resources::merge(inputs, &mut problems);
        let settled = settle::settle(inputs.pins, tools, owners, (&mut problems, &mut withheld));
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
            withheld,
        }
    }

    /// The same catalogue with its tools in these tiers, in the order of `tools`.
    pub fn in_tiers(&self, version: u64, tiers: Vec<Tier>) -> Self {
        debug_assert_eq!(tiers.len(), self.tools.len(), "one tier for each tool");
        Self { version, tiers, first_uses: Vec::new(), ..self.clone() }
    }

    /// Tools that are known and not served until somebody accepts them.
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

/// A name is free again once its server is gone from the config, or is here and no longer asks
/// for that name, or a server that stands before it asks for the same. An absent server keeps all
/// of its other names.
fn release(owners: &mut NameOwners, offers: &[ServerOffer], wanted: &RequestedNames) {
    let turn = |server: &ServerId| {
        let at = offers.iter().position(|offer| offer.rules.server == *server)?;
        Some((offers[at].rules.origin != ServerOrigin::Builtin, at))
    };
    let mut first = HashMap::new();
    for (kind, id, exposed) in wanted.iter() {
        let Some(turn) = turn(&id.server) else { continue };
        let earliest = first.entry((kind, shape(exposed))).or_insert(turn);
        *earliest = turn.min(*earliest);
    }
    owners.retain(|OwnedName { kind, exposed, owner }| {
        let Some(turn) = turn(&owner.server) else { return false };
        if first.get(&(*kind, shape(exposed))).is_some_and(|earliest| *earliest < turn) {
            return false;
        }
        !offers[turn.1].present || wanted.is(*kind, owner, exposed)
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
