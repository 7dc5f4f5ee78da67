//! A call that waited for a person, looked at once more before it runs: meanwhile its tool may have
//! been changed, withheld or taken away, and the audit trail may have broken.

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

/// How its row is to be written if it may still run; otherwise the answer.
#[expect(clippy::result_large_err, reason = "the outcome is the answer, and goes on at once")]
pub(super) fn recheck(
    turn: &Turn,
    held: &HeldRequest<'_>,
    (registry, ledger): (&CatalogRegistry, &AuditLedger),
) -> Result<RowDurability, Outcome> {
    let (current, tool) = (registry.current(), held.tool());
    let now = now(turn, tool, registry);
    if now.is_none_or(|now| now.hash != tool.hash) {
        return Err(answer::tool_changed_outcome(tool));
    }
    let admitted = RecordingPolicy::of(&current.charter).admits(ledger, held.permitted_request());
    admitted.map_err(|unwritten| answer::not_run_outcome(tool, &unwritten))
}

/// The tool as whoever's turn it is may call it now, by whatever way. How fast it is was looked at
/// when the turn began.
pub(super) fn now(turn: &Turn, tool: &Tool, registry: &CatalogRegistry) -> Option<Arc<Tool>> {
    let seen = ViewQuery {
        agent: Some(turn.view.agent.as_str()),
        wish: RequestedTier::Override(Tier::Deep),
        principal: turn.grant.as_ref().and_then(|grant| grant.tools.as_deref()),
        request: None,
    };
    let (view, _) = registry.current().view(seen).ok()?;
    // Programs see what others do not.
    let now = view.in_code().tool(tool.exposed.as_str()).filter(|now| now.id == tool.id);
    now.map(Arc::clone)
}
