//! Revocation by config changes: of agents, and of tools of an agent.
//!
//! Each is a term of the leases of turns and calls, so that ending it reaches everything that runs
//! under it, waits for approval, or is still to be delivered. Keys, tokens and logins are terms
//! owned by the fronts, in the same leases.

use std::collections::HashMap;

use parking_lot::RwLock;
use tollgate_core::id::{AgentId, ToolId};
use tollgate_core::lease::{LeaseTerm, RevocableLease, RevokedError};

use crate::registry::CatalogGeneration;

/// The terms in use. An agent or tool that was removed and comes back gets a new term.
#[derive(Default)]
pub(crate) struct Revocations {
    agents: RwLock<HashMap<AgentId, AgentTerms>>,
}

#[derive(Default)]
struct AgentTerms {
    term: LeaseTerm,
    /// Tools that were called.
    tools: HashMap<ToolId, LeaseTerm>,
}

impl Revocations {
    /// The caller must check the config again afterwards: it may have changed before the term
    /// existed.
    pub(crate) fn of_agent(&self, agent: &AgentId) -> LeaseTerm {
        if let Some(terms) = self.agents.read().get(agent) {
            return terms.term.clone();
        }
        self.agents.write().entry(agent.clone()).or_default().term.clone()
    }

    pub(crate) fn of_tool(&self, agent: &AgentId, tool: &ToolId) -> LeaseTerm {
        let known = |terms: &AgentTerms| terms.tools.get(tool).cloned();
        if let Some(term) = self.agents.read().get(agent).and_then(known) {
            return term;
        }
        let mut agents = self.agents.write();
        agents.entry(agent.clone()).or_default().tools.entry(tool.clone()).or_default().clone()
    }

    /// Ends the terms of everything that this config no longer contains. Call it once the config is
    /// in effect.
    pub(crate) fn review(&self, generation: &CatalogGeneration) {
        let mut taken = Vec::new();
        self.agents.write().retain(|agent, terms| {
            if !generation.has_agent(agent) {
                let why = format!("agent `{agent}` was removed from the config");
                taken.push((terms.term.clone(), RevokedError::because(why)));
                return false;
            }
            terms.tools.retain(|tool, term| match generation.operator_revocation(agent, tool) {
                Some(why) => {
                    taken.push((term.clone(), why));
                    false
                }
                None => true,
            });
            true
        });
        // Not under the lock: a task that is woken may ask for a term.
        for (term, why) in taken {
            term.end(why);
        }
    }
}

/// Runs `work` until the lease is revoked, whatever it waits for. A result that comes after the
/// revocation is discarded.
pub async fn until_revoked<T>(
    lease: &RevocableLease,
    work: impl Future<Output = T>,
) -> Result<T, RevokedError> {
    if let Some(why) = lease.revocation() {
        return Err(why.clone());
    }
    tokio::select! {
        biased;
        done = work => match lease.revocation() {
            Some(why) => Err(why.clone()),
            None => Ok(done),
        },
        why = lease.wait() => Err(why),
    }
}
