//! Builds the catalogue's prompts from server lists. Named like tools, in a separate namespace.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::requested_names::RequestedNames;
use super::tools::name_of;
use super::{CatalogInputs, CatalogProblem, CatalogProblemKind, Prompt, ServerOrigin};
use crate::id::{ExposedName, ToolId};
use crate::json::{self, Object};
use crate::names::{NameKind, NameOwners, expose};
use crate::tool::{DefinitionError, Finding, ToolDefinition, scrub};

const MAX_ITEM: usize = 64 * 1024;

pub(super) struct PromptCandidate {
    turn: (bool, usize),
    id: ToolId,
    exposed: ExposedName,
    fields: Object<'static>,
}

pub(super) fn read(
    inputs: &CatalogInputs<'_>,
    requested: &mut RequestedNames,
    problems: &mut Vec<CatalogProblem>,
) -> Vec<PromptCandidate> {
    let mut candidates = Vec::new();
    for (rank, offer) in inputs.offers.iter().enumerate().filter(|(_, offer)| offer.present) {
        let rules = &offer.rules;
        for (at, raw) in offer.listing.prompts.iter().enumerate() {
            let id = ToolId { server: rules.server.clone(), tool: name_of(raw, at) };
            let exposed = expose(inputs.pattern, rules.origin, &rules.server, &id.tool);
            let mut problem = |kind| problems.push(CatalogProblem { tool: id.clone(), kind });
            if !requested.note(NameKind::Prompt, &id, &exposed) {
                problem(CatalogProblemKind::ListedTwice { owner: rules.server.clone() });
                continue;
            }
            match prompt(raw) {
                Ok(ListingItem { fields, findings }) => {
                    findings.into_iter().for_each(|it| problem(CatalogProblemKind::Suspicious(it)));
                    let turn = (rules.origin != ServerOrigin::Builtin, rank);
                    candidates.push(PromptCandidate { turn, id, exposed, fields });
                }
                Err(rejected) => problem(CatalogProblemKind::Rejected(rejected.to_string())),
            }
        }
    }
    candidates
}

pub(super) fn settle(
    mut candidates: Vec<PromptCandidate>,
    owners: &mut NameOwners,
    problems: &mut Vec<CatalogProblem>,
) -> Vec<Arc<Prompt>> {
    candidates.sort_by(|a, b| (a.turn, &a.id.tool).cmp(&(b.turn, &b.id.tool)));
    let mut prompts = Vec::with_capacity(candidates.len());
    for PromptCandidate { id, exposed, mut fields, .. } in candidates {
        if let Err(owner) = owners.claim(NameKind::Prompt, &exposed, &id) {
            let exposed = exposed.to_string();
            problems.push(CatalogProblem {
                tool: id,
                kind: CatalogProblemKind::NameTaken { exposed, owner },
            });
            continue;
        }
        fields.set_string("name", exposed.as_str());
        let listed = fields.to_text().into_boxed_str();
        prompts.push(Arc::new(Prompt { server: id.server, name: id.tool, exposed, listed }));
    }
    prompts.sort_by(|a, b| a.exposed.cmp(&b.exposed));
    prompts
}

/// A list item whose fields are forwarded, without hidden text.
pub(super) struct ListingItem {
    pub(super) fields: Object<'static>,
    pub(super) findings: Vec<Finding>,
}

impl ListingItem {
    pub(super) fn read(raw: &RawValue) -> Result<Self, DefinitionError> {
        let size = raw.get().len();
        let limit = MAX_ITEM;
        if size > limit {
            return Err(DefinitionError::TooLong { field: "definition", size, limit });
        }
        let mut whole = json::value(raw.get())?;
        let findings = scrub::scrub(&mut whole, raw.get())?;
        let fields = scrub::fields(&whole, raw.get(), &findings)?;
        Ok(Self { fields, findings })
    }
}

fn prompt(raw: &RawValue) -> Result<ListingItem, DefinitionError> {
    let name = Object::parse(raw.get())?
        .string("name")
        .ok_or(DefinitionError::Missing("name"))?
        .chars()
        .count();
    match name {
        1..=ToolDefinition::MAX_NAME => ListingItem::read(raw),
        length => Err(DefinitionError::NameLength(length)),
    }
}
