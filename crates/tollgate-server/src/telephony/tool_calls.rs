//! Runs the tool calls of telephone platforms through the gate. A repeated delivery is not run
//! again.

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use tollgate_core::call::{CallStatus, GateRequest, Outcome, RequestKind};
use tollgate_core::json::{self, Object};
use tollgate_core::shaping::{self, ResultCaps};
use tollgate_core::turn::Turn;
use tollgate_engine::caller::Caller;
use tollgate_engine::gate;
use tollgate_mcp::meta::ClientFacts;

use super::caller;
use crate::api_error::ApiError;
use crate::app_state::AppState;
use crate::phone_lines::{
    AnswerSender, Delivery, DeliveryKey, LineSettings, PhoneLine, ToolAnswer,
};
use crate::rest::into_outcome;

/// One call of a tool, as a platform delivered it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DeliveredCall {
    /// Distinguishes deliveries; equal for the same call.
    pub(super) key: DeliveryKey,
    pub(super) tool: String,
    /// A JSON object, or the reason why there is none.
    pub(super) arguments: Result<serde_json::Map<String, serde_json::Value>, BadArgumentsError>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the arguments are not a JSON object: {0}")]
pub(super) struct BadArgumentsError(pub(super) String);

/// Runs a call of the conversation `of_call` and waits for its answer, at most for `timeout`. It
/// runs to its end even if the platform does not wait for it.
pub(super) async fn answer<L>(
    front: &Arc<AppState>,
    line: &Arc<PhoneLine<L>>,
    sent: &Parts,
    of_call: &str,
    call: DeliveredCall,
    timeout: Duration,
) -> ToolAnswer
where
    L: LineSettings + Send + Sync + 'static,
{
    let mut receiver = match line.calls.deliver(call.key, front.clock.now()) {
        Delivery::Repeated(receiver) => receiver,
        Delivery::Refused => return ToolAnswer::failure(TOO_MANY),
        Delivery::First(sender, receiver) => {
            let turn = match open_turn(front, line, sent, of_call) {
                Ok(turn) => turn,
                Err(problem) => return settle(&sender, ToolAnswer::failure(&*problem.detail)),
            };
            let running = {
                let front = Arc::clone(front);
                async move {
                    let answer = tokio::select! {
                        answer = run(&front, &turn, call) => answer,
                        () = front.cut.cancelled() => ToolAnswer::failure(STOPPED),
                    };
                    sender.send_replace(Some(Arc::new(answer)));
                }
            };
            if front.telephone_calls.spawn(running).is_err() {
                return ToolAnswer::failure(TOO_MANY);
            }
            receiver
        }
    };
    let waited = tokio::time::timeout(timeout, receiver.wait_for(Option::is_some)).await;
    match waited {
        Ok(Ok(answer)) => answer.as_deref().cloned().unwrap_or_else(|| ToolAnswer::failure(FAILED)),
        Ok(Err(_)) => ToolAnswer::failure(FAILED),
        Err(_) => ToolAnswer { message: STILL_RUNS.to_owned(), is_error: false },
    }
}

const TOO_MANY: &str = "Too many calls run at once. Try again in a moment.";
const STOPPED: &str = "The gateway stops.";
const FAILED: &str = "The call failed (internal error).";
const STILL_RUNS: &str = "This takes longer than expected. It is still being worked on.";

fn settle(sender: &AnswerSender, answer: ToolAnswer) -> ToolAnswer {
    sender.send_replace(Some(Arc::new(answer.clone())));
    answer
}

fn open_turn<L: LineSettings>(
    front: &AppState,
    line: &PhoneLine<L>,
    sent: &Parts,
    of_call: &str,
) -> Result<Turn, ApiError> {
    caller::context(front, line, sent, of_call)?.turn(&front.gate)
}

async fn run(front: &AppState, turn: &Turn, call: DeliveredCall) -> ToolAnswer {
    let arguments = match call.arguments {
        Ok(arguments) => arguments,
        Err(error) => return ToolAnswer::failure(error.to_string()),
    };
    let mut params = Object::new();
    params.set_string("name", &call.tool);
    params.set("arguments", json::raw_value(&arguments.into()));
    let client = ClientFacts::default();
    let caps = ResultCaps::speech();
    let caller = Caller { caps, ..Caller::silent(&client) };
    let request = GateRequest { kind: RequestKind::CallTool, params };
    let replied = into_outcome(front.gate.call(turn, request, caller).await);
    let outcome = replied.unwrap_or_else(|problem| {
        shaping::failure(CallStatus::Error, &problem.detail, Duration::ZERO)
    });
    tool_answer(turn, &call.tool, &outcome, caps)
}

fn tool_answer(turn: &Turn, tool: &str, outcome: &Outcome, caps: ResultCaps) -> ToolAnswer {
    let spoken = gate::render_speech(turn, tool, outcome, caps.wording);
    let is_error =
        !matches!(outcome.status, CallStatus::Ok | CallStatus::NoResults | CallStatus::Pending);
    ToolAnswer { message: spoken.message, is_error }
}
