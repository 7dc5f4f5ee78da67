//! From listings to the prompts of the catalogue. They are named like tools, apart from them.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::tools::name_of;
use super::wanted::Wanted;
use super::{Inputs, Origin, Problem, ProblemKind, Prompt};
use crate::id::{ExposedName, ToolId};
use crate::json::{self, Object};
use crate::names::{Kind, Owners, expose};
use crate::tool::{Definition, Finding, Rejected, scrub};

const MAX_ITEM: usize = 64 * 1024;

pub(super) struct Candidate {
    turn: (bool, usize),
    id: ToolId,
    exposed: ExposedName,
    fields: Object<'static>,
}

pub(super) fn read(
    inputs: &Inputs<'_>,
    wanted: &mut Wanted,
    problems: &mut Vec<Problem>,
) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for (rank, offer) in inputs.offers.iter().enumerate().filter(|(_, offer)| offer.present) {
        let rules = &offer.rules;
        for (at, raw) in offer.listing.prompts.iter().enumerate() {
            let id = ToolId { server: rules.server.clone(), tool: name_of(raw, at) };
            let exposed = expose(inputs.pattern, rules.origin, &rules.server, &id.tool);
            let mut problem = |kind| problems.push(Problem { tool: id.clone(), kind });
            if !wanted.note(Kind::Prompt, &id, &exposed) {
                problem(ProblemKind::ListedTwice { owner: rules.server.clone() });
                continue;
            }
            match prompt(raw) {
                Ok(Item { fields, findings }) => {
                    findings.into_iter().for_each(|it| problem(ProblemKind::Suspicious(it)));
                    let turn = (rules.origin != Origin::Builtin, rank);
                    candidates.push(Candidate { turn, id, exposed, fields });
                }
                Err(rejected) => problem(ProblemKind::Rejected(rejected.to_string())),
            }
        }
    }
    candidates
}

pub(super) fn settle(
    mut candidates: Vec<Candidate>,
    owners: &mut Owners,
    problems: &mut Vec<Problem>,
) -> Vec<Arc<Prompt>> {
    candidates.sort_by(|a, b| (a.turn, &a.id.tool).cmp(&(b.turn, &b.id.tool)));
    let mut prompts = Vec::with_capacity(candidates.len());
    for Candidate { id, exposed, mut fields, .. } in candidates {
        if let Err(owner) = owners.claim(Kind::Prompt, &exposed, &id) {
            let exposed = exposed.to_string();
            problems.push(Problem { tool: id, kind: ProblemKind::NameTaken { exposed, owner } });
            continue;
        }
        fields.set_string("name", exposed.as_str());
        let listed = fields.to_text().into_boxed_str();
        prompts.push(Arc::new(Prompt { server: id.server, name: id.tool, exposed, listed }));
    }
    prompts.sort_by(|a, b| a.exposed.cmp(&b.exposed));
    prompts
}

/// An item of a list whose fields are passed on, without hidden text.
pub(super) struct Item {
    pub(super) fields: Object<'static>,
    pub(super) findings: Vec<Finding>,
}

impl Item {
    pub(super) fn read(raw: &RawValue) -> Result<Self, Rejected> {
        let (size, limit) = (raw.get().len(), MAX_ITEM);
        if size > limit {
            return Err(Rejected::TooLong { field: "definition", size, limit });
        }
        let mut whole = json::value(raw.get())?;
        let findings = scrub::scrub(&mut whole, raw.get())?;
        let fields = scrub::fields(&whole, raw.get(), &findings)?;
        Ok(Self { fields, findings })
    }
}

fn prompt(raw: &RawValue) -> Result<Item, Rejected> {
    let name =
        Object::parse(raw.get())?.string("name").ok_or(Rejected::Missing("name"))?.chars().count();
    match name {
        1..=Definition::MAX_NAME => Item::read(raw),
        length => Err(Rejected::NameLength(length)),
    }
}
