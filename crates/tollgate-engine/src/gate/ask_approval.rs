//! Approvals: who is asked, for how long, and what comes of it. The call's own time begins when it is
//! approved.

use std::sync::Arc;

use serde_json::Value;
use tollgate_core::approval::{ApprovalId, ApprovalVerdict, Decision, HeldRequest};
use tollgate_core::call::{CallStatus, Outcome, Retryability as Again};
use tollgate_core::policy::Permitted;
use tollgate_core::shaping;
use tollgate_core::turn::Turn;
use tollgate_mcp::client::ServerEventSender;

use super::stages::{CallContext, ClearedCall, StageResult};
use super::{Gate, late_approval, recheck};
use crate::answer;
use crate::approvals::{
    ApprovalDecisionError, ApprovalQueueFullError, ApprovalRequest as Waiting, ApprovalWaiter,
    ArgumentsPreview, ParkedApproval, form,
};
use crate::caller::{CallError, Caller, Dialogue, OverflowPolicy, Reply, RoundAnswers};
use crate::calls::CallStep;
use crate::dialogue::ask;
use crate::dialogue::rounds::{self, InputQuestion, RequestState, RequestStateSealer};
use crate::spans::{SpanKind, TraceSpan};

/// What the waiting for leave came to.
enum ApprovalWait {
    Decided(ApprovalVerdict),
    Expired,
    /// The turn is over; the call may still be agreed to.
    Wall,
}

impl ApprovalWait {
    fn tell(&self, span: &mut TraceSpan) {
        span.tell(|attributes| {
            let verdict = match self {
                Self::Decided(verdict) => verdict.decision.as_str(),
                Self::Expired => "expired",
                Self::Wall => "turn_over",
            };
            attributes.set("tollgate.approval.verdict", verdict);
        });
        span.complete();
    }
}

impl Gate {
    /// Waits until the call is approved, and gives its caller the reply if it is not.
    pub(super) async fn ask_approval<'c>(
        &self,
        call: CallContext<'c>,
        held: HeldRequest<'c>,
    ) -> StageResult<ClearedCall<'c>> {
        let CallContext { turn, caller, progress } = call;
        let masker = Arc::clone(&turn.policy.masker);
        let preview =
            move |arguments: Option<&Value>| ArgumentsPreview::for_approver(arguments, &masker);
        let preview = ArgumentsPreview::of(held.permitted_request(), preview).await;
        let mut place = self.approvals.ask(turn, &held, preview).map_err(queue_full_reply)?;
        if let Dialogue::Rounds(retry) = &caller.dialogue
            && form::suits(caller.client)
        {
            let parked = ParkedApproval {
                held: held.into_owned(),
                place,
                retry: retry.clone(),
                principal: turn.principal.clone(),
            };
            return Err(self.ask_by_round(parked, turn).await.into());
        }
        let asking = progress.enter(CallStep::Leave, self.clock.now());
        let mut span =
            self.tracer.begin(SpanKind::Internal, turn.trace.as_ref(), || "approval".into());
        let waited = self.wait_for_verdict(turn, caller, &held, &mut place).await;
        waited.tell(&mut span);
        drop(span);
        progress.leave(asking, self.clock.now());
        match waited {
            ApprovalWait::Decided(verdict) => self.apply_verdict(call, held, &verdict),
            ApprovalWait::Expired => {
                Err(Reply::Tool(answer::approval_expired_outcome(held.tool())).into())
            }
            ApprovalWait::Wall => {
                Err(self.answer_pending(turn, held.into_owned(), place, caller).into())
            }
        }
    }

    async fn wait_for_verdict(
        &self,
        turn: &Turn,
        caller: &Caller<'_>,
        held: &HeldRequest<'_>,
        place: &mut ApprovalWaiter,
    ) -> ApprovalWait {
        let sender = match (&caller.dialogue, &caller.events) {
            (Dialogue::Live, Some(events)) if form::suits(caller.client) => Some(events),
            _ => None,
        };
        let decided = async {
            if let Some(events) = sender {
                tokio::select! {
                    biased;
                    verdict = place.verdict() => return verdict,
                    decision = ask_live(events, held) => {
                        if let Some(decision) = decision {
                            self.decide_as_caller(turn, held.id(), decision).await;
                        }
                    }
                }
            }
            place.verdict().await
        };
        let verdict = match turn.deadline {
            None => decided.await,
            Some(wall) => match tokio::time::timeout_at(wall.instant().into(), decided).await {
                Ok(verdict) => verdict,
                Err(_) => return ApprovalWait::Wall,
            },
        };
        verdict.map_or(ApprovalWait::Expired, ApprovalWait::Decided)
    }

    /// Decides about a call that waits. It is in the audit trail before the call goes on.
    pub async fn judge(
        &self,
        verdict: ApprovalVerdict,
    ) -> Result<Arc<Waiting>, ApprovalDecisionError> {
        self.approvals.decide(verdict).await
    }

    /// The first decision counts: if the queue was quicker, its verdict stands. One that cannot be
    /// written is none, and the call waits on.
    async fn decide_as_caller(&self, turn: &Turn, id: ApprovalId, decision: Decision) {
        let verdict = ApprovalVerdict { id, decision, by: turn.principal.clone(), note: None };
        let _ = self.approvals.decide(verdict).await;
    }

    fn apply_verdict<'c>(
        &self,
        call: CallContext<'c>,
        held: HeldRequest<'c>,
        verdict: &ApprovalVerdict,
    ) -> StageResult<ClearedCall<'c>> {
        let CallContext { turn, caller, .. } = call;
        let rechecked = recheck::recheck(turn, &held, &self.registry, &self.recorder.ledger);
        let cleared = held
            .apply_verdict(verdict)
            .map_err(|denied| answer::failure_reply(CallStatus::Denied, &denied.to_string()))?;
        rechecked.map_err(Reply::Tool)?;
        let permit = self.limits.begin(turn, caller.decided_by, cleared.permitted_request());
        let permit =
            permit.map_err(|exceeded| Reply::Tool(answer::limit_exceeded_outcome(&exceeded)))?;
        Ok(ClearedCall { cleared, permit, resumed: None })
    }

    /// The caller hears of the result later, if it can come back for it.
    fn answer_pending(
        &self,
        turn: &Turn,
        held: HeldRequest<'static>,
        place: ApprovalWaiter,
        caller: &Caller<'_>,
    ) -> Reply {
        let tool = held.tool().exposed.to_string();
        let pending = match caller.rest {
            OverflowPolicy::Readable => late_approval::pending(self, turn, held, place, caller),
            OverflowPolicy::Lost => None,
        };
        pending.map_or_else(
            || {
                let message = format!("nobody approved `{tool}` before the turn's deadline");
                answer::failure_reply(CallStatus::Timeout, &message)
            },
            Reply::Tool,
        )
    }

    /// Puts the question to a client that comes back with the answer.
    async fn ask_by_round(&self, parked: ParkedApproval, turn: &Turn) -> Reply {
        let held = &parked.held;
        let asking = InputQuestion {
            key: form::KEY.to_owned(),
            method: form::METHOD.to_owned(),
            params: Some(form::params(held).await),
        };
        let sealer = RequestStateSealer {
            seal: &self.executor.seal,
            principal: &parked.principal,
            now: self.clock.wall(),
        };
        let state = sealer.close(&RequestState::Approval(held.id()), held.permitted_request());
        match self.held.park(parked, turn.policy.approvals.waiting) {
            Ok(()) => Reply::InputRequired(rounds::input_required(&[asking], Some(&state))),
            Err(full) => queue_full_reply(full),
        }
    }

    /// Whether this request is the way back of a caller who was asked for leave.
    pub(super) fn returning_approval(
        &self,
        turn: &Turn,
        permitted: &Permitted<'_>,
        caller: &Caller<'_>,
    ) -> Option<ApprovalId> {
        let Dialogue::Rounds(RoundAnswers { state: Some(state), .. }) = &caller.dialogue else {
            return None;
        };
        let principal = &turn.principal;
        let now = self.clock.wall();
        let sealer = RequestStateSealer { seal: &self.executor.seal, principal, now };
        match sealer.open(state, permitted) {
            Ok(RequestState::Approval(id)) => Some(id),
            Ok(RequestState::Parked(_) | RequestState::Inner(_)) | Err(_) => None,
        }
    }

    /// Continues a call whose caller was asked for approval. It was admitted when it came first.
    pub(super) async fn resume_approved<'c>(
        &self,
        call: CallContext<'c>,
        id: ApprovalId,
    ) -> StageResult<ClearedCall<'c>> {
        let CallContext { turn, caller, .. } = call;
        let parked = self.held.take(id, &turn.principal);
        let mut parked = parked
            .ok_or(CallError::BadState("this call no longer awaits approval; start it again"))?;
        if let Dialogue::Rounds(RoundAnswers { responses: Some(responses), .. }) = &caller.dialogue
            && let Some(answer) = rounds::answer(responses, form::KEY)
        {
            self.decide_as_caller(turn, id, form::decision(&answer)).await;
        }
        let Some(verdict) = parked.place.verdict_now() else {
            return Err(self.ask_by_round(parked, turn).await.into());
        };
        let ParkedApproval { held, retry, .. } = parked;
        let cleared = self.apply_verdict(call, held, &verdict)?;
        // From here on it is the call that its caller made at first.
        let caller = Caller { dialogue: Dialogue::Rounds(retry), ..caller.clone() };
        Ok(ClearedCall { resumed: Some(caller), ..cleared })
    }
}

/// `None`: the client could not be asked after all.
async fn ask_live(events: &ServerEventSender, held: &HeldRequest<'_>) -> Option<Decision> {
    let params = form::params(held).await;
    let answer = ask(events, form::METHOD.to_owned(), Some(params)).await.ok()?;
    Some(form::decision(&answer))
}

fn queue_full_reply(full: ApprovalQueueFullError) -> Reply {
    let outcome =
        shaping::failure(CallStatus::RateLimited, &full.to_string(), std::time::Duration::ZERO);
    let hint = Some(format!("try again in {} s", ApprovalQueueFullError::RETRY_AFTER.as_secs()));
    Reply::Tool(Outcome {
        retry: Again::Sensible { hint, after: Some(ApprovalQueueFullError::RETRY_AFTER) },
        ..outcome
    })
}
