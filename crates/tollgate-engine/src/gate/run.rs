//! A permitted request on its way through the other stages, to its reply.

use std::sync::Arc;

use tollgate_core::approval::{self, ApprovalReason, Clearance, Cleared};
use tollgate_core::call::CallStatus;
use tollgate_core::failpoint;
use tollgate_core::plan;
use tollgate_core::policy::Permitted;
use tollgate_core::turn::Turn;

use super::{Gate, late, secret_screen, slow};
use crate::answer;
use crate::caller::{CallError, Caller, Reply};
use crate::calls::{CallProgress, CallStep};
use crate::executor::PlannedCall;
use crate::reuse::{CallCompletion, ReuseOutcome};
use crate::tickets::TaskTickets;

/// Whose call it is, who waits for it, and how far it came.
#[derive(Clone, Copy)]
pub(super) struct CallContext<'w> {
    pub(super) turn: &'w Turn,
    pub(super) caller: &'w Caller<'w>,
    pub(super) course: &'w Arc<CallProgress>,
}

impl Gate {
    pub(super) async fn run(
        &self,
        way: CallContext<'_>,
        permitted: Permitted<'_>,
    ) -> Result<Reply, CallError> {
        let CallContext { turn, caller, .. } = way;
        let is_tool = permitted.tool().is_some();
        let by = caller.decided_by;
        if let Some(id) = self.returning_approval(turn, &permitted, caller) {
            return Box::pin(self.resume(way, id)).await;
        }
        failpoint::hit("admit");
        let (admitted, running) = match self.limits.admit((turn, by), permitted) {
            Ok(admitted) => admitted,
            Err(exceeded) if is_tool => {
                return Ok(Reply::Tool(answer::limit_exceeded_outcome(&exceeded)));
            }
            Err(exceeded) => return Err(exceeded.into()),
        };
        way.course.record_step(CallStep::Admitted, way.course.began, self.clock.now());
        failpoint::hit("clear");
        match approval::clear((turn, by), admitted, self.clock.now(), || self.random.bits()) {
            Clearance::Clear(cleared) => self.carry_out(way, cleared).await,
            Clearance::Ask(held) => {
                if matches!(held.why(), ApprovalReason::Tainted { .. }) {
                    self.taints.count_asked();
                }
                drop(running);
                Box::pin(self.ask(way, held)).await
            }
        }
    }

    pub(super) async fn carry_out(
        &self,
        way: CallContext<'_>,
        cleared: Cleared<'_>,
    ) -> Result<Reply, CallError> {
        let CallContext { turn, caller, course } = way;
        let is_tool = cleared.permitted_request().tool().is_some();
        let limits = self.registry.current().charter.limits;
        failpoint::hit("plan");
        let planned = match plan::plan(turn, cleared, self.clock.now(), limits) {
            Ok(planned) => planned,
            Err(late) if is_tool => {
                return Ok(answer::failure_reply(CallStatus::Timeout, &late.to_string()));
            }
            Err(late) => return Err(late.into()),
        };
        let principal = &turn.principal;
        course.send();
        let call = PlannedCall { turn, course: Some(course), planned: &planned, caller };
        let running = self.reuse.run(call);
        let of = (turn, planned.permitted_request());
        let over = match slow::announce_if_slow(&self.notices, of, caller, running).await? {
            ReuseOutcome::Over(over) => over,
            ReuseOutcome::Late(call) => match late::pending(self, turn, caller, call) {
                Some(pending) => return Ok(Reply::Tool(pending)),
                None => CallCompletion::timed_out(),
            },
        };
        failpoint::hit("shape");
        let back = self.clock.now();
        let shaping = course.enter(CallStep::Shaped, back);
        let took = back.saturating_duration_since(planned.started_at());
        let tickets = TaskTickets { seal: &self.executor.seal, principal };
        let (planned, reused, results) = (&planned, over.reused, &*self.results);
        let masker = secret_screen::of_results(&self.registry.current().charter);
        let (origin, form) = self.origin(planned.permitted_request().server());
        let finish = answer::ReplyBuilder {
            planned,
            caller,
            took,
            reused,
            actor: &turn.actor(),
            results,
            tickets,
            masker,
            origin: &origin,
            form,
        };
        let reply = finish.reply(over.ran).await;
        if has_server_words(&reply) {
            self.note_origin(turn, &origin);
        }
        course.leave(shaping, self.clock.now());
        if let (Some(unjudged), Ok(Reply::Tool(outcome))) = (&over.unjudged, &reply) {
            self.executor.record_status(unjudged, outcome.status);
        }
        reply
    }
}

/// Whether words of the server are in it, and not only ours about it.
fn has_server_words(reply: &Result<Reply, CallError>) -> bool {
    match reply {
        Ok(Reply::Tool(outcome)) => outcome.origin.is_some(),
        Ok(Reply::Result(_) | Reply::InputRequired(_) | Reply::Task(_)) => true,
        Err(error) => matches!(error, CallError::Upstream(_)),
    }
}
