//! Trace spans of a realtime session: one for the session, one for each turn. Calls belong to their
//! turn. The session id is not recorded, because it can be used to end the session.

use std::sync::Arc;

use tollgate_core::trace::Trace;
use tollgate_engine::notices::{LiveEnding, LiveSession};
use tollgate_engine::spans::{SpanKind, TraceScope, TraceSpan};

use super::super::observer::millis;
use super::super::session_registry::RealtimeSessionRegistry;
use super::super::session_request::SessionRequest;
use super::super::silence::{SilencePart, TurnSilence};
use crate::provider::provider_name;

pub(super) struct SessionSpans {
    follow: TraceScope,
    session: TraceSpan,
    turn: Option<TraceSpan>,
    about: SessionSpanLabels,
}

/// Attributes of every turn's span.
struct SessionSpanLabels {
    provider: &'static str,
    model: String,
}

impl SessionSpans {
    pub(super) fn begin(
        session_registry: &RealtimeSessionRegistry,
        session_request: &SessionRequest,
        facts: &LiveSession,
    ) -> Self {
        let trace = session_request.party.trace.clone();
        let follow = TraceScope { tracer: session_registry.gate.tracer().clone(), trace };
        let agent = facts.agent.as_str();
        let mut session = follow.begin(SpanKind::Server, || format!("realtime {agent}").into());
        let about = SessionSpanLabels {
            provider: provider_name(session_request.model.provider_kind()),
            model: session_request.model.settings.id.clone(),
        };
        session.tell(|attributes| {
            attributes.set("gen_ai.agent.name", agent.to_owned());
            attributes.set("gen_ai.provider.name", about.provider);
            attributes.set("gen_ai.request.model", about.model.clone());
            attributes.set("tollgate.dialect", facts.dialect);
        });
        // Set at the start: dropping the span later does not mean that it was cancelled.
        session.complete();
        Self { follow: follow.within(&session), session, turn: None, about }
    }

    /// Trace context of current work.
    pub(super) fn trace(&self) -> Option<&Arc<Trace>> {
        self.turn.as_ref().unwrap_or(&self.session).trace()
    }

    pub(super) fn turn_began(&mut self) {
        let SessionSpanLabels { provider, model } = &self.about;
        let mut span =
            self.follow.begin(SpanKind::Client, || format!("realtime_inference {model}").into());
        span.tell(|attributes| {
            attributes.set("gen_ai.operation.name", "realtime_inference");
            attributes.set("gen_ai.provider.name", *provider);
            attributes.set("gen_ai.request.model", model.clone());
        });
        self.turn = Some(span);
    }

    /// The agent is heard after this silence.
    pub(super) fn heard_after(&mut self, silence: &TurnSilence) {
        let Some(span) = &mut self.turn else { return };
        span.tell(|attributes| {
            attributes.set("tollgate.silence_ms", millis(silence.total()));
            for part in SilencePart::ALL {
                let name = match part {
                    SilencePart::Model => "tollgate.silence.model_ms",
                    SilencePart::Tool => "tollgate.silence.tool_ms",
                    SilencePart::Network => "tollgate.silence.network_ms",
                    SilencePart::Gateway => "tollgate.silence.gateway_ms",
                };
                attributes.set(name, millis(silence.of(part)));
            }
        });
    }

    pub(super) fn turn_ended(&mut self, ending: LiveEnding) {
        let Some(mut span) = self.turn.take() else { return };
        let reason = match ending {
            LiveEnding::Whole => "stop",
            LiveEnding::Interrupted => "interrupted",
        };
        span.tell(|attributes| {
            attributes.set("gen_ai.response.finish_reasons", vec![reason.to_owned()])
        });
        span.complete();
    }
}
