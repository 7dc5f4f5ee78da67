//! Deep turns, which another model answers: keeps the realtime model back until it is known who
//! answers, and withholds a response until something of it can be heard, so that the caller hears
//! exactly one answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tollgate_core::json::Object;

use super::OpenAiRealtime;
use super::floor::{
    PendingSpeech, ResponseKind, ResponseOwner, ResponseRequest, ResponseVisibility,
};
use super::question::{QuestionState, QuestionStep, ResponseRequester};
use super::speech_queue::{DeepAnswer, Opener};
use crate::realtime::events::{DialectAction, DialectStep, MessageFate, UtteranceStage};
use crate::realtime::json_peek::{self, JsonPeek};

impl OpenAiRealtime {
    /// Turns can be routed from now on, or no longer.
    pub(super) fn set_hold(&mut self, hold: Option<Duration>, out: &mut Vec<DialectAction>) {
        self.hold = hold;
        self.config.turn_detection.want_hold(hold.is_some_and(|hold| !hold.is_zero()));
        self.declare_hold(out);
    }

    pub(super) fn declare_hold(&mut self, out: &mut Vec<DialectAction>) {
        let update = self.config.declare_hold(&mut self.post);
        out.extend(update.map(DialectAction::ToProvider));
    }

    /// The caller's utterance is complete.
    pub(super) fn begin_question(
        &mut self,
        item: Option<&str>,
        now: Instant,
        out: &mut Vec<DialectAction>,
    ) {
        let asks = self.config.requester(self.floor.active().is_some());
        let detection = &self.config.turn_detection;
        let hold = self.hold.filter(|_| detection.transcribes());
        let is_unsure = asks == ResponseRequester::Provider && detection.is_changing();
        let step = self.question.begin_spoken(item, asks, hold, now);
        if is_unsure {
            self.question.expect_response(now);
        }
        self.take_step(step, now, out);
    }

    pub(super) fn take_step(
        &mut self,
        step: QuestionStep,
        now: Instant,
        out: &mut Vec<DialectAction>,
    ) {
        match step {
            QuestionStep::Nothing => return,
            QuestionStep::KeepBack => {
                let is_requested = self.keep_back(out) || self.speech_queue.held.is_some();
                if is_requested && self.question.state == QuestionState::DeepOnRequest {
                    self.delegate(out);
                }
            }
            QuestionStep::Delegate => self.delegate(out),
            QuestionStep::Release => {
                if self.question.state == QuestionState::Settled {
                    self.reveal(out);
                }
                if self.question.take_request() {
                    self.speech_queue.wants_reply();
                }
            }
            QuestionStep::Conclude => return self.conclude_question(now, out),
        }
        self.settle(now, out);
    }

    /// The rest of a transcript did not come: the session decides by what there is of it.
    fn conclude_question(&mut self, now: Instant, out: &mut Vec<DialectAction>) {
        let item = self.question.item().map(str::to_owned);
        let heard = item.as_deref().and_then(|item| self.transcripts.remove(item));
        let heard = heard.filter(|text| !text.trim().is_empty());
        let step = self.question.conclude(heard.as_deref(), now);
        if let (Some(item), Some(text)) = (item, heard) {
            self.concluded.insert(&item);
            out.push(DialectAction::CallerSpeech { text, form: UtteranceStage::Final });
        }
        self.take_step(step, now, out);
    }

    /// What the session heard last needs another model.
    pub(super) fn route(&mut self, now: Instant, out: &mut Vec<DialectAction>) {
        let step = self.question.route(now);
        self.take_step(step, now, out);
    }

    pub(super) fn stay(&mut self, now: Instant, out: &mut Vec<DialectAction>) {
        let step = self.question.stay();
        self.take_step(step, now, out);
    }

    pub(super) fn question_time(&mut self, now: Instant, out: &mut Vec<DialectAction>) {
        let step = self.question.time_passes(now);
        self.take_step(step, now, out);
        if self.question.take_missing(now) && self.floor.active().is_none() {
            self.speech_queue.wants_reply();
        }
    }

    /// Lets the other model answer.
    pub(super) fn delegate(&mut self, out: &mut Vec<DialectAction>) {
        self.question.delegate();
        // Its work is part of a turn, which can be interrupted.
        out.extend(self.floor.turn_awaited().map(DialectAction::Turn));
        out.push(DialectAction::Delegate);
        self.speech_queue.deep = DeepAnswer::Awaited;
        self.keep_back(out);
        out.extend(self.calls.abandon().into_iter().map(DialectAction::Cancel));
    }

    /// Ends a response of which nothing was heard, unseen. One that was heard, to an earlier
    /// utterance, is left to its end. `true`: the client requested a response, and is owed one.
    fn keep_back(&mut self, out: &mut Vec<DialectAction>) -> bool {
        let is_requested =
            self.floor.has_requested(ResponseOwner::Others, ResponseKind::Conversation);
        let Some(active) = self.floor.active_mut() else { return is_requested };
        if active.sight != ResponseVisibility::Withheld {
            return is_requested;
        }
        active.sight = ResponseVisibility::Hidden;
        active.withheld.clear();
        active.items.iter().for_each(|item| self.items.hide(item));
        let request = active.request.take();
        self.stop_active(out);
        let is_clients = request.is_some();
        match request {
            Some(request) => {
                self.speech_queue.held.get_or_insert(request);
            }
            None => self.question.owe_response(),
        }
        is_requested || is_clients
    }

    /// Shows the client a response that was withheld.
    pub(super) fn reveal(&mut self, out: &mut Vec<DialectAction>) {
        out.extend(self.take_withheld().into_iter().map(DialectAction::ToClient));
    }

    /// The messages of a response that is no longer withheld.
    pub(super) fn take_withheld(&mut self) -> Vec<String> {
        match self.floor.active_mut() {
            Some(active) if active.sight == ResponseVisibility::Withheld => {
                active.sight = ResponseVisibility::Shown;
                active.items.clear();
                std::mem::take(&mut active.withheld)
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// Withholds a message of a response of which nothing was heard yet, or reveals the response.
    pub(super) fn withhold(&mut self, kind: &str, text: &str, step: DialectStep) -> DialectStep {
        let Some(active) = self.floor.active_mut() else { return step };
        if active.sight != ResponseVisibility::Withheld {
            return step;
        }
        let DialectStep { fate, mut actions } = step;
        let message = match &fate {
            MessageFate::Forward => text,
            MessageFate::Replace(text) => text,
            MessageFate::Swallow => return DialectStep { fate, actions },
        };
        match ResponsePart::of(kind, text, &active.id) {
            ResponsePart::None => return DialectStep { fate, actions },
            ResponsePart::Silent => {
                active.withheld.push(message.to_owned());
                return DialectStep { fate: MessageFate::Swallow, actions };
            }
            ResponsePart::Audible => self.question.settle(),
            ResponsePart::Neighbour => {}
        }
        let fate = send_behind(self.take_withheld(), fate, text, &mut actions);
        DialectStep { fate, actions }
    }

    // === an opener ===

    /// The other model is slow: says so, once.
    pub(super) fn announce_turn(
        &mut self,
        words: Arc<str>,
        now: Instant,
        out: &mut Vec<DialectAction>,
    ) {
        if self.speech_queue.deep == DeepAnswer::Awaited && self.speech_queue.opener == Opener::None
        {
            self.speech_queue.opener = Opener::Due(words);
            self.speak_opener(now, out);
        }
    }

    /// Speaks the opener outside the conversation, when nobody else speaks.
    pub(super) fn speak_opener(&mut self, now: Instant, out: &mut Vec<DialectAction>) {
        if self.speech_queue.deep != DeepAnswer::Awaited || !self.floor.is_quiet() {
            return;
        }
        let Opener::Due(words) = &self.speech_queue.opener else { return };
        let (text, event_id) = self.post.announce(words);
        self.speech_queue.opener = Opener::Spoken;
        out.push(DialectAction::ToProvider(text));
        self.floor.ask(
            ResponseRequest {
                event_id,
                whose: ResponseOwner::Ours,
                kind: ResponseKind::Aside,
                want: PendingSpeech::Nothing,
                clients: None,
            },
            now,
        );
    }
}

/// Sends messages to the client before the one that is being handled.
pub(super) fn send_behind(
    before: Vec<String>,
    fate: MessageFate,
    text: &str,
    out: &mut Vec<DialectAction>,
) -> MessageFate {
    if before.is_empty() {
        return fate;
    }
    let message = match fate {
        MessageFate::Forward => Some(text.to_owned()),
        MessageFate::Replace(text) => Some(text),
        MessageFate::Swallow => None,
    };
    out.splice(0..0, before.into_iter().chain(message).map(DialectAction::ToClient));
    MessageFate::Swallow
}

/// What a message is to a response that is withheld.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResponsePart {
    /// It neither belongs to the response nor refers to its items.
    None,
    /// A part of its beginning that nobody can hear.
    Silent,
    /// The caller hears it, or the client has to act on it.
    Audible,
    /// It may refer to the response's items.
    Neighbour,
}

impl ResponsePart {
    fn of(kind: &str, text: &str, response_id: &str) -> Self {
        if kind.starts_with("conversation.item.input_audio_transcription.") {
            return Self::None;
        }
        if kind.starts_with("conversation.item.") || kind == "input_audio_buffer.committed" {
            let is_added = matches!(kind, "conversation.item.added" | "conversation.item.created");
            let is_agents = is_added && item_field(text, "role").as_deref() == Some("assistant");
            return if is_agents { Self::Silent } else { Self::Neighbour };
        }
        if kind == "output_audio_buffer.started" {
            return Self::Audible;
        }
        if !kind.starts_with("response.") || !is_about(text, response_id) {
            return Self::None;
        }
        match kind {
            "response.created" | "response.content_part.added" => Self::Silent,
            "response.output_item.added"
                if item_field(text, "type").as_deref() != Some("function_call") =>
            {
                Self::Silent
            }
            _ => Self::Audible,
        }
    }
}

fn item_field(text: &str, field: &str) -> Option<String> {
    let message = Object::parse(text).ok()?;
    message.object("item")?.string(field).map(String::from)
}

/// Whether a message is about this response.
fn is_about(text: &str, response_id: &str) -> bool {
    match json_peek::peek_string(text, "response_id") {
        JsonPeek::Is(id) => id == response_id,
        JsonPeek::Missing | JsonPeek::Unclear => Object::parse(text)
            .ok()
            .and_then(|message| message.object("response")?.string("id").map(String::from))
            .is_some_and(|id| id == response_id),
    }
}
