//! A call that waited for a person, looked at once more before it runs: meanwhile its tool may have
//! been changed, withheld or taken away, and the audit trail may have broken.

use std::sync::Arc;

use tollgate_core::agent::Wish;
use tollgate_core::approval::Held;
use tollgate_core::budget::Tier;
use tollgate_core::call::Outcome;
use tollgate_core::tool::Tool;
use tollgate_core::turn::Turn;

use crate::answer;
use crate::audit::{Ledger, Weight};
use crate::recorder::Policy;
use crate::registry::{Registry, Seen};

/// How its row is to be written if it may still run; otherwise the answer.
#[expect(clippy::result_large_err, reason = "the outcome is the answer, and goes on at once")]
pub(super) fn recheck(
    turn: &Turn,
    held: &Held<'_>,
    (registry, ledger): (&Registry, &Ledger),
) -> Result<Weight, Outcome> {
    let (current, tool) = (registry.current(), held.tool());
    let now = now(turn, tool, registry);
    if now.is_none_or(|now| now.hash != tool.hash) {
        return Err(answer::moved(tool));
    }
    let admitted = Policy::of(&current.charter).admits(ledger, held.permitted());
    admitted.map_err(|unwritten| answer::not_run(tool, &unwritten))
}

/// The tool as whoever's turn it is may call it now, by whatever way. How fast it is was looked at
/// when the turn began.
pub(super) fn now(turn: &Turn, tool: &Tool, registry: &Registry) -> Option<Arc<Tool>> {
    let seen = Seen {
        agent: Some(turn.view.agent.as_str()),
        wish: Wish::Override(Tier::Deep),
        principal: turn.grant.as_ref().and_then(|grant| grant.tools.as_deref()),
        request: None,
    };
    let (view, _) = registry.current().view(seen).ok()?;
    // Programs see what others do not.
    let now = view.in_code().tool(tool.exposed.as_str()).filter(|now| now.id == tool.id);
    now.map(Arc::clone)
}
