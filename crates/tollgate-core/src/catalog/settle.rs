//! Gives tools their names, judges whether they are trusted, and finishes them.

use std::collections::HashMap;
use std::sync::Arc;

use super::tools::{Candidate, Left, unusable};
use super::{Cause, Doubted, Problem, ProblemKind, Withheld};
use crate::id::{ExposedName, ToolId};
use crate::names::{Kind, Origin, Owners};
use crate::tool::{Finding, Tool};
use crate::trust::{Doubt, Judgement, Pins, Room, Verdict};

/// What became of all candidates. By exposed name.
#[derive(Default)]
pub(super) struct Settled {
    pub(super) served: Vec<Arc<Tool>>,
    pub(super) doubted: Vec<Doubted>,
    pub(super) first_uses: Vec<Arc<Tool>>,
}

/// Hands out the names and finishes those tools that got theirs. One that is withheld keeps its
/// name: nobody else takes it meanwhile.
pub(super) fn settle(
    pins: &Pins,
    mut candidates: Vec<Candidate<'_>>,
    owners: &mut Owners,
    (problems, withheld): Left<'_>,
) -> Settled {
    let turn = |it: &Candidate<'_>| (it.origin() != Origin::Builtin, it.rank());
    candidates.sort_by(|a, b| (turn(a), &a.id().tool).cmp(&(turn(b), &b.id().tool)));
    let mut settled = Settled::default();
    let mut counts = HashMap::new();
    for candidate in candidates {
        let (id, exposed) = (candidate.id().clone(), candidate.exposed().clone());
        if let Err(owner) = owners.claim(Kind::Tool, &exposed, &id) {
            let kind = ProblemKind::NameTaken { exposed: exposed.to_string(), owner };
            let problem = Problem { tool: id, kind };
            withheld.push(unusable(&problem, exposed));
            problems.push(problem);
            continue;
        }
        let count = counts.entry(candidate.rank()).or_insert_with(|| pins.count(&id.server));
        let room = if *count < Pins::MOST { Room::Left } else { Room::None };
        let (judgement, findings) = candidate.judge(pins, room);
        *count += usize::from(judgement.is_first_use);
        let kinds = kinds(&candidate, &judgement.verdict);
        problems.extend(kinds.into_iter().map(|kind| Problem { tool: id.clone(), kind }));
        withheld.extend(untrusted(id, exposed, &judgement.verdict));
        settled.take(candidate.finish(), judgement, findings);
    }
    settled.served.sort_by(|a, b| a.exposed.cmp(&b.exposed));
    settled.doubted.sort_by(|a, b| a.tool.exposed.cmp(&b.tool.exposed));
    settled
}

/// What people are told; what intake found is a problem of its own already.
fn kinds(candidate: &Candidate<'_>, verdict: &Verdict) -> Vec<ProblemKind> {
    let shadows = candidate.shadows().iter().cloned().map(ProblemKind::Suspicious);
    match verdict {
        Verdict::Served => Vec::new(),
        Verdict::Flagged(doubt @ Doubt::Changed) => {
            shadows.chain([ProblemKind::Doubtful(doubt.clone())]).collect()
        }
        Verdict::Flagged(_) => shadows.collect(),
        Verdict::Withheld(doubt) => shadows.chain([ProblemKind::Withheld(doubt.clone())]).collect(),
    }
}

fn untrusted(tool: ToolId, exposed: ExposedName, verdict: &Verdict) -> Option<Withheld> {
    match verdict {
        Verdict::Withheld(doubt) => {
            let why = doubt.to_string();
            Some(Withheld { tool, exposed, cause: Cause::Untrusted, why })
        }
        Verdict::Served | Verdict::Flagged(_) => None,
    }
}

impl Settled {
    fn take(&mut self, tool: Arc<Tool>, judgement: Judgement, findings: Vec<Finding>) {
        let Judgement { verdict, is_first_use } = judgement;
        if is_first_use {
            self.first_uses.push(Arc::clone(&tool));
        }
        if !matches!(verdict, Verdict::Withheld(_)) {
            self.served.push(Arc::clone(&tool));
        }
        if verdict != Verdict::Served {
            self.doubted.push(Doubted { tool, verdict, findings });
        }
    }
}
