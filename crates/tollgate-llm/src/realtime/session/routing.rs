//! Routing of turns to another model: decides by the caller's words as they arrive, and tells the
//! state machine; announces a model that takes its time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tollgate_core::agent::RequestedTier;
use tollgate_core::tier_selector::TierChoice;
use tollgate_core::tool::SlowResponse;
use tollgate_core::turn::Turn;

use super::super::events::{DialectEvent, NoDeepAnswerError, UtteranceStage};
use super::{RealtimeSession, SlowCallNotice};
use crate::agent::{CompletionEvent, CompletionOutcome, CompletionSink, PreparedCompletion};
use crate::gateway_report::StreamNote;
use crate::routing::{self, CascadeReason, TurnRoute};

/// How long a caller waits for an answer of another model.
const CASCADE_TIMEOUT: Duration = Duration::from_secs(20);

/// Events of the other model that were not read yet.
const MAX_QUEUED_EVENTS: usize = 64;

/// State of the routing of a session.
#[derive(Debug, Default)]
pub(super) struct RoutingProgress {
    /// What the state machine was told.
    hold: Option<Duration>,
    /// Why the utterance needs another model.
    reason: Option<String>,
    /// Its unfinished transcript has shown that already.
    is_known: bool,
}

impl RoutingProgress {
    /// Another utterance begins, or has ended.
    pub(super) fn next(&mut self) {
        self.is_known = false;
    }

    pub(super) fn take_reason(&mut self) -> Option<String> {
        self.reason.take()
    }
}

impl RealtimeSession {
    /// Tells the state machine whether turns can be routed, if that has changed.
    pub(super) fn update_hold(&mut self, now: Instant) {
        let hold = self.hold();
        if hold != self.call_progress.routing.hold {
            self.call_progress.routing.hold = hold;
            self.send_event(DialectEvent::Hold(hold), now);
        }
    }

    /// How long the realtime model may be kept from answering; `None`: the agent has no tool that
    /// only the other model can wait for.
    fn hold(&self) -> Option<Duration> {
        let ceiling = self.call_progress.ceiling?;
        let party = &self.session_request.party;
        let insisted = self.call_progress.insisted;
        let here = match insisted {
            Some(tier) => party.tier_override(tier.min(ceiling)),
            None => RequestedTier::Selected(ceiling),
        };
        let beyond = insisted.map_or(RequestedTier::Ceiling, |tier| party.tier_override(tier));
        let here = self.view_at(here)?;
        let beyond = self.view_at(beyond)?;
        let can_route = !slower_tools(&here, &beyond).is_empty();
        can_route.then_some(self.session_request.agent.persona.deep_turns.hold)
    }

    /// Routes an utterance to the other model if it needs tools that the realtime model cannot wait
    /// for.
    pub(super) fn route(&mut self, choice: &TierChoice, form: UtteranceStage, now: Instant) {
        if self.call_progress.ceiling.is_none() {
            return;
        }
        if form == UtteranceStage::Partial && self.call_progress.routing.is_known {
            return;
        }
        let why = self.cascade_reason(choice);
        self.call_progress.routing.is_known = why.is_some() && form == UtteranceStage::Partial;
        match (why, form) {
            (Some(why), _) => {
                self.call_progress.routing.reason = Some(why.to_string());
                self.send_event(DialectEvent::Route, now);
            }
            (None, UtteranceStage::Final) => self.send_event(DialectEvent::Stay, now),
            (None, UtteranceStage::Partial) => {}
        }
    }

    fn cascade_reason(&self, choice: &TierChoice) -> Option<CascadeReason> {
        let ceiling = self.call_progress.ceiling.filter(|ceiling| choice.tier > *ceiling)?;
        let party = &self.session_request.party;
        let here = self.view_at(self.call_progress.wish(party))?;
        let beyond = self.view_at(self.call_progress.wish_beyond(party))?;
        let slower = slower_tools(&here, &beyond);
        let spoken = routing::SpokenTurn { choice, ceiling, slower: &slower };
        match routing::route(&spoken) {
            TurnRoute::Cascaded { why } => Some(why),
            TurnRoute::Realtime => None,
        }
    }

    fn view_at(&self, wish: RequestedTier) -> Option<Turn> {
        let party = &self.session_request.party;
        self.session_registry.gate.turn(party.turn_request(wish)).ok()
    }
}

fn slower_tools<'t>(here: &Turn, beyond: &'t Turn) -> Vec<&'t str> {
    let names = beyond.view.tools().iter().map(|tool| tool.exposed.as_str());
    names.filter(|name| here.view.tool(name).is_none()).collect()
}

/// Where announcements of a slow turn go.
pub(super) struct SlowTurnNotices {
    /// The agent's own announcement.
    pub(super) opener: Option<SlowResponse>,
    pub(super) sender: mpsc::Sender<SlowCallNotice>,
}

impl SlowTurnNotices {
    fn announce(&self, message: Arc<str>) {
        // If the queue is full, the announcement is dropped.
        let _ = self.sender.try_send(SlowCallNotice { call: None, message });
    }
}

/// Runs the other model. Dropping the future cancels its work.
pub(super) async fn run_deep_turn(
    prepared: PreparedCompletion,
    notices: SlowTurnNotices,
) -> Result<CompletionOutcome, NoDeepAnswerError> {
    let (sink, mut events) = CompletionSink::new(MAX_QUEUED_EVENTS);
    let answer = tokio::time::timeout(CASCADE_TIMEOUT, prepared.run(Some(sink)));
    let mut answer = std::pin::pin!(answer);
    let mut opener = std::pin::pin!(async {
        match &notices.opener {
            Some(opener) => {
                tokio::time::sleep(opener.threshold).await;
                Arc::clone(&opener.message)
            }
            None => std::future::pending().await,
        }
    });
    let mut is_opener_due = true;
    loop {
        tokio::select! {
            answer = &mut answer => {
                let answer = answer.map_err(|_| NoDeepAnswerError::Timeout)?;
                return answer.map_err(NoDeepAnswerError::Failed);
            }
            Some(event) = events.recv() => {
                if let CompletionEvent::Note(StreamNote::Announcement(message)) = *event {
                    notices.announce(message.into());
                }
            }
            message = &mut opener, if is_opener_due => {
                is_opener_due = false;
                notices.announce(message);
            }
        }
    }
}
