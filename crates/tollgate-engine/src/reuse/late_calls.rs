//! Late calls: those that continue after their turn. Bounded, so that a hanging server does not
//! accumulate them.

use std::sync::Arc;

use tollgate_core::plan::Planned;

use super::CallCompletion;
use super::late_call_slots::LateCallSlots;
use super::single_flight::Flight;

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
