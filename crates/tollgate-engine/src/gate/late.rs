//! What becomes of a call whose turn is over before it is: its caller gets a handle now, and the
//! result is put behind it, and told of, when it comes.

use std::sync::Arc;

use tollgate_core::call::{Origin, Outcome, Retry, Status};
use tollgate_core::lease::Revoked;
use tollgate_core::mask::Masker;
use tollgate_core::shaping::{self, Caps};
use tollgate_core::turn::{Actor, Turn};
use tollgate_mcp::meta::ClientFacts;
use tollgate_mcp::tasks::Group;

use super::{Gate, screen};
use crate::answer::Finish;
use crate::audit::{Act, Decision, Ledger};
use crate::caller::{Caller, Reply};
use crate::executor::Executor;
use crate::notices::{Call, Notice, Notices};
use crate::results::{Promise, Results};
use crate::reuse::LateCall;
use crate::revocations::until_revoked;
use crate::settings::ResultForm;
use crate::tickets::Tickets;

/// How many callers there may be for whom a result is still to come.
const MOST: usize = 1_024;

/// A late result is kept whole; its reader takes it in pages.
pub(super) const WHOLE: Caps = Caps {
    total_bytes: usize::MAX,
    text_bytes: usize::MAX,
    binary_bytes: usize::MAX,
    items: usize::MAX,
    ..Caps::mcp()
};

/// Must be called within a runtime; the waiting is done on it.
pub(crate) fn waiting() -> Group {
    Group::new("late calls", MOST)
}

/// The answer for now; `None` if too many wait already. The call is then cancelled.
pub(super) fn pending(
    gate: &Gate,
    turn: &Turn,
    caller: &Caller<'_>,
    call: LateCall,
) -> Option<Outcome> {
    let tool = Arc::clone(call.planned().permitted().tool()?);
    let exposed = tool.exposed.to_string();
    let (handle, promise) = gate.results.expect(turn.actor(), &exposed, caller.caps.page_bytes);
    let of = Call {
        principal: turn.principal.clone(),
        agent: turn.view.agent.clone(),
        tool: tool.id.clone(),
        exposed,
    };
    let took = gate.clock.now().saturating_duration_since(call.planned().started());
    let desk = Desk {
        executor: Arc::clone(&gate.executor),
        results: Arc::clone(&gate.results),
        notices: gate.notices.clone(),
        actor: turn.actor(),
        masker: screen::of_results(&gate.registry.current().charter),
        origin: gate.origin(&tool.id.server),
    };
    let (lease, ledger) = (turn.lease.clone(), Arc::clone(&gate.recorder.ledger));
    gate.late
        .spawn(async move {
            let told = of.clone();
            if let Err(why) = until_revoked(&lease, desk.deliver(of, call, promise)).await {
                note_revoked(&ledger, &told, &why);
            }
        })
        .ok()?;
    let hint = format!("the result will be behind handle {handle} in a moment");
    let retry = Retry::Sensible { hint: Some(hint), after: None };
    Some(Outcome { retry, ..shaping::pending(&tool, handle, took) })
}

/// The row of the call says `pending`: what became of it stands in one of its own.
pub(super) fn note_revoked(ledger: &Ledger, of: &Call, why: &Revoked) {
    let row = Decision::new(Act::Revocation, &of.principal, "revoked")
        .about(&of.exposed)
        .agent(&of.agent)
        .server(&of.tool.server)
        .tool(of.tool.tool.as_str())
        .because(&format!("a call that went on after its turn: {why}"));
    ledger.note_later(row);
}

/// What it takes to deliver a result.
struct Desk {
    executor: Arc<Executor>,
    results: Arc<Results>,
    notices: Notices,
    actor: Actor,
    masker: Option<Arc<Masker>>,
    origin: (Origin, ResultForm),
}

impl Desk {
    async fn deliver(self, of: Call, call: LateCall, promise: Promise) {
        let over = call.landed().await;
        let planned = call.planned();
        let took = self.executor.clock.now().saturating_duration_since(planned.started());
        let nobody = ClientFacts::default();
        let finish = Finish {
            planned,
            caller: &Caller { caps: WHOLE, ..Caller::silent(&nobody) },
            took,
            reused: over.reused,
            actor: &self.actor,
            results: &self.results,
            tickets: Tickets { seal: &self.executor.seal, principal: &of.principal },
            masker: self.masker.clone(),
            origin: &self.origin.0,
            form: self.origin.1,
        };
        let outcome = match finish.reply(over.ran).await {
            Ok(Reply::Tool(outcome)) => outcome,
            Ok(Reply::Result(_) | Reply::InputRequired(_) | Reply::Task(_)) => {
                let message = format!("`{}` wants more than a result", of.exposed);
                shaping::failure(Status::Error, &message, took)
            }
            Err(error) => shaping::failure(Status::Error, &error.to_string(), took),
        };
        let (status, handle) = (outcome.status, promise.handle().to_string().into());
        promise.keep(outcome);
        self.notices.tell(Notice::Late { call: of, handle, status });
    }
}
