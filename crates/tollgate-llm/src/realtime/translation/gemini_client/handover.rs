//! Hands a session over to a provider of the client's own protocol, and continues one that such a
//! provider had.

use std::time::Instant;

use serde_json::Value;

use super::{GeminiClient, SetupStage, TurnStage};
use crate::realtime::events::{DialectAction, RealtimeDialect as _, RealtimeFrame, SessionRestart};
use crate::realtime::handover::{ClientToolCall, SessionHandover};
use crate::realtime::openai::OpenAiRealtime;

impl GeminiClient {
    /// What a machine of the client's protocol needs. What the client has heard of a turn ends.
    pub(super) fn leave_session(
        &mut self,
        machine: &mut OpenAiRealtime,
        now: Instant,
    ) -> (SessionHandover, Vec<DialectAction>) {
        let (of_machine, mut actions) = machine.hand_over(now);
        let settings = Some(serde_json::json!({"setup": self.setup_fields}).to_string());
        if self.stage != SetupStage::Ready {
            let early = Some(Vec::new());
            return (SessionHandover { settings, early, ..SessionHandover::default() }, Vec::new());
        }
        actions.retain(|action| !matches!(action, DialectAction::ToClient(_)));
        match self.turn.stage {
            TurnStage::None => {}
            TurnStage::Open => self.interrupt_turn(),
            TurnStage::Finishing | TurnStage::Playing => self.complete_turn(),
        }
        let call =
            |(id, name): (String, String)| ClientToolCall { id, name, arguments: "{}".to_owned() };
        let owes_answer =
            of_machine.owes_answer || self.request.is_wanted || self.request.requested.is_some();
        let client_calls = self.calls.drain().map(call).collect();
        (SessionHandover { settings, client_calls, owes_answer, ..of_machine }, actions)
    }

    /// Begins at OpenAI with what a machine of the client's protocol has handed over.
    pub(super) fn continue_session(
        &mut self,
        machine: &mut OpenAiRealtime,
        mut handover: SessionHandover,
        restart: &SessionRestart,
        now: Instant,
    ) -> Vec<DialectAction> {
        let setup = handover.settings.take().unwrap_or_default();
        self.read_client_message(RealtimeFrame::Text(&setup));
        // It is sent with the other settings of the session.
        for update in self.sent.drain(..) {
            if let Some(Value::Object(session)) = update.get("session") {
                machine.adopt_settings(session);
            }
        }
        self.stage = SetupStage::Ready;
        let calls = handover.client_calls.drain(..);
        self.lost_calls.extend(calls.map(|call| (call.id, call.name)));
        machine.take_over(handover, restart, now)
    }
}
