//! The calls of a program, one by one through the gate, and what the program gets for them.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;
use tollgate_core::approval::{self, ApprovalReason};
use tollgate_core::call::{
    CallStatus, GateRequest, Outcome, RequestKind, ResultExtent, Retryability,
};
use tollgate_core::json::Object;
use tollgate_core::shaping::{self, MessageWording, ResultCaps};
use tollgate_core::text::truncate_chars;
use tollgate_core::tool::{SpeechTemplate, Tool};
use tollgate_core::turn::Turn;
use tollgate_mcp::answer_budget::AnswerAccount;
use tollgate_mcp::offload::offload_if_large;
use tollgate_sandbox::frames::{Answer, ProgramCall};
use tollgate_sandbox::host::{CallsRefusedError, HostCalls};
use tollgate_sandbox::stopwatch::Stopwatch;

use super::super::{Gate, recheck};
use super::questions::forward_events;
use crate::caller::{Caller, Reply};
use crate::dialogue::EVENT_QUEUE;
use crate::settings::UnapprovedCallPolicy;

/// What the trail says of calls that would have to wait.
const NEEDS_APPROVAL_REASON: &str = "it requires approval, and programs do not wait for approval";
/// And of calls whose tool is not the agent's any more.
const TOOL_REVOKED_REASON: &str = "it was removed while the program ran";
/// Calls of one program that run at the same time; the others wait for these.
const MAX_CONCURRENT_CALLS: usize = 16;
/// What all that is asked for at once may come to; the program has to take it in.
const MAX_BATCH_BYTES: usize = 16 << 20;
/// Of what a tool says about its failure.
const MAX_MESSAGE_BYTES: usize = 4 << 10;

/// What a program is run for.
pub(super) struct ProgramHost<'g> {
    pub(super) gate: &'g Gate,
    /// Its view is the one from inside a program.
    pub(super) turn: &'g Turn,
    pub(super) caller: Caller<'g>,
}

#[async_trait]
impl HostCalls for ProgramHost<'_> {
    fn admit(&self, calls: u32) -> Result<(), CallsRefusedError> {
        let Some(budget) = &self.turn.calls else { return Ok(()) };
        budget.take(calls).map_err(|exceeded| CallsRefusedError(exceeded.to_string()))
    }

    async fn call(&self, calls: Vec<ProgramCall>, time: &Stopwatch) -> Vec<Answer> {
        // The answers go to the worker; the request keeps nothing of them.
        let account = AnswerAccount::for_part();
        account.scope(self.call_all(calls, time)).await
    }
}

impl ProgramHost<'_> {
    async fn call_all(&self, calls: Vec<ProgramCall>, time: &Stopwatch) -> Vec<Answer> {
        let (events, receiver) =
            self.caller.events.as_ref().map(|_| mpsc::channel(EVENT_QUEUE)).unzip();
        let caller = Caller { events, ..self.caller.clone() };
        let room = AnswerBytesLeft(AtomicUsize::new(MAX_BATCH_BYTES));
        let running = stream::iter(calls).map(|call| self.call_if_room(call, &room, &caller, time));
        // Room is given in the order of the calls, whichever of them is answered first.
        let running =
            running.buffered(MAX_CONCURRENT_CALLS).map(|answer| room.admit(answer)).collect();
        match (&self.caller.events, receiver) {
            (Some(to), Some(receiver)) => forward_events(running, receiver, to, time).await,
            _ => running.await,
        }
    }

    /// Calls for whose answers there is no room any more are not made.
    async fn call_if_room(
        &self,
        call: ProgramCall,
        room: &AnswerBytesLeft,
        caller: &Caller<'_>,
        time: &Stopwatch,
    ) -> Answer {
        if room.is_full() { too_much() } else { self.call_one(call, caller, time).await }
    }

    async fn call_one(&self, call: ProgramCall, caller: &Caller<'_>, time: &Stopwatch) -> Answer {
        let book = self.turn.view.code_api();
        let place = call.tool as usize;
        let Some(tool) = book.tool(place) else {
            return failure(CallStatus::Denied, "there is no such tool".to_owned());
        };
        let arguments = match book.arguments(place, &call.positional, &call.named) {
            Ok(arguments) => arguments,
            Err(error) => return failure(CallStatus::InvalidArguments, error.to_string()),
        };
        let mut params = Object::new();
        params.set_string("name", tool.exposed.as_str());
        params.set("arguments", arguments);
        let request = GateRequest { kind: RequestKind::CallTool, params };
        // A program may outlive what was decided when it began.
        if recheck::current_tool(self.turn, tool, &self.gate.registry).is_none() {
            let message = format!("`{}` was removed while the program ran", tool.exposed);
            let outcome =
                self.gate.decline(self.turn, request, &message, TOOL_REVOKED_REASON).await;
            return answer(tool, outcome).await;
        }
        let now = self.gate.clock.now();
        let asks = approval::why(self.turn, caller.decided_by, tool, now);
        if let (Some(why), UnapprovedCallPolicy::Refused) =
            (&asks, self.turn.policy.code.unapproved)
        {
            let message = format!("`{}` cannot be called in a program: {why}", tool.exposed);
            let because = match why {
                ApprovalReason::Tainted { .. } => {
                    self.gate.taints.count_refused();
                    Cow::Owned(why.to_string())
                }
                ApprovalReason::Always
                | ApprovalReason::NotAutomatic
                | ApprovalReason::Destructive => Cow::Borrowed(NEEDS_APPROVAL_REASON),
            };
            let outcome = self.gate.decline(self.turn, request, &message, because).await;
            return answer(tool, outcome).await;
        }
        // Whoever has to agree takes the time that people take; the call then keeps to its own.
        let line = call.line;
        let _standing = asks
            .map(|_| time.hold_for(format!("`{}` (line {line}) waits for approval", tool.exposed)));
        match self.gate.call(self.turn, request, caller.clone()).await {
            Ok(Reply::Tool(outcome)) => {
                let answer = answer(tool, outcome).await;
                if let Answer::Data(data) = &answer {
                    self.gate.learned_types.take(&self.turn.principal, tool, data);
                }
                answer
            }
            Ok(Reply::Result(_) | Reply::InputRequired(_) | Reply::Task(_)) => {
                let message =
                    format!("`{}` requires user input, which a program cannot give", tool.exposed);
                failure(CallStatus::Error, message)
            }
            Err(error) => failure(error.status(), error.to_string()),
        }
    }
}

/// What is left for the answers to calls that were made together.
struct AnswerBytesLeft(AtomicUsize);

impl AnswerBytesLeft {
    fn is_full(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// An answer for which there is too little room leaves none for those after it.
    fn admit(&self, answer: Answer) -> Answer {
        let Answer::Data(data) = &answer else { return answer };
        let left = self.0.load(Ordering::Relaxed);
        self.0.store(left.saturating_sub(data.get().len()), Ordering::Relaxed);
        if data.get().len() <= left { answer } else { too_much() }
    }
}

fn too_much() -> Answer {
    let most = MAX_BATCH_BYTES >> 20;
    failure(
        CallStatus::Error,
        format!("these calls returned more than {most} MiB; make fewer at once"),
    )
}

async fn answer(tool: &Tool, outcome: Outcome) -> Answer {
    match (outcome.status, outcome.extent) {
        (CallStatus::Ok | CallStatus::NoResults, ResultExtent::Whole) => {
            let size = outcome.result.get().len();
            Answer::Data(offload_if_large(size, move || shaping::raw_data(&outcome)).await)
        }
        (CallStatus::Ok | CallStatus::NoResults, ResultExtent::Cut) => {
            let most = ResultCaps::code().text_bytes >> 20;
            let message = format!(
                "`{}` returned more than a program accepts ({most} MiB, limited nesting); request \
                 less",
                tool.exposed
            );
            failure(CallStatus::Error, message)
        }
        (status, _) => {
            let data = shaping::data(&outcome);
            let text = shaping::message(
                &SpeechTemplate::default(),
                &outcome,
                &data,
                MessageWording::AsWritten,
            );
            let retryable = outcome.retry != Retryability::Pointless;
            let message = truncate_chars(&text, MAX_MESSAGE_BYTES);
            Answer::Failure { status: status.to_string(), message, retryable }
        }
    }
}

fn failure(status: CallStatus, message: String) -> Answer {
    Answer::Failure { status: status.to_string(), message, retryable: false }
}
