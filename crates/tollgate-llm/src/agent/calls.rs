//! Runs the tool calls of a round through the gate, concurrently, and relays events meanwhile.

use std::future::Future;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tollgate_core::budget::Deadline;
use tollgate_core::call::{self, CallStatus, Decider, Outcome, RequestKind};
use tollgate_core::json::{self, Object};
use tollgate_core::nearest::nearest;
use tollgate_core::policy::PermitError;
use tollgate_core::shaping::{self, ResultCaps};
use tollgate_core::text::truncate_chars;
use tollgate_core::turn::Turn;
use tollgate_engine::caller::{Caller, Reply};
use tollgate_engine::gate::Gate;
use tollgate_mcp::client::{Event, ProgressReporting, ServerEventSender};
use tollgate_mcp::meta::ClientFacts;

use super::offer::dialect;
use super::own_results::OwnResult;
use super::{CompletionEvent, CompletionSink};
use crate::conversation::{CallResult, FunctionCall};
use crate::error::MAX_QUOTED_CHARS;
use crate::gateway_report::{ExecutedCall, LoopEnd, StreamNote};
use crate::provider::ModelHandle;
use crate::tools::{self, arguments, results};
use crate::turn::{CallRefusalReason, OfferedTools, OwnCall};

/// Tool events that may be queued for the client.
const MAX_QUEUED_EVENTS: usize = 64;
/// Reason in the audit trail for calls of tools that the model was not offered.
const NOT_OFFERED_REASON: &str = "not offered to the model";

/// A call with its result.
pub(super) struct HandledCall {
    pub(super) ran: ExecutedCall,
    pub(super) result: CallResult,
    /// The result as it came, if the call was run.
    pub(super) own: Option<OwnResult>,
}

/// Context for running the calls of one round.
pub(super) struct CallRound<'a> {
    pub(super) gate: &'a Gate,
    /// With the wall of this round.
    pub(super) turn: &'a Turn,
    /// The model that made the calls and reads the results.
    pub(super) model: &'a ModelHandle,
    pub(super) voice: Option<&'a CompletionSink>,
}

impl CallRound<'_> {
    /// Runs all calls concurrently. Returns one result per call, in the same order.
    pub(super) async fn run(&self, calls: &[OwnCall]) -> Vec<HandledCall> {
        let (events, heard) = mpsc::channel(MAX_QUEUED_EVENTS);
        let events = self.voice.is_some().then_some(events);
        let caps = caps(self.model.settings.context_window, calls.len());
        let running = join_all(calls.iter().map(|own| self.run_one(own, caps, events.clone())));
        self.relay_events_during(running, heard).await
    }

    async fn run_one(
        &self,
        own: &OwnCall,
        caps: ResultCaps,
        events: Option<ServerEventSender>,
    ) -> HandledCall {
        let call = own.call();
        self.note(StreamNote::Calling {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        })
        .await;
        let outcome = match arguments::parse(&call.arguments) {
            Ok(sent) => {
                let tool = own.tool().as_str();
                let arguments = self.in_own_names(tool, sent);
                self.through_the_gate(request(tool, Some(&arguments)), caps, events).await
            }
            Err(unreadable) => {
                let message = unreadable.to_string();
                shaping::failure(CallStatus::InvalidArguments, &message, Duration::ZERO)
            }
        };
        let mut handled = self.finish_call(call, &outcome).await;
        let call = FunctionCall { arguments: String::new(), ..call.clone() };
        let tool = own.tool().as_str().to_owned();
        let links = self.gate.link_left_out_pictures(self.turn, &tool, &outcome).await;
        results::add_picture_links(&mut handled.result, &links);
        HandledCall { own: Some(OwnResult { call, tool, outcome }), ..handled }
    }

    /// Maps arguments back to the tool's own parameter names, which some dialects cannot express.
    fn in_own_names(&self, tool: &str, sent: Map<String, Value>) -> Value {
        Value::Object(match self.turn.view.tool(tool) {
            Some(tool) => tools::format_for_dialect(tool, dialect(self.model)).arguments(sent),
            None => sent,
        })
    }

    async fn through_the_gate(
        &self,
        request: call::GateRequest<'_>,
        caps: ResultCaps,
        events: Option<ServerEventSender>,
    ) -> Outcome {
        let client = ClientFacts::default();
        let progress = if events.is_some() {
            ProgressReporting::Requested
        } else {
            ProgressReporting::Unwanted
        };
        let caller = Caller {
            events,
            progress,
            caps,
            decided_by: Decider::Model,
            provider: self.model.settings.provider.as_deref(),
            ..Caller::silent(&client)
        };
        match self.gate.call(self.turn, request, caller).await {
            Ok(Reply::Tool(outcome)) => outcome,
            Ok(Reply::Result(_) | Reply::InputRequired(_) | Reply::Task(_)) => {
                let message = "the tool requires user input, which nobody can give here";
                shaping::failure(CallStatus::Error, message, Duration::ZERO)
            }
            Err(error) => shaping::failure(CallStatus::Error, &error.to_string(), Duration::ZERO),
        }
    }

    /// Answers a call that is not run. Calls of tools that were not offered are still audited.
    pub(super) async fn refuse(
        &self,
        call: &FunctionCall,
        why: CallRefusalReason,
        offered: &OfferedTools,
    ) -> HandledCall {
        let outcome = match why {
            // The gate knows how its server is.
            CallRefusalReason::NotOffered if self.turn.view.away(&call.name).is_some() => {
                let caps = caps(self.model.settings.context_window, 1);
                self.through_the_gate(request(&call.name, None), caps, None).await
            }
            CallRefusalReason::NotOffered => {
                let own = offered.own.keys().map(String::as_str);
                let known = own.chain(offered.theirs.iter().map(String::as_str));
                let near = nearest(&call.name, known).into_iter().map(str::to_owned).collect();
                let name = truncate_chars(&call.name, MAX_QUOTED_CHARS);
                let refusal = match self.turn.view.only_in_code(&call.name) {
                    Some(_) => PermitError::OnlyInCode { name },
                    None => PermitError::UnknownTool { name, nearest: near },
                };
                let message = refusal.to_string();
                self.gate
                    .decline(self.turn, request(&call.name, None), &message, NOT_OFFERED_REASON)
                    .await
            }
            CallRefusalReason::CutOff => {
                let message = "this call was not run: the response may have ended before the end \
                               of its arguments; call again with less in one response";
                shaping::failure(CallStatus::InvalidArguments, message, Duration::ZERO)
            }
            CallRefusalReason::Limit(limit) => {
                shaping::failure(CallStatus::Denied, limit_reached(limit), Duration::ZERO)
            }
        };
        self.finish_call(call, &outcome).await
    }

    /// Completes a call that the loop answers itself.
    pub(super) async fn finish_call(&self, call: &FunctionCall, outcome: &Outcome) -> HandledCall {
        let executed = ExecutedCall {
            id: call.id.clone(),
            name: call.name.clone(),
            status: outcome.status,
            took: outcome.duration,
        };
        self.note(StreamNote::Called(executed.clone())).await;
        HandledCall { ran: executed, result: results::neutral(call, outcome), own: None }
    }

    /// Relays events of tools and gate until the work is done.
    async fn relay_events_during<T>(
        &self,
        work: impl Future<Output = T>,
        mut heard: mpsc::Receiver<Event>,
    ) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                Some(event) = heard.recv() => if let Some(note) = note(event) {
                    self.note(note).await;
                },
            }
        }
    }

    async fn note(&self, note: StreamNote) {
        if let Some(voice) = self.voice {
            voice.say(CompletionEvent::Note(note)).await;
        }
    }
}

/// Result size limits for a model: all results of a round together get about a third of its context
/// window, so that it has room to answer. The rest stays available behind a handle.
fn caps(window: u32, calls: usize) -> ResultCaps {
    const MIN_RESULT_BYTES: usize = 1 << 10;
    let usual = ResultCaps::chat();
    // A token is usually four or more characters.
    let room = (window as usize).saturating_mul(3) / 2 / calls.max(1);
    let text_bytes = room.clamp(MIN_RESULT_BYTES, usual.text_bytes);
    ResultCaps { text_bytes, page_bytes: usual.page_bytes.min(text_bytes), ..usual }
}

/// The same turn, with this much time left for its tools.
pub(super) fn with_tool_deadline(
    turn: &Turn,
    left: Option<Duration>,
    now: std::time::Instant,
) -> Turn {
    let deadline = left.map(|left| Deadline::after(now, left));
    Turn { deadline, ..turn.clone() }
}

fn request(name: &str, arguments: Option<&Value>) -> call::GateRequest<'static> {
    let mut params = Object::new();
    params.set_string("name", name);
    if let Some(arguments) = arguments {
        params.set("arguments", json::raw_value(arguments));
    }
    call::GateRequest { kind: RequestKind::CallTool, params }
}

fn limit_reached(limit: LoopEnd) -> &'static str {
    match limit {
        LoopEnd::MaxDepth => {
            "limit_reached: this turn has reached its limit of tool-call rounds; answer with what \
             you know"
        }
        LoopEnd::MaxCalls => {
            "limit_reached: this turn has reached its limit of tool calls; answer with what you \
             know"
        }
        LoopEnd::Deadline
        | LoopEnd::ModelLimit
        | LoopEnd::Answered
        | LoopEnd::CallsPending
        | LoopEnd::ContextWindow => {
            "limit_reached: there is no time left for tools in this turn; answer with what you know"
        }
    }
}

fn note(event: Event) -> Option<StreamNote> {
    match event {
        Event::Progress(params) => {
            Some(StreamNote::Progress(json::value(&params.to_text()).unwrap_or_default()))
        }
        Event::Announcement(message) => Some(StreamNote::Announcement(message.as_ref().to_owned())),
        // Logs are for the operator. A dropped question counts as unanswered.
        Event::Log(_) | Event::Question(_) => None,
    }
}
