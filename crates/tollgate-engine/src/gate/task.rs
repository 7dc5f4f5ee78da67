//! Tasks (MCP extension): asks after, feeds or cancels a task that an earlier call was answered with.

use serde_json::value::RawValue;
use tollgate_core::call::{GateRequest, RequestKind, TaskVerb};
use tollgate_core::json::Object;
use tollgate_core::policy::{self, PermitError};
use tollgate_core::turn::Turn;

use super::Gate;
use super::stages::{StageExit, StageResult};
use crate::caller::{CallError, Caller, Reply};
use crate::recorder::CallRecording;
use crate::tickets::TaskTickets;

/// A request about a task: `params` are those of the MCP method.
#[derive(Debug)]
pub struct TaskRequest<'a> {
    pub verb: TaskVerb,
    pub params: Object<'a>,
}

impl Gate {
    pub async fn task(
        &self,
        turn: &Turn,
        request: TaskRequest<'_>,
        caller: Caller<'_>,
    ) -> Result<Box<RawValue>, CallError> {
        let TaskRequest { verb, params } = request;
        let handle = params.string("taskId").unwrap_or_default().into_owned();
        let request = GateRequest { kind: RequestKind::Task(verb), params };
        let mut recording = self.begin_recording(turn, &request).await;
        let reply = self.run_task(turn, verb, request, caller, &mut recording).await;
        let reply = match reply.or_else(StageExit::into_reply) {
            Ok(Reply::Result(result)) => {
                Ok(Reply::Result(TaskTickets::with_handle(&result, &handle)))
            }
            Ok(Reply::Tool(_) | Reply::InputRequired(_) | Reply::Task(_)) => Err(lost_task()),
            Err(error) => Err(error),
        };
        match Self::finish_recording(recording, reply).await? {
            Reply::Result(result) => Ok(result),
            Reply::Tool(_) | Reply::InputRequired(_) | Reply::Task(_) => Err(lost_task()),
        }
    }

    /// The stages of [`Gate::call`], with the ticket in place of the view.
    async fn run_task(
        &self,
        turn: &Turn,
        verb: TaskVerb,
        request: GateRequest<'_>,
        mut caller: Caller<'_>,
        recording: &mut CallRecording<'_>,
    ) -> StageResult<Reply> {
        let tickets = TaskTickets { seal: &self.executor.seal, principal: &turn.principal };
        let ticket = tickets.open(&request.params.string("taskId").unwrap_or_default());
        let ticket = ticket.ok_or_else(|| CallError::from(PermitError::UnknownTask))?;
        let request = self.screen_secrets(turn, request, &mut caller, recording).await?;
        let permitted = policy::permit_task(turn, verb, ticket, request.params);
        let permitted = permitted.map_err(CallError::from)?;
        self.run(turn, permitted, &caller, recording).await
    }
}

fn lost_task() -> CallError {
    CallError::Unanswered { message: "the server lost the task".to_owned() }
}
