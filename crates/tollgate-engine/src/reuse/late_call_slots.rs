//! Slots of late calls, per server and in total: a hanging server does not accumulate them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tollgate_core::id::ServerId;

use super::server_budget::{ServerBudget, ServerBudgets};

/// Per server, and in total.
const MAX_LATE_CALLS_PER_SERVER: usize = 32;
const MAX_LATE_CALLS: usize = 256;

/// Counts of late calls.
pub(super) struct LateCallSlots {
    all: AtomicUsize,
    accounts: Arc<ServerBudgets>,
}

/// One slot, released on drop.
pub(super) struct LateCallSlot {
    slots: Arc<LateCallSlots>,
    account: Arc<ServerBudget>,
}

impl LateCallSlots {
    pub(super) fn new(accounts: Arc<ServerBudgets>) -> Self {
        Self { all: AtomicUsize::new(0), accounts }
    }

    /// `None` if all slots are taken.
    pub(super) fn take(self: &Arc<Self>, server: &ServerId) -> Option<LateCallSlot> {
        let account = self.accounts.of(server);
        take(&self.all, MAX_LATE_CALLS)?;
        if take(&account.late, MAX_LATE_CALLS_PER_SERVER).is_none() {
            give_back(&self.all);
            return None;
        }
        Some(LateCallSlot { slots: Arc::clone(self), account })
    }
}

impl Drop for LateCallSlot {
    fn drop(&mut self) {
        give_back(&self.slots.all);
        give_back(&self.account.late);
    }
}

fn take(count: &AtomicUsize, most: usize) -> Option<()> {
    let more = |count: usize| (count < most).then_some(count + 1);
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(drop)
}

fn give_back(count: &AtomicUsize) {
    count.fetch_sub(1, Ordering::Relaxed);
}
