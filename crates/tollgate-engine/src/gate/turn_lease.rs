//! For how long a turn and its calls may go on: as long as whoever asks has what let them in, the
//! config has the agent, and the agent has the tool.

use std::borrow::Cow;
use std::sync::Arc;

use tollgate_core::agent::RequestedTier;
use tollgate_core::budget::{Deadline, Tier};
use tollgate_core::lease::{LeaseTerm, RevocableLease};
use tollgate_core::policy::Permitted;
use tollgate_core::turn::{Actor, Turn, TurnId};
use tollgate_core::view::View;

use super::{Gate, TurnRequest, UnknownAgentError};
use crate::registry::{CatalogGeneration, ViewQuery};

/// What an agent sees now.
struct AgentSnapshot {
    current: Arc<CatalogGeneration>,
    view: Arc<View>,
    budget: Option<Tier>,
    /// Ends when the agent is taken away.
    term: LeaseTerm,
}

impl Gate {
    /// Opens a turn: what this agent may see and call, from now on and until it ends, or until
    /// whoever asks loses the right to go on.
    pub fn turn(&self, turn_request: TurnRequest<'_>) -> Result<Turn, UnknownAgentError> {
        let AgentSnapshot { current, view, budget, term } =
            self.snapshot(turn_request.view_query())?;
        let now = self.clock.now();
        let wall = |tier| Deadline::after(now, current.policy.ceilings.of(tier));
        let deadline = budget.map(wall);
        let trace = current.policy.telemetry.filter_trace(turn_request.trace);
        let TurnRequest { actor, grant, link, .. } = turn_request;
        let actor = Actor { lease: actor.lease.and(&term), ..actor };
        let id = TurnId::new(self.clock.wall(), self.random.bits());
        let turn = Turn::open(id, now, actor, view, Arc::clone(&current.calls));
        let taint = match link {
            Some(link) => self.taints.open(&turn.principal, link, Some(id), now),
            None => Arc::clone(&turn.taint),
        };
        Ok(Turn { grant, deadline, trace, taint, ..turn })
    }

    fn snapshot(&self, seen: ViewQuery<'_>) -> Result<AgentSnapshot, UnknownAgentError> {
        loop {
            let current = Arc::clone(&self.registry.current());
            let (view, budget) = current.view(seen)?;
            let term = self.revocations.of_agent(&view.agent);
            // A config that came meanwhile may not have ended this term.
            if Arc::ptr_eq(&current.policy, &self.registry.current().policy) {
                return Ok(AgentSnapshot { current, view, budget, term });
            }
        }
    }

    /// The same turn for a call of this tool, which can be taken away, too.
    pub(super) fn lease_for_tool<'t>(
        &self,
        turn: &'t Turn,
        permitted: &Permitted<'_>,
    ) -> Cow<'t, Turn> {
        let Some(tool) = permitted.tool() else { return Cow::Borrowed(turn) };
        let term = self.revocations.of_tool(&turn.view.agent, &tool.id);
        // A turn may be older than the config that took the tool away.
        let current = self.registry.current();
        let is_old = current.catalog.version != turn.view.version;
        let taken =
            is_old.then(|| current.operator_revocation(&turn.view.agent, &tool.id)).flatten();
        let term = taken.map_or(term, LeaseTerm::ended_by);
        Cow::Owned(Turn { lease: turn.lease.and(&term), ..turn.clone() })
    }

    /// For how long something that goes on without a turn may be for this agent.
    pub fn lease(
        &self,
        lease: &RevocableLease,
        agent: Option<&str>,
    ) -> Result<RevocableLease, UnknownAgentError> {
        let seen =
            ViewQuery { agent, wish: RequestedTier::Ceiling, principal: None, request: None };
        Ok(lease.and(&self.snapshot(seen)?.term))
    }

    /// The config changed: what it took away stops.
    pub(crate) fn review(&self) {
        self.revocations.review(&self.registry.current());
    }
}
