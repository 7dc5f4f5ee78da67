//! Runs one tool call of a realtime model through the gate, and awaits its late result.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tollgate_core::call::{self, CallStatus, Decider, Outcome, RequestKind, ResultHandle};
use tollgate_core::json::{self, Object};
use tollgate_core::shaping::{self, ResultCaps};
use tollgate_core::tool::{SpeechTemplate, Tool};
use tollgate_core::turn::{Principal, Turn};
use tollgate_engine::caller::{Caller, LateResultPolicy, Reply};
use tollgate_engine::gate::Gate;
use tollgate_engine::notices::Notice;
use tollgate_engine::results::ResultLookup;
use tollgate_mcp::client::{Event, ProgressReporting};
use tollgate_mcp::meta::ClientFacts;

use super::events::RealtimeCall;
use crate::tools::{self, ToolFormat, arguments};

/// Queued announcements of slow calls.
const MAX_QUEUED_NOTICES: usize = 4;

/// Context for running a call.
pub(super) struct RealtimeCallRunner {
    pub(super) gate: Arc<Gate>,
    /// With the wall of this round.
    pub(super) turn: Turn,
    pub(super) form: ToolFormat,
    pub(super) caps: ResultCaps,
    /// Provider of the model that made the call.
    pub(super) provider: Option<String>,
}

/// The called tool, if it is in the view.
pub(super) fn resolve_tool(
    turn: &Turn,
    call: &RealtimeCall,
    form: ToolFormat,
) -> Option<Arc<Tool>> {
    tools::find_by_model_name(&turn.view, &call.name, form).map(Arc::clone)
}

impl RealtimeCallRunner {
    /// Runs the call. Dropping the future cancels it at the server.
    pub(super) async fn run(&self, call: &RealtimeCall, slow: impl Fn(Arc<str>)) -> Outcome {
        let meant = resolve_tool(&self.turn, call, self.form);
        let sent = match arguments::parse(&call.arguments) {
            Ok(sent) => sent,
            Err(unreadable) => {
                let message = unreadable.to_string();
                return shaping::failure(CallStatus::InvalidArguments, &message, Duration::ZERO);
            }
        };
        let (name, sent) = match &meant {
            Some(tool) => {
                let sent = tools::format_tool(tool, self.form).arguments(sent);
                (tool.exposed.as_str(), Value::Object(sent))
            }
            None => (call.name.as_str(), Value::Object(sent)),
        };
        let mut params = Object::new();
        params.set_string("name", name);
        params.set("arguments", json::raw_value(&sent));
        let request = call::GateRequest { kind: RequestKind::CallTool, params };
        let running = AssertUnwindSafe(self.through_the_gate(request, slow)).catch_unwind();
        running.await.unwrap_or_else(|_| {
            tracing::error!(tool = name, "a call panicked");
            shaping::failure(CallStatus::Error, "the gateway failed on this call", Duration::ZERO)
        })
    }

    async fn through_the_gate(
        &self,
        request: call::GateRequest<'_>,
        slow: impl Fn(Arc<str>),
    ) -> Outcome {
        let client = ClientFacts::default();
        let (events, mut receiver) = mpsc::channel(MAX_QUEUED_NOTICES);
        let caller = Caller {
            events: Some(events),
            progress: ProgressReporting::Unwanted,
            caps: self.caps,
            late: LateResultPolicy::Delivered,
            decided_by: Decider::Model,
            provider: self.provider.as_deref(),
            ..Caller::silent(&client)
        };
        let mut running = std::pin::pin!(self.gate.call(&self.turn, request, caller));
        let reply = loop {
            tokio::select! {
                reply = &mut running => break reply,
                Some(event) = receiver.recv() => if let Event::Announcement(message) = event {
                    slow(message);
                },
            }
        };
        match reply {
            Ok(Reply::Tool(outcome)) => outcome,
            Ok(Reply::Result(_) | Reply::InputRequired(_) | Reply::Task(_)) => {
                let message = "the tool requires user input, which nobody can give here";
                shaping::failure(CallStatus::Error, message, Duration::ZERO)
            }
            Err(error) => shaping::failure(error.status(), &error.to_string(), Duration::ZERO),
        }
    }
}

/// Template that turns the tool's results into speech.
pub(super) fn speech(tool: Option<&Arc<Tool>>) -> SpeechTemplate {
    tool.map(|tool| tool.terms.speech.clone()).unwrap_or_default()
}

/// Awaits the result of a pending call. `None`: it will never be known.
pub(super) async fn await_late_result(
    gate: Arc<Gate>,
    principal: Principal,
    handle: ResultHandle,
) -> Option<Outcome> {
    let shown = handle.to_string();
    let mut notices = gate.notices();
    loop {
        // Checked after subscribing, so that no event is missed.
        match gate.result(&principal, &shown) {
            ResultLookup::Ready(stored) => return Some(stored.outcome.clone()),
            ResultLookup::Unknown => return None,
            ResultLookup::Pending { .. } => {}
        }
        loop {
            match notices.recv().await.as_deref() {
                Ok(Notice::Late { handle, .. }) if **handle == *shown => break,
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => break,
                Err(RecvError::Closed) => return None,
            }
        }
    }
}
