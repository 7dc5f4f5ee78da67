//! Calls that wait for approval between two requests of their caller: a modern client gets the
//! question as a result and retries with the answer. The client holds a sealed ticket; the call and
//! its slot in the approval queue stay here.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tollgate_core::approval::{ApprovalId, HeldRequest};
use tollgate_core::turn::Principal;
use tollgate_mcp::tasks::{self, Task};

use super::{ApprovalQueueFullError, ApprovalWaiter};
use crate::caller::RoundAnswers;

/// A parked call, with everything it needs to resume and its slot in the approval queue.
pub(crate) struct ParkedApproval {
    pub(crate) held: HeldRequest<'static>,
    pub(crate) place: ApprovalWaiter,
    /// Answers for the server from earlier rounds.
    pub(crate) retry: RoundAnswers,
    pub(crate) principal: Principal,
}

/// Parked calls. Each is removed when it expires or when its caller's credentials are revoked. A
/// decided call has left the approval queue and stays here until its caller returns, so this set
/// needs a bound of its own.
#[derive(Default)]
pub(crate) struct ApprovalParking {
    calls: Arc<Mutex<HashMap<ApprovalId, (ParkedApproval, Task)>>>,
}

impl ApprovalParking {
    /// Keeps at most `most` calls. A call that finds no room leaves the approval queue too.
    pub(crate) fn park(
        &self,
        parked: ParkedApproval,
        most: usize,
    ) -> Result<(), ApprovalQueueFullError> {
        let id = parked.place.id();
        let until = parked.place.until();
        let revoked = parked.place.lease().wait();
        // Held until the call is inserted: an expiry that is due at once must find it.
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

    /// Each can be taken once, and only by its own principal.
    pub(crate) fn take(&self, id: ApprovalId, principal: &Principal) -> Option<ParkedApproval> {
        let mut calls = self.calls.lock();
        calls.get(&id).filter(|(parked, _)| parked.principal == *principal)?;
        calls.remove(&id).map(|(parked, _)| parked)
    }
}
