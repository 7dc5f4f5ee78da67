//! Turn-taking and barge-in: the response that writes the conversation, responses outside it,
//! requested responses that have not started, and whether the caller speaks.
//!
//! A response may be requested only when all of these are idle.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use crate::realtime::events::TurnEvent;

/// A request that has neither started nor been rejected by then is lost.
const RESPONSE_START_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(super) struct OpenAiFloor {
    /// The response that writes the conversation.
    active: Option<ActiveResponse>,
    /// Responses outside the conversation, by id.
    asides: HashMap<String, ResponseOwner>,
    /// Requested, neither started nor rejected; oldest first.
    requested: VecDeque<(Instant, ResponseRequest)>,
    caller: OpenAiCaller,
    playback: Playback,
    turn: OpenAiTurn,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ActiveResponse {
    pub(super) id: String,
    pub(super) sight: ResponseVisibility,
    pub(super) ending: CancelRequester,
    /// Our answers that it cannot have seen.
    pub(super) missed: HashSet<String>,
    /// Its items that the client does not see, or not yet.
    pub(super) items: Vec<String>,
    /// Number of the utterance after which it began.
    pub(super) question: u64,
    /// Its first messages, until something of it can be heard.
    pub(super) withheld: Vec<String>,
    /// The client's request for it.
    pub(super) request: Option<HeldResponseRequest>,
    /// Unanswered calls of the client's tools in it.
    pub(super) calls: Vec<String>,
    /// Answers to them that the provider would reject before its end.
    pub(super) early: Vec<EarlyAnswer>,
}

impl ActiveResponse {
    pub(super) fn new(id: String, sight: ResponseVisibility, missed: HashSet<String>) -> Self {
        let ending = CancelRequester::Nobody;
        Self {
            id,
            sight,
            ending,
            missed,
            items: Vec::new(),
            question: 0,
            withheld: Vec::new(),
            request: None,
            calls: Vec::new(),
            early: Vec::new(),
        }
    }
}

impl ActiveResponse {
    /// Whether the client knows of it, or will.
    pub(super) fn is_seen(&self) -> bool {
        self.sight != ResponseVisibility::Hidden
    }

    pub(super) fn note_item(&mut self, id: &str) {
        if !self.items.iter().any(|known| known == id) {
            self.items.push(id.to_owned());
        }
    }
}

/// The client's answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EarlyAnswer {
    pub(super) call_id: String,
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseOwner {
    Ours,
    Others,
}

/// Whether the client sees a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseVisibility {
    Shown,
    /// Not yet: nothing of it was heard, and another model may answer in its place.
    Withheld,
    Hidden,
}

/// Which side requested to cancel a running response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CancelRequester {
    Nobody,
    Us,
    Client,
}

/// A requested response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResponseRequest {
    pub(super) event_id: String,
    pub(super) whose: ResponseOwner,
    pub(super) kind: ResponseKind,
    /// Its reason, to request it again if it is rejected.
    pub(super) want: PendingSpeech,
    /// The client's own request, to send it again if another model has to answer.
    pub(super) clients: Option<HeldResponseRequest>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseKind {
    Conversation,
    Aside,
}

/// A response that the client requests, and that is not sent yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeldResponseRequest {
    /// The client's event id, if it set one.
    pub(super) event_id: Option<String>,
    pub(super) response: Map<String, Value>,
}

/// Speech that the model still owes the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum PendingSpeech {
    #[default]
    Nothing,
    /// Speech about our answers.
    Reply,
    /// The answer of another model.
    Words,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum OpenAiCaller {
    #[default]
    Silent,
    Speaking,
}

/// Audio still playing, if the provider plays it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Playback {
    #[default]
    Silent,
    Playing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum OpenAiTurn {
    #[default]
    Over,
    /// The caller has finished, and there is no answer yet.
    Open,
    Answering,
}

impl OpenAiFloor {
    pub(super) fn active(&self) -> Option<&ActiveResponse> {
        self.active.as_ref()
    }

    pub(super) fn active_mut(&mut self) -> Option<&mut ActiveResponse> {
        self.active.as_mut()
    }

    /// Whether this answers a call of a running response; then it is held, once.
    pub(super) fn keep_early(&mut self, call_id: &str, text: &str) -> bool {
        let Some(active) = &mut self.active else { return false };
        let Some(at) = active.calls.iter().position(|known| known == call_id) else { return false };
        active.calls.swap_remove(at);
        active.early.push(EarlyAnswer { call_id: call_id.to_owned(), text: text.to_owned() });
        true
    }

    /// Another connection begins: it has no responses, and has not heard the caller. The turn goes
    /// on.
    pub(super) fn restart(&mut self) {
        let turn = self.turn;
        *self = Self { turn, ..Self::default() };
    }

    /// Whether the caller's last turn has no complete answer.
    pub(super) fn has_open_turn(&self) -> bool {
        self.turn != OpenAiTurn::Over
    }

    /// Returns the previous response, if its end was not reported.
    pub(super) fn begin(&mut self, response: ActiveResponse) -> Option<ActiveResponse> {
        self.active.replace(response)
    }

    /// Ends the response that writes the conversation, if it has this id.
    pub(super) fn end(&mut self, id: &str) -> Option<ActiveResponse> {
        self.active.take_if(|active| active.id == id)
    }

    pub(super) fn begin_aside(&mut self, id: &str, whose: ResponseOwner) {
        self.asides.insert(id.to_owned(), whose);
    }

    pub(super) fn end_aside(&mut self, id: &str) -> Option<ResponseOwner> {
        self.asides.remove(id)
    }

    pub(super) fn aside(&self, id: &str) -> Option<ResponseOwner> {
        self.asides.get(id).copied()
    }

    pub(super) fn our_aside(&self) -> Option<&str> {
        self.asides
            .iter()
            .find(|(_, whose)| **whose == ResponseOwner::Ours)
            .map(|(id, _)| id.as_str())
    }

    pub(super) fn is_hidden(&self, response_id: &str) -> bool {
        self.hidden_response().is_some_and(|hidden| hidden.id == response_id)
    }

    pub(super) fn hidden_response(&self) -> Option<&ActiveResponse> {
        self.active.as_ref().filter(|active| active.sight == ResponseVisibility::Hidden)
    }

    pub(super) fn ask(&mut self, request: ResponseRequest, now: Instant) {
        self.requested.push_back((now + RESPONSE_START_TIMEOUT, request));
    }

    /// Drops requests that were never answered.
    pub(super) fn time_passes(&mut self, now: Instant) {
        self.requested.retain(|(until, _)| now < *until);
    }

    pub(super) fn wakes(&self) -> Option<Instant> {
        self.requested.front().map(|(until, _)| *until)
    }

    pub(super) fn has_requested(&self, whose: ResponseOwner, kind: ResponseKind) -> bool {
        self.requested.iter().any(|(_, request)| request.whose == whose && request.kind == kind)
    }

    pub(super) fn oldest_requested(&self) -> Option<ResponseKind> {
        self.requested.front().map(|(_, request)| request.kind)
    }

    /// Removes the request with this id: it was rejected, or has started.
    pub(super) fn take_requested(&mut self, event_id: &str) -> Option<ResponseRequest> {
        let at = self.requested.iter().position(|(_, request)| request.event_id == event_id)?;
        self.requested.remove(at).map(|(_, request)| request)
    }

    /// Removes the oldest such request: it has started.
    pub(super) fn take_oldest_requested(
        &mut self,
        whose: ResponseOwner,
        kind: ResponseKind,
    ) -> Option<ResponseRequest> {
        let fits = |request: &ResponseRequest| request.whose == whose && request.kind == kind;
        let at = self.requested.iter().position(|(_, request)| fits(request))?;
        self.requested.remove(at).map(|(_, request)| request)
    }

    /// Requests of this kind made before a response ended were answered by then.
    pub(super) fn forget_requested(&mut self, kind: ResponseKind) {
        self.requested.retain(|(_, request)| request.kind != kind);
    }

    pub(super) fn set_caller(&mut self, caller: OpenAiCaller) {
        self.caller = caller;
    }

    pub(super) fn set_playback(&mut self, playback: Playback) {
        self.playback = playback;
    }

    pub(super) fn caller_speaks(&self) -> bool {
        self.caller == OpenAiCaller::Speaking
    }

    /// Nobody speaks, and no response is about to start.
    pub(super) fn is_free(&self) -> bool {
        self.active.is_none()
            && self.caller == OpenAiCaller::Silent
            && self.our_aside().is_none()
            && self.requested.iter().all(|(_, request)| {
                request.kind == ResponseKind::Aside && request.whose == ResponseOwner::Others
            })
    }

    /// Free, and all audio has been played.
    pub(super) fn is_quiet(&self) -> bool {
        self.is_free() && self.playback == Playback::Silent
    }

    /// The caller has finished a new utterance.
    pub(super) fn turn_taken(&mut self) -> Vec<TurnEvent> {
        let before = std::mem::replace(&mut self.turn, OpenAiTurn::Open);
        match before {
            OpenAiTurn::Over => vec![TurnEvent::Began],
            OpenAiTurn::Open | OpenAiTurn::Answering => vec![TurnEvent::Ended, TurnEvent::Began],
        }
    }

    /// Another model answers what was typed: the turn begins before its answer.
    pub(super) fn turn_awaited(&mut self) -> Option<TurnEvent> {
        if self.turn != OpenAiTurn::Over {
            return None;
        }
        self.turn = OpenAiTurn::Open;
        Some(TurnEvent::Began)
    }

    /// The model starts to answer.
    pub(super) fn turn_answered(&mut self) -> Option<TurnEvent> {
        let before = std::mem::replace(&mut self.turn, OpenAiTurn::Answering);
        (before == OpenAiTurn::Over).then_some(TurnEvent::Began)
    }

    pub(super) fn turn_interrupted(&mut self) -> Option<TurnEvent> {
        let before = std::mem::replace(&mut self.turn, OpenAiTurn::Over);
        (before != OpenAiTurn::Over).then_some(TurnEvent::Interrupted)
    }

    /// The model has finished. A turn without an answer stays open.
    pub(super) fn turn_ended(&mut self) -> Option<TurnEvent> {
        if self.turn != OpenAiTurn::Answering {
            return None;
        }
        self.turn = OpenAiTurn::Over;
        Some(TurnEvent::Ended)
    }
}
