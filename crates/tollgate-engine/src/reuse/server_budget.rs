//! Per-server retry budget and count of late calls. Created on first use, since servers come and go
//! with the config.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use arc_swap::ArcSwap;
use tollgate_core::id::ServerId;
use tollgate_core::retry_budget::RetryBudget;

#[derive(Default)]
pub(super) struct ServerBudgets(ArcSwap<HashMap<ServerId, Arc<ServerBudget>>>);

pub(super) struct ServerBudget {
    pub(super) budget: RetryBudget,
    /// Calls that continue after their turn.
    pub(super) late: AtomicUsize,
}

impl ServerBudgets {
    /// Lock-free once the entry exists.
    pub(super) fn of(&self, server: &ServerId) -> Arc<ServerBudget> {
        if let Some(account) = self.0.load().get(server) {
            return Arc::clone(account);
        }
        let new =
            Arc::new(ServerBudget { budget: RetryBudget::default(), late: AtomicUsize::new(0) });
        let open = |known: &Arc<HashMap<ServerId, Arc<ServerBudget>>>| {
            let mut next = HashMap::clone(known);
            next.entry(server.clone()).or_insert_with(|| Arc::clone(&new));
            next
        };
        self.0.rcu(open);
        self.0.load().get(server).map_or(new, Arc::clone)
    }
}
