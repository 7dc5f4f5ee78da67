//! Assigns exposed names to tools, reports `expose_as` collisions, applies the trust decision
//! (served or quarantined), and completes the tools.

use std::collections::HashMap;
use std::sync::Arc;

use super::tools::{CatalogCandidate, CatalogRejections, unusable};
use super::{CatalogProblem, CatalogProblemKind, DoubtedTool, WithheldCause, WithheldTool};
use crate::id::{ExposedName, ToolId};
use crate::names::{NameKind, NameOwners, ServerOrigin};
use crate::tool::{Finding, Tool};
use crate::trust::{FirstUseRoom, ToolPins, TrustDoubt, TrustJudgement, TrustVerdict};

/// The result for all candidates, by exposed name.
#[derive(Default)]
pub(super) struct SettledTools {
    pub(super) served: Vec<Arc<Tool>>,
    pub(super) doubted: Vec<DoubtedTool>,
    pub(super) first_uses: Vec<Arc<Tool>>,
}

/// Assigns the names and completes the tools that got theirs. A withheld tool keeps its name, so
/// that no other tool takes it.
pub(super) fn settle(
    pins: &ToolPins,
    mut candidates: Vec<CatalogCandidate<'_>>,
    owners: &mut NameOwners,
    rejected: &mut CatalogRejections,
) -> SettledTools {
    let turn = |it: &CatalogCandidate<'_>| (it.origin() != ServerOrigin::Builtin, it.rank());
    candidates.sort_by(|a, b| (turn(a), &a.id().tool).cmp(&(turn(b), &b.id().tool)));
    let mut settled = SettledTools::default();
    let mut counts = HashMap::new();
    for candidate in candidates {
        let id = candidate.id().clone();
        let exposed = candidate.exposed_name().clone();
        if let Err(owner) = owners.claim(NameKind::Tool, &exposed, &id) {
            let kind = CatalogProblemKind::NameTaken { exposed: exposed.to_string(), owner };
            let problem = CatalogProblem { tool: id, kind };
            rejected.withheld.push(unusable(&problem, exposed));
            rejected.problems.push(problem);
            continue;
        }
        let count = counts.entry(candidate.rank()).or_insert_with(|| pins.count(&id.server));
        let room =
            if *count < ToolPins::MAX_FIRST_USES { FirstUseRoom::Left } else { FirstUseRoom::None };
        let (judgement, findings) = candidate.judge(pins, room);
        *count += usize::from(judgement.is_first_use);
        let kinds = kinds(&candidate, &judgement.verdict);
        let problem = |kind| CatalogProblem { tool: id.clone(), kind };
        rejected.problems.extend(kinds.into_iter().map(problem));
        rejected.withheld.extend(withhold_untrusted(id, exposed, &judgement.verdict));
        settled.take(candidate.finish(), judgement, findings);
    }
    settled.served.sort_by(|a, b| a.exposed.cmp(&b.exposed));
    settled.doubted.sort_by(|a, b| a.tool.exposed.cmp(&b.tool.exposed));
    settled
}

/// The problems reported to operators; findings of intake were reported before.
fn kinds(candidate: &CatalogCandidate<'_>, verdict: &TrustVerdict) -> Vec<CatalogProblemKind> {
    let shadows = candidate.shadows().iter().cloned().map(CatalogProblemKind::Suspicious);
    match verdict {
        TrustVerdict::Served => Vec::new(),
        TrustVerdict::Flagged(doubt @ TrustDoubt::Changed) => {
            shadows.chain([CatalogProblemKind::Doubtful(doubt.clone())]).collect()
        }
        TrustVerdict::Flagged(_) => shadows.collect(),
        TrustVerdict::Withheld(doubt) => {
            shadows.chain([CatalogProblemKind::Withheld(doubt.clone())]).collect()
        }
    }
}

fn withhold_untrusted(
    tool: ToolId,
    exposed: ExposedName,
    verdict: &TrustVerdict,
) -> Option<WithheldTool> {
    match verdict {
        TrustVerdict::Withheld(doubt) => {
            let why = doubt.to_string();
            Some(WithheldTool { tool, exposed, cause: WithheldCause::Untrusted, why })
        }
        TrustVerdict::Served | TrustVerdict::Flagged(_) => None,
    }
}

impl SettledTools {
    fn take(&mut self, tool: Arc<Tool>, judgement: TrustJudgement, findings: Vec<Finding>) {
        let TrustJudgement { verdict, is_first_use } = judgement;
        if is_first_use {
            self.first_uses.push(Arc::clone(&tool));
        }
        if !matches!(verdict, TrustVerdict::Withheld(_)) {
            self.served.push(Arc::clone(&tool));
        }
        if verdict != TrustVerdict::Served {
            self.doubted.push(DoubtedTool { tool, verdict, findings });
        }
    }
}
