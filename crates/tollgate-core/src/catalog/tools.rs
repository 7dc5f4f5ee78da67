//! Builds the catalogue's tools from server lists: parse, check, name. A tool whose definition is
//! unchanged since the previous catalogue keeps its compiled schemas.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::value::RawValue;

use super::requested_names::RequestedNames;
use super::{
    Catalog, CatalogInputs, CatalogProblem, CatalogProblemKind, ServerOffer, ServerOrigin,
    ServerRules, WithheldCause, WithheldTool, call_terms, tool_listing,
};
use crate::glob;
use crate::id::{ExposedName, ServerId, ToolId, ToolName};
use crate::json::Object;
use crate::names::{NameKind, expose};
use crate::schema::{Schema, SchemaError};
use crate::text::truncate_chars;
use crate::tool::{ContentHash, DefinitionError, Finding, Tool, ToolDefinition, ToolOverride};
use crate::trust::{
    self, FirstUseRoom, OfferedDefinition, ToolPins, TrustJudgement, TrustVerdict, TrustedBy,
    TrustedHash,
};

/// A valid tool without an exposed name yet.
pub(super) struct CatalogCandidate<'a> {
    rules: &'a ServerRules,
    /// Index of the server among the offers.
    rank: usize,
    id: ToolId,
    exposed: ExposedName,
    read: ParsedTool,
    source: ContentHash,
    previous: Option<Arc<Tool>>,
    /// Mentions of other servers' tools.
    shadows: Vec<Finding>,
}

/// Why a tool of a listing cannot be used.
#[derive(Debug, thiserror::Error)]
enum ToolParseError {
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    #[error("`inputSchema`: {0}")]
    Input(SchemaError),
    #[error("`outputSchema`: {0}")]
    Output(SchemaError),
}

/// The result of parsing, reused while the definition is unchanged.
struct ParsedTool {
    definition: Arc<ToolDefinition>,
    input: Schema,
    output: Option<Schema>,
}

pub(super) fn read<'a>(
    inputs: &CatalogInputs<'a>,
    requested: &mut RequestedNames,
    rejected: &mut CatalogRejections,
) -> Vec<CatalogCandidate<'a>> {
    let previous = PreviousTools::of(inputs.previous);
    let mut candidates = Vec::new();
    for (rank, offer) in inputs.offers.iter().enumerate().filter(|(_, offer)| offer.present) {
        let previous = &previous;
        let mut reader = ToolListReader { inputs, offer, rank, previous, requested, rejected };
        reader.read(&mut candidates);
    }
    candidates
}

/// Collects what is left out: the problem, and the tool.
#[derive(Default)]
pub(super) struct CatalogRejections {
    pub(super) problems: Vec<CatalogProblem>,
    pub(super) withheld: Vec<WithheldTool>,
}

struct ToolListReader<'a, 'r> {
    inputs: &'r CatalogInputs<'a>,
    offer: &'a ServerOffer,
    rank: usize,
    previous: &'r PreviousTools,
    requested: &'r mut RequestedNames,
    rejected: &'r mut CatalogRejections,
}

impl<'a> ToolListReader<'a, '_> {
    fn read(&mut self, candidates: &mut Vec<CatalogCandidate<'a>>) {
        let rules = &*self.offer.rules;
        let mut seen = HashSet::new();
        for (at, raw) in self.offer.listing.tools.iter().enumerate() {
            let name = name_of(raw, at);
            seen.insert(name.clone());
            match stop(rules, &name) {
                None => candidates.extend(self.tool(raw, name)),
                Some(why) => self.withhold(name, why),
            }
        }
        for name in rules.tools.keys().filter(|name| !seen.contains(*name)) {
            let tool = ToolId { server: rules.server.clone(), tool: name.clone() };
            self.rejected
                .problems
                .push(CatalogProblem { tool, kind: CatalogProblemKind::NoSuchTool });
        }
    }

    fn tool(&mut self, raw: &RawValue, name: ToolName) -> Option<CatalogCandidate<'a>> {
        let rules = &*self.offer.rules;
        let id = ToolId { server: rules.server.clone(), tool: name };
        let exposed = choose_exposed_name(self.inputs, rules, &id.tool);
        if !self.requested.note(NameKind::Tool, &id, &exposed) {
            self.problem(&id, CatalogProblemKind::ListedTwice { owner: rules.server.clone() });
            return None;
        }
        let source = ContentHash::of(raw.get());
        let previous = self.previous.tool(&id, source);
        let read = match &previous {
            Some(tool) => ParsedTool::again(tool),
            None => match ParsedTool::first(raw) {
                Ok(read) => read,
                Err(error) => {
                    let kind = CatalogProblemKind::Rejected(error.to_string());
                    let problem = CatalogProblem { tool: id, kind };
                    self.rejected.withheld.push(unusable(&problem, exposed));
                    self.rejected.problems.push(problem);
                    return None;
                }
            },
        };
        if !self.is_accepted(&id, read.definition.hash) {
            for finding in &read.definition.findings {
                self.problem(&id, CatalogProblemKind::Suspicious(finding.clone()));
            }
        }
        let rank = self.rank;
        let shadows = Vec::new();
        Some(CatalogCandidate { rules, rank, id, exposed, read, source, previous, shadows })
    }

    /// Whether this exact definition, with all its findings, was accepted.
    fn is_accepted(&self, id: &ToolId, hash: ContentHash) -> bool {
        let trusted = self.inputs.pins.get(id).and_then(|pin| pin.trusted);
        trusted == Some(TrustedHash { hash, by: TrustedBy::Person })
    }

    fn withhold(&mut self, name: ToolName, why: String) {
        let rules = &*self.offer.rules;
        let exposed = choose_exposed_name(self.inputs, rules, &name);
        let tool = ToolId { server: rules.server.clone(), tool: name };
        self.rejected.withheld.push(WithheldTool {
            tool,
            exposed,
            cause: WithheldCause::NotOffered,
            why,
        });
    }

    fn problem(&mut self, id: &ToolId, kind: CatalogProblemKind) {
        self.rejected.problems.push(CatalogProblem { tool: id.clone(), kind });
    }
}

impl ParsedTool {
    fn first(raw: &RawValue) -> Result<Self, ToolParseError> {
        let definition = ToolDefinition::intake(raw)?;
        let input = Schema::compile(&definition.input_schema).map_err(ToolParseError::Input)?;
        let output = definition.output_schema.as_ref().map(Schema::compile).transpose();
        let output = output.map_err(ToolParseError::Output)?;
        Ok(Self { definition: Arc::new(definition), input, output })
    }

    fn again(tool: &Tool) -> Self {
        Self {
            definition: Arc::clone(&tool.definition),
            input: tool.input.clone(),
            output: tool.output.clone(),
        }
    }
}

impl CatalogCandidate<'_> {
    pub(super) fn id(&self) -> &ToolId {
        &self.id
    }

    pub(super) fn exposed_name(&self) -> &ExposedName {
        &self.exposed
    }

    pub(super) fn origin(&self) -> ServerOrigin {
        self.rules.origin
    }

    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    pub(super) fn definition(&self) -> &ToolDefinition {
        &self.read.definition
    }

    /// Whether the previous catalogue had the same definition.
    pub(super) fn is_unchanged(&self) -> bool {
        self.previous.is_some()
    }

    /// Mentions of other servers' tools.
    pub(super) fn shadows(&self) -> &[Finding] {
        &self.shadows
    }

    pub(super) fn shadowing(&mut self, findings: Vec<Finding>) {
        self.shadows = findings;
    }

    /// Built-in tools are always trusted.
    pub(super) fn judge(
        &self,
        pins: &ToolPins,
        room: FirstUseRoom,
    ) -> (TrustJudgement, Vec<Finding>) {
        if self.rules.origin == ServerOrigin::Builtin {
            return (
                TrustJudgement { verdict: TrustVerdict::Served, is_first_use: false },
                Vec::new(),
            );
        }
        let definition = &self.read.definition;
        let findings: Vec<Finding> =
            definition.findings.iter().chain(&self.shadows).cloned().collect();
        let offered = OfferedDefinition { hash: definition.hash, findings: &findings, room };
        (trust::judge(self.rules.trust, pins.get(&self.id), &offered), findings)
    }

    pub(super) fn finish(self) -> Arc<Tool> {
        let ParsedTool { definition, input, output } = self.read;
        let nothing_said = ToolOverride::default();
        let overrides = self.rules.tools.get(&self.id.tool).unwrap_or(&nothing_said);
        let terms = call_terms::terms(self.rules, overrides, &definition);
        let description = overrides.description.clone().or_else(|| definition.description.clone());
        let same = |tool: &Arc<Tool>| {
            tool.exposed == self.exposed && tool.terms == terms && tool.description == description
        };
        if let Some(previous) = self.previous.filter(same) {
            return previous;
        }
        Arc::new(Tool {
            listed: tool_listing::render_listing(
                &definition,
                &self.exposed,
                description.as_deref(),
            ),
            hash: definition.hash,
            id: self.id,
            exposed: self.exposed,
            definition,
            description,
            terms,
            input,
            output,
            source: self.source,
        })
    }
}

/// The tools of the previous catalogue, by id and definition text.
struct PreviousTools {
    tools: HashMap<ServerId, HashMap<ToolName, Arc<Tool>>>,
}

impl PreviousTools {
    fn of(catalog: Option<&Catalog>) -> Self {
        let mut tools: HashMap<ServerId, HashMap<ToolName, Arc<Tool>>> = HashMap::new();
        let known = catalog.into_iter().flat_map(|catalog| {
            catalog.tools.iter().chain(catalog.quarantined_tools().map(|(tool, _)| tool))
        });
        for tool in known {
            let server = tools.entry(tool.id.server.clone()).or_default();
            server.insert(tool.id.tool.clone(), Arc::clone(tool));
        }
        Self { tools }
    }

    fn tool(&self, id: &ToolId, source: ContentHash) -> Option<Arc<Tool>> {
        let tool = self.tools.get(&id.server)?.get(&id.tool)?;
        (tool.source == source).then(|| Arc::clone(tool))
    }
}

/// `expose_as`, or else the name made from the pattern.
fn choose_exposed_name(
    inputs: &CatalogInputs<'_>,
    rules: &ServerRules,
    name: &ToolName,
) -> ExposedName {
    match rules.tools.get(name).and_then(|overrides| overrides.expose_as.clone()) {
        Some(exposed) => exposed,
        None => expose(inputs.pattern, rules.origin, &rules.server, name),
    }
}

/// Why the server may not offer a tool of this name.
pub(super) fn stop(rules: &ServerRules, name: &ToolName) -> Option<String> {
    if let Some(glob) = rules.deny.iter().find(|glob| glob.matches(name.as_str())) {
        return Some(format!("`deny` of its server has `{glob}`"));
    }
    let is_allowed = glob::any(&rules.allow, name.as_str());
    (!is_allowed).then(|| "`allow` of its server does not have it".to_owned())
}

pub(super) fn unusable(problem: &CatalogProblem, exposed: ExposedName) -> WithheldTool {
    let tool = problem.tool.clone();
    let why = problem.to_string();
    WithheldTool { tool, exposed, cause: WithheldCause::Unusable, why }
}

/// The name, even of an invalid tool, so that operators can find it. A name over the limit is
/// truncated (the definition is rejected for it anyway).
pub(super) fn name_of(raw: &RawValue, at: usize) -> ToolName {
    let name = Object::parse(raw.get()).ok().and_then(|object| {
        let name = object.string("name").filter(|name| !name.is_empty())?;
        Some(truncate_chars(&name, ToolDefinition::MAX_NAME))
    });
    ToolName::new(&name.unwrap_or_else(|| format!("(item {} of the list)", at + 1)))
}
