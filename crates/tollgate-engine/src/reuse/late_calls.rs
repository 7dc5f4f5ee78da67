//! Late calls: those that continue after their turn. Bounded, so that a hanging server does not
//! accumulate them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tollgate_core::id::ServerId;
use tollgate_core::plan::Planned;

use super::CallCompletion;
use super::server_budget::{ServerBudget, ServerBudgets};
use super::single_flight::Flight;

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
    fn take(self: &Arc<Self>, server: &ServerId) -> Option<LateCallSlot> {
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

/// A call that outlives the turn of a caller. Dropping it cancels the call, unless others wait for
/// it.
pub(crate) struct LateCall {
    flight: Arc<Flight>,
}

impl LateCall {
    /// Takes one slot, however many callers wait for the call. `None` if all are taken.
    pub(super) fn of(flight: Arc<Flight>, slots: &Arc<LateCallSlots>) -> Option<Self> {
        {
            let mut slot = flight.late.lock();
            if slot.is_none() {
                *slot = Some(slots.take(flight.payload.planned.permitted_request().server())?);
            }
        }
        Some(Self { flight })
    }

    /// The call as it continues, without the turn's wall.
    pub(crate) fn planned_call(&self) -> &Planned<'static> {
        &self.flight.payload.planned
    }

    pub(crate) async fn wait(&self) -> CallCompletion {
        self.flight.wait().await.completion().await
    }
}
