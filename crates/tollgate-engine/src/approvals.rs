//! Calls that wait for approval: who wants what, why, and until when.
//!
//! Whoever may decide does so here, once; the call that waits hears of it. Called by the gate for
//! the calls, by the fronts for the people. Bounded in number and in time.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tollgate_core::approval::{
    ApprovalEnding, ApprovalId, ApprovalReason, ApprovalVerdict, HeldRequest,
};
use tollgate_core::id::{AgentId, ToolId};
use tollgate_core::lease::{RevocableLease, RevokedError};
use tollgate_core::turn::{Principal, Turn};

use crate::audit::{self, AuditAction, AuditLedger, AuditWriteError, RowDurability};
use crate::clock::Clock;
use crate::notices::{Notice, NoticeCall, Notices};
use crate::settings::OnAuditFailure;

mod arguments_preview;
pub(crate) mod form;
mod parking;

pub use arguments_preview::ArgumentsPreview;
pub(crate) use parking::{ApprovalParking, ParkedApproval};

/// Decisions that are remembered, so that a second one is told from one about nothing.
const MAX_REMEMBERED_DECISIONS: usize = 1_024;

pub struct ApprovalQueue {
    clock: Arc<dyn Clock>,
    notices: Notices,
    ledger: Arc<AuditLedger>,
    state: Mutex<ApprovalQueueState>,
    /// In the order of [`ApprovalEnding::ALL`].
    ended: [AtomicU64; ApprovalEnding::ALL.len()],
}

#[derive(Default)]
struct ApprovalQueueState {
    waiting: HashMap<ApprovalId, PendingApproval>,
    /// The oldest first.
    decided: VecDeque<ApprovalId>,
    /// Calls that were stopped while they waited, the oldest first.
    revoked: VecDeque<(ApprovalId, RevokedError)>,
    next: u64,
}

struct PendingApproval {
    request: Arc<ApprovalRequest>,
    /// In which order they came.
    number: u64,
    /// Somebody's decision is on its way to the audit trail.
    deciding: bool,
    /// Once it has ended, nobody can agree any more.
    lease: RevocableLease,
    /// Whether a decision counts that cannot be saved, by the rules that the call began with.
    on_failure: OnAuditFailure,
    reply: oneshot::Sender<ApprovalVerdict>,
}

/// A call that waits.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalRequest {
    pub id: ApprovalId,
    pub principal: Principal,
    pub agent: AgentId,
    pub tool: ToolId,
    /// As the agent sees it.
    pub exposed: String,
    pub arguments: ArgumentsPreview,
    pub why: ApprovalReason,
    pub since: SystemTime,
    pub until: SystemTime,
}

impl ApprovalRequest {
    fn call(&self) -> NoticeCall {
        NoticeCall {
            principal: self.principal.clone(),
            agent: self.agent.clone(),
            tool: self.tool.clone(),
            exposed: self.exposed.clone(),
        }
    }
}

/// Why there is nothing to decide.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalDecisionError {
    #[error(
        "no call awaits approval under this id: it is unknown, it expired, or its caller \
         disconnected"
    )]
    Unknown,
    #[error("this call has already been decided")]
    Decided,
    #[error("this call no longer awaits approval and was not made: {0}")]
    Revoked(RevokedError),
    /// The call goes on waiting.
    #[error("the decision was not saved: {0}")]
    Unwritten(#[from] AuditWriteError),
}

/// No more can wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many calls are awaiting approval; try again in {} s", Self::RETRY_AFTER.as_secs())]
pub(crate) struct ApprovalQueueFullError;

impl ApprovalQueueFullError {
    pub(crate) const RETRY_AFTER: Duration = Duration::from_secs(5);
}

/// A place in the queue. Dropping it leaves the queue.
pub(crate) struct ApprovalWaiter {
    approvals: Arc<ApprovalQueue>,
    id: ApprovalId,
    until: Instant,
    lease: RevocableLease,
    verdict: oneshot::Receiver<ApprovalVerdict>,
}

impl ApprovalQueue {
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        notices: Notices,
        ledger: Arc<AuditLedger>,
    ) -> Arc<Self> {
        let ended = std::array::from_fn(|_| AtomicU64::new(0));
        Arc::new(Self { clock, notices, ledger, state: Mutex::default(), ended })
    }

    /// Those that wait, the longest first.
    pub fn waiting(&self) -> Vec<Arc<ApprovalRequest>> {
        let state = self.state.lock();
        let mut entries: Vec<&PendingApproval> = state.waiting.values().collect();
        entries.sort_unstable_by_key(|entry| entry.number);
        entries.into_iter().map(|entry| Arc::clone(&entry.request)).collect()
    }

    /// How often a wait ended so, since the start.
    pub fn ending_counts(&self) -> impl Iterator<Item = (ApprovalEnding, u64)> {
        let count =
            |(ending, count): (ApprovalEnding, &AtomicU64)| (ending, count.load(Ordering::Relaxed));
        ApprovalEnding::ALL.into_iter().zip(&self.ended).map(count)
    }

    pub fn find(&self, id: ApprovalId) -> Option<Arc<ApprovalRequest>> {
        self.state.lock().waiting.get(&id).map(|entry| Arc::clone(&entry.request))
    }

    /// Decides for good. The call goes on, or does not, without anybody's further doing. Dropped
    /// before that, or without a trail where there has to be one, it goes on waiting.
    pub(crate) async fn decide(
        &self,
        verdict: ApprovalVerdict,
    ) -> Result<Arc<ApprovalRequest>, ApprovalDecisionError> {
        let deciding = self.begin(verdict.id)?;
        let on_failure = deciding.on_failure;
        let ending = ApprovalEnding::Decided(verdict.decision);
        self.ledger.admits(RowDurability::Durable, on_failure)?;
        // First the trail: nothing runs without a word of who agreed.
        let note = verdict.note.as_deref();
        let decided = row(&deciding.request, ending.as_str(), &verdict.by, note);
        let written = self.ledger.note(decided).await;
        match (written, on_failure) {
            (Err(unwritten), OnAuditFailure::Refuse) => {
                // The row comes yet, and must not be the last word.
                let why = "the decision could not be saved in time";
                let undecided = row(&deciding.request, "not_decided", &verdict.by, Some(why));
                self.ledger.note_later(undecided);
                return Err(unwritten.into());
            }
            (Ok(()), _) | (Err(_), OnAuditFailure::Continue) => {}
        }
        let by = verdict.by.clone();
        let mut state = self.state.lock();
        if let Some(why) = state.revocation(verdict.id) {
            drop(state);
            // The row of the decision must not be the last word.
            let note = "the call was cancelled before that";
            let undecided = row(&deciding.request, "not_decided", &verdict.by, Some(note));
            self.ledger.note_later(undecided);
            return Err(ApprovalDecisionError::Revoked(why));
        }
        let entry = state.waiting.remove(&verdict.id).ok_or(ApprovalDecisionError::Unknown)?;
        let PendingApproval { request, reply, .. } = entry;
        if reply.send(verdict).is_err() {
            return Err(ApprovalDecisionError::Unknown);
        }
        if state.decided.len() >= MAX_REMEMBERED_DECISIONS {
            state.decided.pop_front();
        }
        state.decided.push_back(request.id);
        drop(state);
        self.tell(&request, ending, Some(by));
        Ok(request)
    }

    /// One decision at a time: the second one is too late already.
    fn begin(&self, id: ApprovalId) -> Result<DecisionGuard<'_>, ApprovalDecisionError> {
        let mut state = self.state.lock();
        if let Some(why) = state.revocation(id) {
            return Err(ApprovalDecisionError::Revoked(why));
        }
        let is_decided = state.decided.contains(&id);
        match state.waiting.get_mut(&id) {
            Some(entry) if entry.deciding => Err(ApprovalDecisionError::Decided),
            Some(entry) => {
                entry.deciding = true;
                Ok(DecisionGuard {
                    approvals: self,
                    request: Arc::clone(&entry.request),
                    on_failure: entry.on_failure,
                })
            }
            None if is_decided => Err(ApprovalDecisionError::Decided),
            None => Err(ApprovalDecisionError::Unknown),
        }
    }

    /// Queues a call up. One principal cannot take more than half of the room.
    pub(crate) fn ask(
        self: &Arc<Self>,
        turn: &Turn,
        held: &HeldRequest<'_>,
        arguments: ArgumentsPreview,
    ) -> Result<ApprovalWaiter, ApprovalQueueFullError> {
        let rules = turn.policy.approvals;
        let since = self.clock.wall();
        let request = Arc::new(ApprovalRequest {
            id: held.id(),
            principal: turn.principal.clone(),
            agent: turn.view.agent.clone(),
            tool: held.tool().id.clone(),
            exposed: held.tool().exposed.to_string(),
            arguments,
            why: held.why().clone(),
            since,
            until: since + rules.timeout,
        });
        let (reply, verdict) = oneshot::channel();
        let mut state = self.state.lock();
        let own = |entry: &&PendingApproval| entry.request.principal == turn.principal;
        let own = state.waiting.values().filter(own).count();
        if state.waiting.len() >= rules.waiting || own >= rules.waiting.div_ceil(2) {
            return Err(ApprovalQueueFullError);
        }
        state.next += 1;
        let entry = PendingApproval {
            request: Arc::clone(&request),
            number: state.next,
            deciding: false,
            lease: turn.lease.clone(),
            on_failure: turn.policy.audit.on_failure,
            reply,
        };
        state.waiting.insert(request.id, entry);
        drop(state);
        let until = self.clock.now() + rules.timeout;
        let lease = turn.lease.clone();
        let place =
            ApprovalWaiter { approvals: Arc::clone(self), id: request.id, until, lease, verdict };
        let id = request.id;
        let why = request.why.clone();
        let until = request.until;
        self.notices.tell(Notice::ApprovalRequested { id, call: request.call(), why, until });
        Ok(place)
    }

    fn leave(&self, id: ApprovalId, ending: ApprovalEnding) {
        let mut state = self.state.lock();
        let Some(entry) = state.waiting.remove(&id) else { return };
        let revoked = entry.lease.revocation().cloned();
        if let Some(why) = &revoked {
            if state.revoked.len() >= MAX_REMEMBERED_DECISIONS {
                state.revoked.pop_front();
            }
            state.revoked.push_back((id, why.clone()));
        }
        drop(state);
        let ending = if revoked.is_some() { ApprovalEnding::Revoked } else { ending };
        // A caller that went away decided nothing.
        if ending != ApprovalEnding::Withdrawn {
            let request = &entry.request;
            let why = revoked.as_ref().map(RevokedError::as_str);
            self.ledger.note_later(row(request, ending.as_str(), &request.principal, why));
        }
        self.tell(&entry.request, ending, None);
    }

    /// Whoever watches hears of it.
    fn tell(&self, request: &ApprovalRequest, ending: ApprovalEnding, by: Option<Principal>) {
        if let Some(at) = ApprovalEnding::ALL.iter().position(|it| *it == ending) {
            self.ended[at].fetch_add(1, Ordering::Relaxed);
        }
        let id = request.id;
        let call = request.call();
        self.notices.tell(Notice::ApprovalDecided { id, call, ending, by });
    }
}

impl ApprovalQueueState {
    /// Why nobody can decide about it any more, if it was stopped.
    fn revocation(&self, id: ApprovalId) -> Option<RevokedError> {
        let waiting = self.waiting.get(&id).and_then(|entry| entry.lease.revocation());
        let known = || self.revoked.iter().find(|(known, _)| *known == id).map(|(_, why)| why);
        waiting.or_else(known).cloned()
    }
}

/// What the audit trail keeps of it: by whom it was decided, and in which words.
fn row(
    request: &ApprovalRequest,
    ending: &'static str,
    by: &Principal,
    note: Option<&str>,
) -> audit::Decision {
    let why = format!("requested by {}: {}", request.principal.as_str(), request.why);
    let why = note.map_or(why.clone(), |note| format!("{note}; {why}"));
    audit::Decision::new(AuditAction::Approval, by, ending)
        .about(&request.exposed)
        .agent(&request.agent)
        .server(&request.tool.server)
        .tool(request.tool.tool.as_str())
        .because(&why)
}

/// A decision under way; dropped, it leaves the call to others.
struct DecisionGuard<'a> {
    approvals: &'a ApprovalQueue,
    request: Arc<ApprovalRequest>,
    on_failure: OnAuditFailure,
}

impl Drop for DecisionGuard<'_> {
    fn drop(&mut self) {
        if let Some(entry) = self.approvals.state.lock().waiting.get_mut(&self.request.id) {
            entry.deciding = false;
        }
    }
}

impl ApprovalWaiter {
    /// Waits for the verdict; `None` when the time is over. Cancel-safe.
    pub(crate) async fn verdict(&mut self) -> Option<ApprovalVerdict> {
        let decided = tokio::time::timeout_at(self.until.into(), &mut self.verdict).await;
        match decided {
            Ok(verdict) => verdict.ok(),
            Err(_) => {
                self.approvals.leave(self.id, ApprovalEnding::Expired);
                // It may have been decided in that very moment.
                self.verdict.try_recv().ok()
            }
        }
    }

    /// The verdict, if there is one by now.
    pub(crate) fn verdict_now(&mut self) -> Option<ApprovalVerdict> {
        self.verdict.try_recv().ok()
    }

    pub(crate) fn until(&self) -> Instant {
        self.until
    }

    pub(crate) fn id(&self) -> ApprovalId {
        self.id
    }

    pub(crate) fn lease(&self) -> &RevocableLease {
        &self.lease
    }
}

impl Drop for ApprovalWaiter {
    fn drop(&mut self) {
        let is_over = self.approvals.clock.now() >= self.until;
        let ending = if is_over { ApprovalEnding::Expired } else { ApprovalEnding::Withdrawn };
        self.approvals.leave(self.id, ending);
    }
}

#[cfg(test)]
mod tests;
