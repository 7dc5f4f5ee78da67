//! A call whose turn is over while it waits for leave: its caller has a handle, and if somebody
//! agrees in time, it runs by its own limits and its result is put behind that.

use std::sync::Arc;

use tollgate_core::approval::{Cleared, Held};
use tollgate_core::budget::Limits;
use tollgate_core::call::{Decider, Outcome, Retry, Status};
use tollgate_core::mask::Masker;
use tollgate_core::plan;
use tollgate_core::shaping;
use tollgate_core::turn::Turn;
use tollgate_mcp::meta::ClientFacts;

use super::late::WHOLE;
use super::{Gate, ask, screen};
use crate::answer::Finish;
use crate::approvals::Place;
use crate::audit::{Act, Decision, Ledger};
use crate::caller::{Caller, Reply};
use crate::executor::{Call, Executor};
use crate::notices::{self, Notice, Notices};
use crate::results::{Promise, Results};
use crate::reuse::{Came, Over, Reuse};
use crate::tickets::Tickets;

/// The answer for now; `None` if too many wait already.
pub(super) fn pending(
    gate: &Gate,
    turn: &Turn,
    (held, place): (Held<'static>, Place),
    caller: &Caller<'_>,
) -> Option<Outcome> {
    let tool = Arc::clone(held.tool());
    let exposed = tool.exposed.to_string();
    let (handle, promise) = gate.results.expect(&turn.principal, &exposed, caller.caps.page_bytes);
    let of = notices::Call {
        principal: turn.principal.clone(),
        agent: turn.view.agent.clone(),
        tool: tool.id.clone(),
        exposed,
    };
    let errand = Errand {
        turn: Turn { deadline: None, ..turn.clone() },
        decided_by: caller.decided_by,
        limits: gate.registry.current().charter.limits,
        reuse: gate.reuse.clone(),
        executor: Arc::clone(&gate.executor),
        results: Arc::clone(&gate.results),
        notices: gate.notices.clone(),
        ledger: Arc::clone(&gate.recorder.ledger),
        masker: screen::of_results(&gate.registry.current().charter),
    };
    gate.late.spawn(async move { errand.run((held, place), promise, of).await }).ok()?;
    let hint = format!("the result will be behind handle {handle} once somebody has agreed");
    let retry = Retry::Sensible { hint: Some(hint), after: None };
    Some(Outcome { retry, ..shaping::held(&tool, handle) })
}

/// What it takes to run a call after its turn.
struct Errand {
    turn: Turn,
    decided_by: Decider,
    limits: Limits,
    reuse: Reuse,
    executor: Arc<Executor>,
    results: Arc<Results>,
    notices: Notices,
    ledger: Arc<Ledger>,
    masker: Option<Arc<Masker>>,
}

impl Errand {
    async fn run(
        self,
        (held, mut place): (Held<'static>, Place),
        promise: Promise,
        of: notices::Call,
    ) {
        let outcome = match place.verdict().await {
            None => ask::expired(&held),
            Some(verdict) => match held.decided(&verdict) {
                Ok(cleared) => {
                    let outcome = self.carry_out(cleared).await;
                    self.note(&of, outcome.status);
                    outcome
                }
                Err(denied) => failed(Status::Denied, &denied),
            },
        };
        let (status, handle) = (outcome.status, promise.handle().to_string().into());
        promise.keep(outcome);
        self.notices.tell(Notice::Late { call: of, handle, status });
    }

    /// The row of the call says that it was pending: what came of it stands in one of its own.
    fn note(&self, of: &notices::Call, status: Status) {
        let ran = Decision::new(Act::Approval, &of.principal, "ran")
            .about(&of.exposed)
            .agent(&of.agent)
            .server(&of.tool.server)
            .tool(of.tool.tool.as_str());
        self.ledger.note_later(ran.because(&format!("after its turn was over: {status}")));
    }

    async fn carry_out(&self, cleared: Cleared<'static>) -> Outcome {
        let clock = &self.executor.clock;
        let planned = match plan::plan(&self.turn, cleared, clock.now(), self.limits) {
            Ok(planned) => planned,
            Err(late) => return failed(Status::Timeout, &late),
        };
        let nobody = ClientFacts::default();
        let silent = Caller::silent(&nobody);
        let caller = &Caller { caps: WHOLE, decided_by: self.decided_by, ..silent };
        let principal = &self.turn.principal;
        let over = match self.reuse.run(Call { principal, planned: &planned, caller }).await {
            Ok(Came::Over(over)) => over,
            // Without a wall there is nothing to be late for.
            Ok(Came::Late(_)) => Over::timed_out(),
            Err(error) => return failed(Status::Error, &error),
        };
        let finish = Finish {
            planned: &planned,
            caller,
            took: clock.now().saturating_duration_since(planned.started()),
            reused: over.reused,
            principal,
            results: &self.results,
            tickets: Tickets { seal: &self.executor.seal, principal },
            masker: self.masker.clone(),
        };
        let reply = finish.reply(over.ran).await;
        if let (Some(unjudged), Ok(Reply::Tool(outcome))) = (&over.unjudged, &reply) {
            self.executor.judged(unjudged, outcome.status);
        }
        match reply {
            Ok(Reply::Tool(outcome)) => outcome,
            Ok(Reply::Result(_) | Reply::InputRequired(_) | Reply::Task(_)) => {
                failed(Status::Error, &"the tool wants more than arguments")
            }
            Err(error) => failed(Status::Error, &error),
        }
    }
}

fn failed(status: Status, why: &dyn std::fmt::Display) -> Outcome {
    shaping::failure(status, &why.to_string(), std::time::Duration::ZERO)
}
