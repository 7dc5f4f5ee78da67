//! Calls that wait for leave while their caller is away: a modern client that was asked comes back
//! with the answer. It holds a sealed ticket; the call and its place in the queue stay here.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tollgate_core::approval::{ApprovalId, HeldRequest};
use tollgate_core::turn::Principal;
use tollgate_mcp::tasks::{self, Task};

use super::{ApprovalQueueFullError, ApprovalWaiter};
use crate::caller::RoundAnswers;

/// A call, all that it needs to go on, and its place in the queue.
pub(crate) struct ParkedApproval {
    pub(crate) held: HeldRequest<'static>,
    pub(crate) place: ApprovalWaiter,
    /// What its caller had brought along for the server.
    pub(crate) retry: RoundAnswers,
    pub(crate) principal: Principal,
}

/// Each leaves when its time is over, or what its caller called with is taken away. One that was decided has left the queue and stays here until
/// its caller is back, so these are bounded by themselves.
#[derive(Default)]
pub(crate) struct ApprovalParking {
    calls: Arc<Mutex<HashMap<ApprovalId, (ParkedApproval, Task)>>>,
}

impl ApprovalParking {
    /// `most` may be here at once. One that finds no room leaves the queue too.
    pub(crate) fn park(
        &self,
        parked: ParkedApproval,
        most: usize,
    ) -> Result<(), ApprovalQueueFullError> {
        let (id, until) = (parked.place.id(), parked.place.until());
        let revoked = parked.place.lease().wait();
        // Held until it is in: an expiry that is due at once must find it.
        let mut calls = self.calls.lock();
        if calls.len() >= most {
            drop(calls);
            return Err(ApprovalQueueFullError);
        }
        let all = Arc::clone(&self.calls);
        let expiry = tasks::spawn("expiry of a call awaiting approval", async move {
            tokio::select! {
                () = tokio::time::sleep_until(until.into()) => {}
                _ = revoked => {}
            }
            let late = all.lock().remove(&id);
            drop(late);
        });
        calls.insert(id, (parked, expiry));
        Ok(())
    }

    /// Good once; `None` also for another's.
    pub(crate) fn take(&self, id: ApprovalId, principal: &Principal) -> Option<ParkedApproval> {
        let mut calls = self.calls.lock();
        calls.get(&id).filter(|(parked, _)| parked.principal == *principal)?;
        calls.remove(&id).map(|(parked, _)| parked)
    }
}
