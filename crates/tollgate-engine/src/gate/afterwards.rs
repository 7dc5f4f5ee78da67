//! A call whose turn is over while it waits for leave: its caller has a handle, and if somebody
//! agrees in time, it runs by its own limits and its result is put behind that.

use std::sync::Arc;

use tollgate_core::approval::{Cleared, Held, Verdict};
use tollgate_core::call::{Decider, Outcome, Retry, Status};
use tollgate_core::plan;
use tollgate_core::shaping;
use tollgate_core::turn::Turn;
use tollgate_mcp::meta::ClientFacts;

use super::late::{WHOLE, note_revoked};
use super::{Gate, again, ask, origin, screen};
use crate::answer::{self, Finish};
use crate::approvals::Place;
use crate::audit::{self, Act, Decision, Ledger, Waiting, Weight};
use crate::caller::{Caller, Reply};
use crate::executor::{Call, Executor};
use crate::limits::Limits;
use crate::notices::{self, Notice, Notices};
use crate::recorder::Policy;
use crate::registry::Registry;
use crate::results::{Promise, Results};
use crate::reuse::{Came, Over, Reuse};
use crate::revocations::until_revoked;
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
    let (handle, promise) = gate.results.expect(turn.actor(), &exposed, caller.caps.page_bytes);
    let of = notices::Call {
        principal: turn.principal.clone(),
        agent: turn.view.agent.clone(),
        tool: tool.id.clone(),
        exposed,
    };
    let errand = Errand {
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
    let (lease, ledger) = (turn.lease.clone(), Arc::clone(&gate.recorder.ledger));
    gate.late
        .spawn(async move {
            let told = of.clone();
            if let Err(why) = until_revoked(&lease, errand.run((held, place), promise, of)).await {
                note_revoked(&ledger, &told, &why);
            }
        })
        .ok()?;
    let hint = format!("the result will be behind handle {handle} once somebody has agreed");
    let retry = Retry::Sensible { hint: Some(hint), after: None };
    Some(Outcome { retry, ..shaping::held(&tool, handle) })
}

/// What it takes to run a call after its turn.
struct Errand {
    turn: Turn,
    decided_by: Decider,
    registry: Arc<Registry>,
    slots: Arc<Limits>,
    reuse: Reuse,
    executor: Arc<Executor>,
    results: Arc<Results>,
    notices: Notices,
    ledger: Arc<Ledger>,
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
            Some(verdict) => self.decided(held, &verdict, &of).await,
        };
        let (status, handle) = (outcome.status, promise.handle().to_string().into());
        promise.keep(outcome);
        self.notices.tell(Notice::Late { call: of, handle, status });
    }

    async fn decided(&self, held: Held<'static>, verdict: &Verdict, of: &notices::Call) -> Outcome {
        let place = self.ledger.place().await;
        let still = again::recheck(&self.turn, &held, (&self.registry, &self.ledger));
        let cleared = match held.decided(verdict) {
            Ok(cleared) => cleared,
            Err(denied) => return failed(Status::Denied, &denied),
        };
        let mut row = Row { place, of, weight: Weight::Queued };
        row.weight = match still {
            Ok(weight) => weight,
            Err(outcome) => {
                row.put("not_run", outcome.status.as_str());
                return outcome;
            }
        };
        let _running = match self.slots.begin((&self.turn, self.decided_by), cleared.permitted()) {
            Ok(running) => running,
            Err(exceeded) => {
                let outcome = answer::exceeded(&exceeded);
                row.put("not_run", outcome.status.as_str());
                return outcome;
            }
        };
        let outcome = self.carry_out(cleared).await;
        let Some(waiting) = row.put("ran", outcome.status.as_str()) else { return outcome };
        let policy = Policy::of(&self.registry.current().charter);
        match policy.settled(waiting).await {
            Ok(()) => outcome,
            Err(unwritten) => answer::withheld(&outcome, &unwritten),
        }
    }

    async fn carry_out(&self, cleared: Cleared<'static>) -> Outcome {
        let clock = &self.executor.clock;
        let charter = Arc::clone(&self.registry.current().charter);
        let planned = match plan::plan(&self.turn, cleared, clock.now(), charter.limits) {
            Ok(planned) => planned,
            Err(late) => return failed(Status::Timeout, &late),
        };
        let nobody = ClientFacts::default();
        let silent = Caller::silent(&nobody);
        let caller = &Caller { caps: WHOLE, decided_by: self.decided_by, ..silent };
        let principal = &self.turn.principal;
        let over = match self
            .reuse
            .run(Call { turn: &self.turn, course: None, planned: &planned, caller })
            .await
        {
            Ok(Came::Over(over)) => over,
            // Without a wall there is nothing to be late for.
            Ok(Came::Late(_)) => Over::timed_out(),
            Err(error) => return failed(Status::Error, &error),
        };
        let (origin, form) = origin::origin_of(&self.registry, planned.permitted().server());
        let finish = Finish {
            planned: &planned,
            caller,
            took: clock.now().saturating_duration_since(planned.started()),
            reused: over.reused,
            actor: &self.turn.actor(),
            results: &self.results,
            tickets: Tickets { seal: &self.executor.seal, principal },
            masker: screen::of_results(&charter),
            origin: &origin,
            form,
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

/// The row of the call says that it was pending: what came of it stands in one of its own, also if
/// it is given up.
struct Row<'r> {
    /// `None`: nothing is kept, or it is written.
    place: Option<audit::Place<'r>>,
    of: &'r notices::Call,
    weight: Weight,
}

impl<'r> Row<'r> {
    fn put(&mut self, end: &'static str, status: &str) -> Option<Waiting<'r>> {
        let (place, of) = (self.place.take()?, self.of);
        let row = Decision::new(Act::Approval, &of.principal, end)
            .about(&of.exposed)
            .agent(&of.agent)
            .server(&of.tool.server)
            .tool(of.tool.tool.as_str())
            .because(&format!("after its turn was over: {status}"));
        Some(place.note(row, self.weight))
    }
}

impl Drop for Row<'_> {
    fn drop(&mut self) {
        self.put("ran", "cancelled");
    }
}

fn failed(status: Status, why: &dyn std::fmt::Display) -> Outcome {
    shaping::failure(status, &why.to_string(), std::time::Duration::ZERO)
}
