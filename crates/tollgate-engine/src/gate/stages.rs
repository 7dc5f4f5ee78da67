//! The stages of a permitted call: admit, clear, plan, execute, shape. [`Gate::call`] puts them in
//! sequence.

use std::sync::Arc;

use tollgate_core::admission::Admitted;
use tollgate_core::approval::{self, ApprovalReason, Clearance, Cleared};
use tollgate_core::call::CallStatus;
use tollgate_core::failpoint;
use tollgate_core::plan::{self, Planned};
use tollgate_core::policy::Permitted;
use tollgate_core::turn::Turn;

use super::{Gate, late_results, slow_notice};
use crate::answer;
use crate::caller::{CallError, Caller, Reply};
use crate::calls::{CallProgress, CallStep};
use crate::executor::PlannedCall;
use crate::limits::ConcurrencyPermit;
use crate::reuse::{CallCompletion, ReuseOutcome};
use crate::tickets::TaskTickets;

/// A stage ended the call early: with a reply, or with an error. Boxed, since it is large and rare.
pub(super) struct StageExit(Box<Result<Reply, CallError>>);

/// What a stage hands to the next one.
pub(super) type StageResult<T> = Result<T, StageExit>;

impl StageExit {
    pub(super) fn into_reply(self) -> Result<Reply, CallError> {
        *self.0
    }
}

impl From<Result<Reply, CallError>> for StageExit {
    fn from(reply: Result<Reply, CallError>) -> Self {
        Self(Box::new(reply))
    }
}

impl From<Reply> for StageExit {
    fn from(reply: Reply) -> Self {
        Ok(reply).into()
    }
}

impl From<CallError> for StageExit {
    fn from(error: CallError) -> Self {
        Err(error).into()
    }
}

/// One call on its way through the stages: its turn, its caller, and how far it has come.
#[derive(Clone, Copy)]
pub(super) struct CallContext<'c> {
    pub(super) turn: &'c Turn,
    pub(super) caller: &'c Caller<'c>,
    pub(super) progress: &'c Arc<CallProgress>,
}

/// A call that needs no approval, or has it.
pub(super) struct ClearedCall<'c> {
    pub(super) cleared: Cleared<'c>,
    /// Held while the call runs.
    pub(super) permit: Option<ConcurrencyPermit>,
    /// The caller as of the first request, for a call that was resumed after its approval.
    pub(super) resumed: Option<Caller<'c>>,
}

impl Gate {
    /// Takes from the rate limits and the concurrency limit.
    pub(super) fn admit<'c>(
        &self,
        call: CallContext<'_>,
        permitted: Permitted<'c>,
    ) -> StageResult<(Admitted<'c>, Option<ConcurrencyPermit>)> {
        failpoint::hit("admit");
        let is_tool = permitted.tool().is_some();
        let admitted = self.limits.admit(call.turn, call.caller.decided_by, permitted);
        let admitted = admitted.map_err(|exceeded| {
            if is_tool {
                StageExit::from(Reply::Tool(answer::limit_exceeded_outcome(&exceeded)))
            } else {
                CallError::from(exceeded).into()
            }
        })?;
        let progress = call.progress;
        progress.record_step(CallStep::Admitted, progress.began, self.clock.now());
        Ok(admitted)
    }

    /// Waits for approval if the call needs it. A call that waits gives its permit back.
    pub(super) async fn clear<'c>(
        &self,
        call: CallContext<'c>,
        admitted: Admitted<'c>,
        permit: Option<ConcurrencyPermit>,
    ) -> StageResult<ClearedCall<'c>> {
        failpoint::hit("clear");
        let by = call.caller.decided_by;
        let now = self.clock.now();
        match approval::clear(call.turn, by, admitted, now, || self.random.bits()) {
            Clearance::Clear(cleared) => Ok(ClearedCall { cleared, permit, resumed: None }),
            Clearance::Ask(held) => {
                if matches!(held.why(), ApprovalReason::Tainted { .. }) {
                    self.taints.count_question();
                }
                drop(permit);
                Box::pin(self.ask_approval(call, held)).await
            }
        }
    }

    /// Sets the deadline of the call.
    pub(super) fn plan<'c>(
        &self,
        call: CallContext<'_>,
        cleared: Cleared<'c>,
    ) -> StageResult<Planned<'c>> {
        failpoint::hit("plan");
        let is_tool = cleared.permitted_request().tool().is_some();
        plan::plan(call.turn, cleared, self.clock.now()).map_err(|late| {
            if is_tool {
                answer::failure_reply(CallStatus::Timeout, &late.to_string()).into()
            } else {
                CallError::from(late).into()
            }
        })
    }

    /// Runs the call, or shares the run or the cached result of an equal one. A call that outlasts its
    /// turn is answered with a handle.
    pub(super) async fn execute(
        &self,
        call: CallContext<'_>,
        planned: &Planned<'_>,
    ) -> StageResult<CallCompletion> {
        let CallContext { turn, caller, progress } = call;
        progress.send();
        let request = planned.permitted_request();
        let running = std::pin::pin!(async {
            let call = PlannedCall { turn, call_progress: Some(progress), planned, caller };
            match self.listen_for(turn, request.server(), caller) {
                None => self.reuse.run(call).await,
                // Boxed: the future of every other call is not larger for it.
                Some((listener, heard)) => {
                    let call = PlannedCall { caller: &listener, ..call };
                    Box::pin(heard.forward(self.reuse.run(call))).await
                }
            }
        });
        let outcome = slow_notice::announce_if_slow(&self.notices, turn, request, caller, running);
        match outcome.await? {
            ReuseOutcome::Over(completion) => Ok(completion.within_memory().await),
            ReuseOutcome::Late(late) => match late_results::pending(self, turn, caller, late) {
                Some(pending) => Err(Reply::Tool(pending).into()),
                None => Ok(CallCompletion::timed_out()),
            },
        }
    }

    /// Cleans, masks and caps the result for its caller.
    pub(super) async fn shape(
        &self,
        call: CallContext<'_>,
        planned: &Planned<'_>,
        completion: CallCompletion,
    ) -> Result<Reply, CallError> {
        failpoint::hit("shape");
        let CallContext { turn, caller, progress } = call;
        let back = self.clock.now();
        let shaping = progress.enter(CallStep::Shaped, back);
        let builder = answer::ReplyBuilder {
            planned,
            caller,
            took: back.saturating_duration_since(planned.started_at()),
            reused: completion.reused,
            actor: &turn.actor(),
            results: &self.results,
            tickets: TaskTickets { seal: &self.executor.seal, principal: &turn.principal },
            policy: &turn.policy,
        };
        let reply = builder.reply(completion.ran).await;
        if has_server_words(&reply) {
            self.note_server(turn, planned.permitted_request().server());
        }
        progress.leave(shaping, self.clock.now());
        if let (Some(unjudged), Ok(Reply::Tool(outcome))) = (&completion.unjudged, &reply) {
            self.executor.record_status(unjudged, outcome.status);
        }
        reply
    }
}

/// Whether the reply holds words of the server, and not only ours about it.
fn has_server_words(reply: &Result<Reply, CallError>) -> bool {
    match reply {
        Ok(Reply::Tool(outcome)) => outcome.origin.is_some(),
        Ok(Reply::Result(_) | Reply::InputRequired(_) | Reply::Task(_)) => true,
        Err(error) => matches!(error, CallError::Upstream(_)),
    }
}
