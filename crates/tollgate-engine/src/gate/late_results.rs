//! Late results: a call that outlasts its turn. The caller gets a handle at once; the result is stored
//! under it when it arrives, and a notice is sent.

use std::sync::Arc;

use tollgate_core::call::{CallStatus, Outcome, Retryability};
use tollgate_core::call_policy::CallPolicy;
use tollgate_core::lease::RevokedError;
use tollgate_core::shaping::{self, ResultCaps};
use tollgate_core::turn::{Actor, Turn};
use tollgate_mcp::answer_budget::AnswerAccount;
use tollgate_mcp::meta::ClientFacts;
use tollgate_mcp::tasks::TaskGroup;

use super::Gate;
use crate::answer::ReplyBuilder;
use crate::audit::{AuditAction, AuditLedger, Decision};
use crate::caller::{Caller, Reply};
use crate::executor::Executor;
use crate::notices::{Notice, NoticeCall, Notices};
use crate::results::{ResultPromise, ResultStore};
use crate::reuse::LateCall;
use crate::revocations::until_revoked;
use crate::tickets::TaskTickets;

/// How many callers there may be for whom a result is still to come.
const MAX_PENDING_RESULTS: usize = 1_024;

/// A late result is kept whole; its reader takes it in pages.
pub(super) const WHOLE: ResultCaps = ResultCaps {
    total_bytes: usize::MAX,
    text_bytes: usize::MAX,
    binary_bytes: usize::MAX,
    items: usize::MAX,
    ..ResultCaps::mcp()
};

/// Must be called within a runtime; the waiting is done on it.
pub(crate) fn waiting() -> TaskGroup {
    TaskGroup::new("late calls", MAX_PENDING_RESULTS)
}

/// The answer for now; `None` if too many wait already. The call is then cancelled.
pub(super) fn pending(
    gate: &Gate,
    turn: &Turn,
    caller: &Caller<'_>,
    call: LateCall,
) -> Option<Outcome> {
    let tool = Arc::clone(call.planned_call().permitted_request().tool()?);
    let exposed = tool.exposed.to_string();
    let (handle, promise) = gate.results.expect(turn.actor(), &exposed, caller.caps.page_bytes);
    let of = NoticeCall {
        principal: turn.principal.clone(),
        agent: turn.view.agent.clone(),
        tool: tool.id.clone(),
        exposed,
    };
    let took = gate.clock.now().saturating_duration_since(call.planned_call().started_at());
    let delivery = LateDelivery {
        executor: Arc::clone(&gate.executor),
        results: Arc::clone(&gate.results),
        notices: gate.notices.clone(),
        actor: turn.actor(),
        policy: Arc::clone(&turn.policy),
    };
    let lease = turn.lease.clone();
    let ledger = Arc::clone(&gate.recorder.ledger);
    let account = AnswerAccount::for_part();
    gate.late
        .spawn(async move {
            let late = of.clone();
            let running = account.scope(delivery.deliver(of, call, promise));
            if let Err(why) = until_revoked(&lease, running).await {
                note_revoked(&ledger, &late, &why);
            }
        })
        .ok()?;
    let hint = format!("the result will be available under handle {handle} in a moment");
    let retry = Retryability::Sensible { hint: Some(hint), after: None };
    Some(Outcome { retry, ..shaping::pending(&tool, handle, took) })
}

/// The row of the call says `pending`: what became of it stands in one of its own.
pub(super) fn note_revoked(ledger: &AuditLedger, of: &NoticeCall, why: &RevokedError) {
    let row = Decision::new(AuditAction::Revocation, &of.principal, "revoked")
        .about(&of.exposed)
        .agent(&of.agent)
        .server(&of.tool.server)
        .tool(of.tool.tool.as_str())
        .because(&format!("a call that continued after its turn: {why}"));
    ledger.note_later(row);
}

/// Waits for a late call and stores its result.
struct LateDelivery {
    executor: Arc<Executor>,
    results: Arc<ResultStore>,
    notices: Notices,
    actor: Actor,
    policy: Arc<CallPolicy>,
}

impl LateDelivery {
    async fn deliver(self, of: NoticeCall, call: LateCall, promise: ResultPromise) {
        let over = call.wait().await;
        let planned = call.planned_call();
        let took = self.executor.clock.now().saturating_duration_since(planned.started_at());
        let nobody = ClientFacts::default();
        let finish = ReplyBuilder {
            planned,
            caller: &Caller { caps: WHOLE, ..Caller::silent(&nobody) },
            took,
            reused: over.reused,
            actor: &self.actor,
            results: &self.results,
            tickets: TaskTickets { seal: &self.executor.seal, principal: &of.principal },
            policy: &self.policy,
        };
        let outcome = match finish.reply(over.ran).await {
            Ok(Reply::Tool(outcome)) => outcome,
            Ok(Reply::Result(_) | Reply::InputRequired(_) | Reply::Task(_)) => {
                let message = format!("`{}` requires user input", of.exposed);
                shaping::failure(CallStatus::Error, &message, took)
            }
            Err(error) => shaping::failure(CallStatus::Error, &error.to_string(), took),
        };
        let status = outcome.status;
        let handle = promise.handle().to_string().into();
        promise.keep(outcome);
        self.notices.tell(Notice::Late { call: of, handle, status });
    }
}
