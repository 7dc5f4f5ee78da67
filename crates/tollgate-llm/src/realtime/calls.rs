//! One tool call of a live model on its way through the gate, and what comes of it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tollgate_core::call::{self, Decider, Handle, Kind, Outcome, Status};
use tollgate_core::json::{self, Object};
use tollgate_core::shaping::{self, Caps};
use tollgate_core::tool::{Speech, Tool};
use tollgate_core::turn::{Principal, Turn};
use tollgate_engine::caller::{Caller, Late, Reply};
use tollgate_engine::gate::Gate;
use tollgate_engine::notices::Notice;
use tollgate_engine::results::Read;
use tollgate_mcp::client::{Event, Progress};
use tollgate_mcp::meta::ClientFacts;

use super::events::Call;
use crate::tools::{self, Form, arguments};

/// Words for slow calls that wait to be said.
const QUEUE: usize = 4;

/// A call, and with what it is run.
pub(super) struct Errand {
    pub(super) gate: Arc<Gate>,
    /// With the wall of this round.
    pub(super) turn: Turn,
    pub(super) form: Form,
    pub(super) caps: Caps,
    /// Of the model that made it.
    pub(super) provider: Option<String>,
}

/// The tool that a model means, if it is in the view.
pub(super) fn meant(turn: &Turn, call: &Call, form: Form) -> Option<Arc<Tool>> {
    tools::named(&turn.view, &call.name, form).map(Arc::clone)
}

impl Errand {
    /// Runs it. Dropping the future cancels it at the server.
    pub(super) async fn run(&self, call: &Call, slow: impl Fn(Arc<str>)) -> Outcome {
        let meant = meant(&self.turn, call, self.form);
        let sent = match arguments::parse(&call.arguments) {
            Ok(sent) => sent,
            Err(unreadable) => {
                let message = unreadable.to_string();
                return shaping::failure(Status::InvalidArguments, &message, Duration::ZERO);
            }
        };
        let (name, sent) = match &meant {
            Some(tool) => {
                let sent = tools::offered(tool, self.form).arguments(sent);
                (tool.exposed.as_str(), Value::Object(sent))
            }
            None => (call.name.as_str(), Value::Object(sent)),
        };
        let mut params = Object::new();
        params.set_string("name", name);
        params.set("arguments", json::raw_value(&sent));
        let request = call::Request { kind: Kind::CallTool, params };
        let running = AssertUnwindSafe(self.through_the_gate(request, slow)).catch_unwind();
        running.await.unwrap_or_else(|_| {
            tracing::error!(tool = name, "a call panicked");
            shaping::failure(Status::Error, "the gateway failed on this call", Duration::ZERO)
        })
    }

    async fn through_the_gate(
        &self,
        request: call::Request<'_>,
        slow: impl Fn(Arc<str>),
    ) -> Outcome {
        let client = ClientFacts::default();
        let (events, mut heard) = mpsc::channel(QUEUE);
        let caller = Caller {
            events: Some(events),
            progress: Progress::Unwanted,
            caps: self.caps,
            late: Late::Delivered,
            decided_by: Decider::Model,
            provider: self.provider.as_deref(),
            ..Caller::silent(&client)
        };
        let mut running = std::pin::pin!(self.gate.call(&self.turn, request, caller));
        let reply = loop {
            tokio::select! {
                reply = &mut running => break reply,
                Some(event) = heard.recv() => if let Event::Announcement(message) = event {
                    slow(message);
                },
            }
        };
        match reply {
            Ok(Reply::Tool(outcome)) => outcome,
            Ok(Reply::Result(_) | Reply::InputRequired(_) | Reply::Task(_)) => {
                let message = "the tool has questions, and nobody is there to answer them";
                shaping::failure(Status::Error, message, Duration::ZERO)
            }
            Err(error) => shaping::failure(error.status(), &error.to_string(), Duration::ZERO),
        }
    }
}

/// How results of the tool become sentences.
pub(super) fn speech(tool: Option<&Arc<Tool>>) -> Speech {
    tool.map(|tool| tool.terms.speech.clone()).unwrap_or_default()
}

/// Waits for what was pending. `None`: nobody will ever know.
pub(super) async fn landed(
    gate: Arc<Gate>,
    principal: Principal,
    handle: Handle,
) -> Option<Outcome> {
    let shown = handle.to_string();
    let mut notices = gate.notices();
    loop {
        // Looked at after listening began: nothing can happen in between unseen.
        match gate.result(&principal, &shown) {
            Read::Ready(kept) => return Some(kept.outcome.clone()),
            Read::Unknown => return None,
            Read::Pending { .. } => {}
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
