//! Late results of approved calls.
//!
//! A call whose turn is over while it waits for approval: its caller has a handle, and if somebody
//! agrees in time, it runs by its own limits and its result is put behind that.

use std::sync::Arc;

use tollgate_core::approval::{ApprovalVerdict, Cleared, HeldRequest};
use tollgate_core::call::{CallStatus, Decider, Outcome, Retryability};
use tollgate_core::plan;
use tollgate_core::shaping;
use tollgate_core::turn::Turn;
use tollgate_mcp::answer_budget::AnswerAccount;
use tollgate_mcp::meta::ClientFacts;

use super::late_results::{WHOLE, note_revoked};
use super::{Gate, recheck};
use crate::answer::{self, ReplyBuilder};
use crate::approvals::ApprovalWaiter;
use crate::audit::{self, AuditAction, AuditLedger, Decision, PendingAuditRow, RowDurability};
use crate::caller::{Caller, Reply};
use crate::executor::{Executor, PlannedCall};
use crate::limits::RateLimiter;
use crate::notices::{self, Notice, Notices};
use crate::recorder::RecordingPolicy;
use crate::registry::CatalogRegistry;
use crate::results::{ResultPromise, ResultStore};
use crate::reuse::{CallCompletion, CallReuse, ReuseOutcome};
use crate::revocations::until_revoked;
use crate::tickets::TaskTickets;

/// The answer for now; `None` if too many wait already.
pub(super) fn pending(
    gate: &Gate,
    turn: &Turn,
    held: HeldRequest<'static>,
    place: ApprovalWaiter,
    caller: &Caller<'_>,
) -> Option<Outcome> {
    let tool = Arc::clone(held.tool());
    let exposed = tool.exposed.to_string();
    let (handle, promise) = gate.results.expect(turn.actor(), &exposed, caller.caps.page_bytes);
    let of = notices::NoticeCall {
        principal: turn.principal.clone(),
        agent: turn.view.agent.clone(),
        tool: tool.id.clone(),
        exposed,
    };
    let late = LateApprovedCall {
        turn: Turn { deadline: None, ..turn.clone() },
        decided_by: caller.decided_by,
        registry: Arc::clone(&gate.registry),
        slots: Arc::clone(&gate.limits),
        reuse: gate.reuse.clone(),
        executor: Arc::clone(&gate.executor),
        results: Arc::clone(&gate.results),
        notices: gate.notices.clone(),
        ledger: Arc::clone(&gate.recorder.ledger),
    };
    let lease = turn.lease.clone();
    let ledger = Arc::clone(&gate.recorder.ledger);
    let account = AnswerAccount::for_part();
    gate.late
        .spawn(async move {
            let subject = of.clone();
            let running = account.scope(late.run(held, place, promise, of));
            if let Err(why) = until_revoked(&lease, running).await {
                note_revoked(&ledger, &subject, &why);
            }
        })
        .ok()?;
    let hint =
        format!("the result will be available under handle {handle} once the call is approved");
    let retry = Retryability::Sensible { hint: Some(hint), after: None };
    Some(Outcome { retry, ..shaping::pending_outcome(&tool, handle) })
}

/// What it takes to run a call after its turn.
struct LateApprovedCall {
    turn: Turn,
    decided_by: Decider,
    registry: Arc<CatalogRegistry>,
    slots: Arc<RateLimiter>,
    reuse: CallReuse,
    executor: Arc<Executor>,
    results: Arc<ResultStore>,
    notices: Notices,
    ledger: Arc<AuditLedger>,
}

impl LateApprovedCall {
    async fn run(
        self,
        held: HeldRequest<'static>,
        mut place: ApprovalWaiter,
        promise: ResultPromise,
        of: notices::NoticeCall,
    ) {
        let outcome = match place.verdict().await {
            None => answer::approval_expired_outcome(held.tool()),
            Some(verdict) => self.apply_verdict(held, &verdict, &of).await,
        };
        let status = outcome.status;
        let handle = promise.handle().to_string().into();
        promise.keep(outcome);
        self.notices.tell(Notice::Late { call: of, handle, status });
    }

    async fn apply_verdict(
        &self,
        held: HeldRequest<'static>,
        verdict: &ApprovalVerdict,
        of: &notices::NoticeCall,
    ) -> Outcome {
        let place = self.ledger.place().await;
        let still = recheck::recheck(&self.turn, &held, &self.registry, &self.ledger);
        let cleared = match held.apply_verdict(verdict) {
            Ok(cleared) => cleared,
            Err(denied) => return failure_outcome(CallStatus::Denied, &denied),
        };
        let mut row = LateAuditRow { place, of, weight: RowDurability::Queued };
        row.weight = match still {
            Ok(weight) => weight,
            Err(outcome) => {
                row.put("not_run", outcome.status.as_str());
                return outcome;
            }
        };
        let _running =
            match self.slots.begin(&self.turn, self.decided_by, cleared.permitted_request()) {
                Ok(running) => running,
                Err(exceeded) => {
                    let outcome = answer::limit_exceeded_outcome(&exceeded);
                    row.put("not_run", outcome.status.as_str());
                    return outcome;
                }
            };
        let outcome = self.carry_out(cleared).await;
        let Some(waiting) = row.put("ran", outcome.status.as_str()) else { return outcome };
        let policy = RecordingPolicy::of(&self.turn.policy);
        match policy.await_row(waiting).await {
            Ok(()) => outcome,
            Err(unwritten) => answer::withhold_outcome(&outcome, &unwritten),
        }
    }

    async fn carry_out(&self, cleared: Cleared<'static>) -> Outcome {
        let clock = &self.executor.clock;
        let planned = match plan::plan(&self.turn, cleared, clock.now()) {
            Ok(planned) => planned,
            Err(late) => return failure_outcome(CallStatus::Timeout, &late),
        };
        let nobody = ClientFacts::default();
        let silent = Caller::silent(&nobody);
        let caller = &Caller { caps: WHOLE, decided_by: self.decided_by, ..silent };
        let principal = &self.turn.principal;
        let over = match self
            .reuse
            .run(PlannedCall { turn: &self.turn, call_progress: None, planned: &planned, caller })
            .await
        {
            Ok(ReuseOutcome::Over(over)) => over,
            // Without a wall there is nothing to be late for.
            Ok(ReuseOutcome::Late(_)) => CallCompletion::timed_out(),
            Err(error) => return failure_outcome(CallStatus::Error, &error),
        };
        let finish = ReplyBuilder {
            planned: &planned,
            caller,
            took: clock.now().saturating_duration_since(planned.started_at()),
            reused: over.reused,
            actor: &self.turn.actor(),
            results: &self.results,
            tickets: TaskTickets { seal: &self.executor.seal, principal },
            policy: &self.turn.policy,
        };
        let reply = finish.reply(over.ran).await;
        if let (Some(unjudged), Ok(Reply::Tool(outcome))) = (&over.unjudged, &reply) {
            self.executor.record_status(unjudged, outcome.status);
        }
        match reply {
            Ok(Reply::Tool(outcome)) => outcome,
            Ok(Reply::Result(_) | Reply::InputRequired(_) | Reply::Task(_)) => {
                failure_outcome(CallStatus::Error, &"the tool requires user input")
            }
            Err(error) => failure_outcome(CallStatus::Error, &error),
        }
    }
}

/// The row of the call says that it was pending: what came of it stands in one of its own, also if
/// it is given up.
struct LateAuditRow<'r> {
    /// `None`: nothing is kept, or it is written.
    place: Option<audit::AuditReservation<'r>>,
    of: &'r notices::NoticeCall,
    weight: RowDurability,
}

impl<'r> LateAuditRow<'r> {
    fn put(&mut self, end: &'static str, status: &str) -> Option<PendingAuditRow<'r>> {
        let place = self.place.take()?;
        let of = self.of;
        let row = Decision::new(AuditAction::Approval, &of.principal, end)
            .about(&of.exposed)
            .agent(&of.agent)
            .server(&of.tool.server)
            .tool(of.tool.tool.as_str())
            .because(&format!("after its turn was over: {status}"));
        Some(place.note(row, self.weight))
    }
}

impl Drop for LateAuditRow<'_> {
    fn drop(&mut self) {
        self.put("ran", "cancelled");
    }
}

fn failure_outcome(status: CallStatus, why: &dyn std::fmt::Display) -> Outcome {
    shaping::failure(status, &why.to_string(), std::time::Duration::ZERO)
}
