//! Re-checks a call that waited for approval: meanwhile its tool may have been changed, withheld or
//! removed, and the audit trail may have failed.

use std::sync::Arc;

use tollgate_core::agent::RequestedTier;
use tollgate_core::approval::HeldRequest;
use tollgate_core::budget::Tier;
use tollgate_core::call::Outcome;
use tollgate_core::tool::Tool;
use tollgate_core::turn::Turn;

use crate::answer;
use crate::audit::{AuditLedger, RowDurability};
use crate::recorder::RecordingPolicy;
use crate::registry::{CatalogRegistry, ViewQuery};

/// How durable its audit row must be if it may still run; otherwise the answer.
#[expect(clippy::result_large_err, reason = "the outcome is the answer, and goes on at once")]
pub(super) fn recheck(
    turn: &Turn,
    held: &HeldRequest<'_>,
    registry: &CatalogRegistry,
    ledger: &AuditLedger,
) -> Result<RowDurability, Outcome> {
    let tool = held.tool();
    if current_tool(turn, tool, registry).is_none_or(|current| current.hash != tool.hash) {
        return Err(answer::tool_changed_outcome(tool));
    }
    let admitted = RecordingPolicy::of(&turn.policy).admits(ledger, held.permitted_request());
    admitted.map_err(|unwritten| answer::not_run_outcome(tool, &unwritten))
}

/// The tool as the principal may call it now, directly or from a program. Its latency was judged when
/// the turn began.
pub(super) fn current_tool(
    turn: &Turn,
    tool: &Tool,
    registry: &CatalogRegistry,
) -> Option<Arc<Tool>> {
    let seen = ViewQuery {
        agent: Some(turn.view.agent.as_str()),
        wish: RequestedTier::Override(Tier::Deep),
        principal: turn.grant.as_ref().and_then(|grant| grant.tools.as_deref()),
        request: None,
    };
    let (view, _) = registry.current().view(seen).ok()?;
    // Programs see what others do not.
    let current = view.in_code().tool(tool.exposed.as_str());
    current.filter(|current| current.id == tool.id).map(Arc::clone)
}
