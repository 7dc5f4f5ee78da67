//! Usage of a session: charges what the observer sees and the clock counts, and ends the session at
//! the end of a turn when a limit leaves no room for another one.

use std::time::{Duration, Instant};

use serde_json::json;
use tollgate_core::model_usage::{ModelLimitExceededError, SpeechTotals};
use tollgate_engine::audit::{AuditAction, Decision};
use tollgate_engine::model_usage::{ModelTokens, SessionCharge, SessionModel, SessionUsageMeter};

use super::super::events::CloseReason;
use super::super::observer::{ObservedUsage, UsedModel, millis};
use super::super::protocol::RealtimeProtocol;
use super::super::wire::{close, code};
use super::{DriverCommand, RealtimeSession};

/// Time of a connection is charged this often, and limits are looked at.
const CHARGE_INTERVAL: Duration = Duration::from_secs(10);
/// How long a turn may go on when a limit is reached: no word is cut.
const TURN_GRACE: Duration = Duration::from_secs(20);

pub(super) struct SessionUsage {
    meter: SessionUsageMeter,
    /// Until here time is charged.
    charged: Instant,
    /// Audio since then.
    input_audio: Duration,
    output_audio: Duration,
    /// When the client will have played what it was sent, if it plays at once.
    played: Instant,
    ending: Option<LimitEnding>,
}

/// A session that ends because of a limit.
struct LimitEnding {
    latest: Instant,
    reason: String,
}

impl SessionUsage {
    pub(super) fn new(meter: SessionUsageMeter, now: Instant) -> Self {
        Self {
            meter,
            charged: now,
            input_audio: Duration::ZERO,
            output_audio: Duration::ZERO,
            played: now,
            ending: None,
        }
    }

    pub(super) fn note_heard(&mut self, audio: Duration) {
        self.input_audio += audio;
    }

    /// Audio that goes to the client.
    pub(super) fn note_spoken(&mut self, audio: Duration, now: Instant) {
        self.output_audio += audio;
        self.played = self.played.max(now) + audio;
    }

    /// The client stops playing when it is interrupted.
    pub(super) fn stop_playing(&mut self, now: Instant) {
        self.played = now;
    }

    pub(super) fn wakes(&self, is_in_turn: bool) -> Instant {
        match &self.ending {
            Some(ending) if is_in_turn => ending.latest,
            Some(ending) => self.played.min(ending.latest),
            None => self.charged + CHARGE_INTERVAL,
        }
    }

    /// What has passed since the last charge.
    fn take_time(&mut self, now: Instant) -> SessionCharge {
        let live = now.saturating_duration_since(self.charged);
        self.charged = now;
        let speech = SpeechTotals {
            heard_ms: millis(std::mem::take(&mut self.input_audio)),
            spoken_ms: millis(std::mem::take(&mut self.output_audio)),
            live_ms: millis(live),
            ..SpeechTotals::default()
        };
        SessionCharge { requests: 0, tokens: ModelTokens { speech, ..ModelTokens::default() } }
    }

    /// Whether the session is to be closed now.
    fn is_due(&self, is_in_turn: bool, now: Instant) -> bool {
        let Some(ending) = &self.ending else { return false };
        now >= ending.latest || (!is_in_turn && now >= self.played)
    }
}

impl RealtimeSession {
    /// Charges what the provider counted.
    pub(super) fn charge(&mut self, used: &ObservedUsage, now: Instant) {
        let model = &self.session_request.model.settings;
        let model = match &used.model {
            UsedModel::OfSession => SessionModel { name: &model.name, id: &model.id },
            UsedModel::Other(id) => SessionModel { name: id, id },
        };
        self.usage.meter.charge(model, &used.charge);
        self.charge_time(0, now);
    }

    /// Charges the time since the last charge, and turns that nobody else counts.
    pub(super) fn charge_time(&mut self, requests: u64, now: Instant) {
        let charge = SessionCharge { requests, ..self.usage.take_time(now) };
        let model = &self.session_request.model.settings;
        let model = SessionModel { name: &model.name, id: &model.id };
        self.usage.meter.charge(model, &charge);
        let totals = *self.usage.meter.totals();
        self.session_registry.update_status(&self.facts, |standing| standing.usage = totals);
        if self.usage.ending.is_none()
            && let Err(exceeded) = self.usage.meter.check(model)
        {
            self.end_at_limit(&exceeded, now);
        }
    }

    /// Called after everything that happens in a session.
    pub(super) fn watch_usage(&mut self, now: Instant) {
        if now >= self.usage.charged + CHARGE_INTERVAL {
            self.charge_time(0, now);
        }
        if self.usage.is_due(self.call_progress.is_in_turn(), now)
            && let Some(LimitEnding { reason, .. }) = self.usage.ending.take()
        {
            self.outbox.extend(self.limit_error(&reason).map(DriverCommand::ToClient));
            let with = limit_close(&reason);
            self.outbox.push_back(DriverCommand::Close(with));
        }
    }

    fn end_at_limit(&mut self, exceeded: &ModelLimitExceededError, now: Instant) {
        let reason = exceeded.to_string();
        let party = &self.session_request.party;
        let row = Decision::new(AuditAction::Session, &party.principal, "limited");
        let row = row.agent(&self.facts.agent).about(&self.facts.id).because(&reason);
        self.session_registry.gate.ledger().note_later(row);
        tracing::info!(session = %self.facts.id, %reason, "a session ends at its limit");
        self.usage.ending = Some(LimitEnding { latest: now + TURN_GRACE, reason });
    }

    /// For clients that show errors and no close reasons.
    fn limit_error(&self, reason: &str) -> Option<tokio_tungstenite::tungstenite::Message> {
        let error = match self.session_request.live {
            RealtimeProtocol::OpenAi
            | RealtimeProtocol::OpenAiSideband
            | RealtimeProtocol::GptLive => json!({
                "type": "error",
                "event_id": format!("event_{:016x}", rand::random::<u64>()),
                "error": {
                    "type": "rate_limit_error", "code": "model_limit_exceeded",
                    "message": reason, "param": null, "event_id": null,
                },
            }),
            RealtimeProtocol::Gemini | RealtimeProtocol::Deepgram => return None,
        };
        Some(tokio_tungstenite::tungstenite::Message::text(error.to_string()))
    }
}

/// How a session ends that its limits do not permit.
pub(in super::super) fn limit_close(reason: &str) -> CloseReason {
    close(code::TRY_LATER, format!("model_limit_exceeded: {reason}"))
}
