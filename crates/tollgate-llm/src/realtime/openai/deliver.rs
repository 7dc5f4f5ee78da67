//! Delivery of our messages: answers are sent at once; a response is requested only when nobody
//! speaks and no other response runs, one for all waiting answers. Also handles what a barge-in
//! cancels.

use std::time::Instant;

use serde_json::{Value, json};
use tollgate_core::json::Object;

use super::OpenAiRealtime;
use super::calls::{AfterAnswer, AnswerItemKind, DueAnswer, OpenAiCallRequest};
use super::config::ConnectionRole;
use super::floor::{
    CancelRequester, HeldResponseRequest, PendingSpeech, ResponseKind, ResponseOwner,
    ResponseRequest,
};
use super::late_results::PostedLateResult;
use super::speech_queue::{DeepAnswer, SpeechUrgency};
use super::wire::{self, OutboxPurpose};
use crate::realtime::events::{AnswerStage, CallAnswer, DialectAction, NoDeepAnswerError};
use tollgate_core::tool::ResultDelivery;

/// Name of the call that carries another model's answer to the voice model.
const ANSWER_CALL_NAME: &str = "answer";

impl OpenAiRealtime {
    /// Declares our tools after the first message of the provider.
    pub(super) fn declare_first(&mut self, kind: &str, now: Instant) -> Option<DialectAction> {
        if self.config.is_declared() && self.config.role() == ConnectionRole::Holder {
            return None;
        }
        let text = match (self.config.role(), kind) {
            (ConnectionRole::Holder, _)
            | (ConnectionRole::Sideband, "session.created" | "session.updated") => {
                self.config.declare(&mut self.post, now)?
            }
            (ConnectionRole::Sideband, _) => self.config.inquire(&mut self.post),
        };
        Some(DialectAction::ToProvider(text))
    }

    pub(super) fn declare_due(&mut self, now: Instant, out: &mut Vec<DialectAction>) {
        if self.config.is_other_side_known() && self.config.due().is_some_and(|due| due <= now) {
            let text = self.config.declare(&mut self.post, now);
            out.extend(text.map(DialectAction::ToProvider));
        }
    }

    pub(super) fn answer(
        &mut self,
        answer: CallAnswer,
        now: Instant,
        out: &mut Vec<DialectAction>,
    ) {
        if let Some(due) = self.calls.answer(answer) {
            self.post_due(due, now, out);
        }
        self.settle(now, out);
    }

    pub(super) fn post_due(&mut self, due: DueAnswer, now: Instant, out: &mut Vec<DialectAction>) {
        let DueAnswer { call_id, outcome, means, then, answered } = due;
        match means {
            AnswerItemKind::Output => self.post_output(&call_id, &outcome, then, now, out),
            AnswerItemKind::Pair { name, arguments } => {
                let number = self.late_results.next();
                let late = PostedLateResult { call_id, name, arguments, outcome, then };
                let posted = self.post_pair(late, OutboxPurpose::LateResult(number), now, out);
                self.late_results.insert(number, posted);
            }
        }
        if answered == AnswerStage::Late {
            out.push(DialectAction::LateTold);
        }
    }

    fn post_output(
        &mut self,
        call_id: &str,
        outcome: &str,
        then: AfterAnswer,
        now: Instant,
        out: &mut Vec<DialectAction>,
    ) {
        let text = self.post.output(call_id, outcome, OutboxPurpose::Other);
        out.push(DialectAction::ToProvider(text));
        self.speech_queue.note_posted_answer(call_id, then, now);
    }

    /// Posts a result as the output of a new call of our own; returns it under that call's id.
    fn post_pair(
        &mut self,
        late: PostedLateResult,
        purpose: OutboxPurpose,
        now: Instant,
        out: &mut Vec<DialectAction>,
    ) -> PostedLateResult {
        let call_id = self.post_call(&late.name, &late.arguments, purpose, out);
        let text = self.post.output(&call_id, &late.outcome, purpose);
        out.push(DialectAction::ToProvider(text));
        self.speech_queue.note_posted_answer(&call_id, late.then, now);
        PostedLateResult { call_id, ..late }
    }

    /// The provider refused a part of a late result: posts it once more.
    fn post_pair_again(&mut self, number: u64, now: Instant, out: &mut Vec<DialectAction>) {
        let Some(refused) = self.late_results.take_refused(number) else { return };
        self.speech_queue.confirm_answer(&refused.call_id);
        self.post_pair(refused, OutboxPurpose::Other, now, out);
    }

    /// Creates a call of our own; returns its id.
    fn post_call(
        &mut self,
        name: &str,
        arguments: &str,
        purpose: OutboxPurpose,
        out: &mut Vec<DialectAction>,
    ) -> String {
        let call_id = self.post.call_id();
        let made = OpenAiCallRequest {
            response: "",
            name,
            arguments: "",
            delivery: ResultDelivery::Silent,
        };
        self.calls.insert_answered(&call_id, &made);
        let text = self.post.call(&call_id, name, arguments, purpose);
        out.push(DialectAction::ToProvider(text));
        call_id
    }

    /// The caller interrupted the turn.
    pub(super) fn barge_in(&mut self, out: &mut Vec<DialectAction>) {
        out.extend(self.floor.turn_interrupted().map(DialectAction::Turn));
        out.extend(self.calls.abandon().into_iter().map(DialectAction::Cancel));
        self.speech_queue.drop_all();
    }

    /// Requests whatever response can be requested now.
    pub(super) fn settle(&mut self, now: Instant, out: &mut Vec<DialectAction>) {
        self.break_off(out);
        if !self.floor.is_free() || self.calls.any_waiting() || self.question.is_undecided() {
            return;
        }
        if self.speech_queue.deep == DeepAnswer::Awaited {
            return self.speak_opener(now, out);
        }
        if self.speech_queue.deep == DeepAnswer::Given && self.speech_queue.speaking.is_none() {
            self.speech_queue.want = PendingSpeech::Words;
        }
        if self.speech_queue.is_nothing() {
            out.extend(self.floor.turn_ended().map(DialectAction::Turn));
            self.config.give_back();
            return;
        }
        if self.speech_queue.must_wait(now) {
            return;
        }
        if let Some(held) = self.speech_queue.held.take() {
            self.ask_for_client(held, now, out);
        } else if self.speech_queue.want != PendingSpeech::Nothing {
            let want = self.speech_queue.take();
            let requested = match want {
                PendingSpeech::Words => wire::speech_response(self.config.manner().as_deref()),
                PendingSpeech::Reply | PendingSpeech::Nothing => match self.earlier.notice.take() {
                    Some(notice) => wire::notice_response(self.config.manner().as_deref(), &notice),
                    None => json!({}),
                },
            };
            let (text, event_id) = self.post.create(requested);
            if want == PendingSpeech::Words {
                self.speech_queue.speaking = Some(event_id.clone());
            }
            out.push(DialectAction::ToProvider(text));
            let whose = ResponseOwner::Ours;
            let kind = ResponseKind::Conversation;
            let clients = None;
            self.floor.ask(ResponseRequest { event_id, whose, kind, want, clients }, now);
        }
    }

    /// Sends the client's held request; its response covers our answers too.
    fn ask_for_client(
        &mut self,
        held: HeldResponseRequest,
        now: Instant,
        out: &mut Vec<DialectAction>,
    ) {
        let want = self.speech_queue.take();
        // Another model may still have to answer it.
        let clients = self.question.is_open().then(|| held.clone());
        let mut response = held.response;
        if want == PendingSpeech::Words
            && let Value::Object(speaking) = wire::speech_response(self.config.manner().as_deref())
        {
            response.extend(speaking);
        }
        let event_id = held.event_id.unwrap_or_else(|| self.post.id(OutboxPurpose::ClientUnnamed));
        if want == PendingSpeech::Words {
            self.speech_queue.speaking = Some(event_id.clone());
        }
        let mut message = json!({ "type": "response.create", "event_id": event_id });
        if !response.is_empty() {
            message["response"] = response.into();
        }
        out.push(DialectAction::ToProvider(message.to_string()));
        let whose = ResponseOwner::Others;
        let kind = ResponseKind::Conversation;
        self.floor.ask(ResponseRequest { event_id, whose, kind, want, clients }, now);
    }

    /// Interrupts the model's speech for an urgent answer, while the caller is silent.
    fn break_off(&mut self, out: &mut Vec<DialectAction>) {
        if self.speech_queue.urgency != SpeechUrgency::BreakOff || self.floor.caller_speaks() {
            return;
        }
        self.speech_queue.urgency = SpeechUrgency::WhenIdle;
        self.stop_active(out);
    }

    pub(super) fn stop_active(&mut self, out: &mut Vec<DialectAction>) {
        if let Some(active) = self.floor.active_mut()
            && active.ending == CancelRequester::Nobody
        {
            active.ending = CancelRequester::Us;
            out.push(DialectAction::ToProvider(self.post.cancel(&active.id)));
        }
    }

    /// Announces a slow call, only if nobody speaks.
    pub(super) fn announce(
        &mut self,
        id: &str,
        words: &str,
        now: Instant,
        out: &mut Vec<DialectAction>,
    ) {
        if !self.calls.is_awaited(id)
            || !self.floor.is_quiet()
            || self.speech_queue.want != PendingSpeech::Nothing
        {
            return;
        }
        let (text, event_id) = self.post.announce(words);
        out.push(DialectAction::ToProvider(text));
        let whose = ResponseOwner::Ours;
        let kind = ResponseKind::Aside;
        let want = PendingSpeech::Nothing;
        self.floor.ask(ResponseRequest { event_id, whose, kind, want, clients: None }, now);
    }

    pub(super) fn speak(
        &mut self,
        words: Result<String, NoDeepAnswerError>,
        now: Instant,
        out: &mut Vec<DialectAction>,
    ) {
        if self.speech_queue.deep != DeepAnswer::Awaited {
            return;
        }
        match words {
            Ok(text) => {
                let purpose = OutboxPurpose::Other;
                let call_id = self.post_call(ANSWER_CALL_NAME, "{}", purpose, out);
                let output = json!({ "status": "ok", "answer": text }).to_string();
                let output = self.post.output(&call_id, &output, purpose);
                out.push(DialectAction::ToProvider(output));
                self.speech_queue.deep = DeepAnswer::Given;
                self.speech_queue.speaking = None;
                self.speech_queue.want = PendingSpeech::Words;
            }
            Err(_) => {
                self.question.settle();
                self.speech_queue.deep = DeepAnswer::No;
                self.speech_queue.wants_reply();
            }
        }
        self.settle(now, out);
    }

    /// Handles an error of the provider about a request, and decides whether the client sees it.
    pub(super) fn handle_refusal(
        &mut self,
        error: &Object<'_>,
        now: Instant,
        out: &mut Vec<DialectAction>,
    ) -> ErrorVisibility {
        let event_id = error.string("event_id").unwrap_or_default();
        let code = error.string("code").unwrap_or_default();
        let purpose = self.post.take_purpose(&event_id);
        self.config.on_update_refused(&event_id, purpose);
        let request = self.floor.take_requested(&event_id);
        self.speech_queue.speaking.take_if(|speaking| *speaking == event_id);
        let is_race = code == "conversation_already_has_active_response";
        // Another response may have ended meanwhile, which drops the state of this request.
        let wanted =
            request.map(|request| request.want).or(match (self.speech_queue.deep, purpose) {
                (DeepAnswer::Given, _) => Some(PendingSpeech::Words),
                (_, Some(OutboxPurpose::Create)) => Some(PendingSpeech::Reply),
                _ => None,
            });
        if let Some(wanted) = wanted.filter(|_| is_race) {
            let knows = self.floor.active().is_some_and(|active| active.missed.is_empty());
            match wanted {
                PendingSpeech::Words => self.speech_queue.want = PendingSpeech::Words,
                PendingSpeech::Reply if !knows => self.speech_queue.wants_reply(),
                PendingSpeech::Reply | PendingSpeech::Nothing => {}
            }
            if self.floor.active().is_none() {
                self.speech_queue.give_way(now);
            }
        }
        let heed = match purpose {
            None => ErrorVisibility::AsItIs,
            Some(OutboxPurpose::ClientUnnamed) => ErrorVisibility::Unnamed,
            Some(OutboxPurpose::Create) if !is_race => {
                self.speech_queue.deep = DeepAnswer::No;
                ErrorVisibility::Unnamed
            }
            Some(OutboxPurpose::TurnDetection) => {
                let message = error.string("message").unwrap_or_default();
                tracing::warn!(%code, %message, "the provider does not leave responses to the gateway");
                ErrorVisibility::Not
            }
            Some(OutboxPurpose::Update) => {
                let message = error.string("message").unwrap_or_default();
                tracing::warn!(%code, %message, "the provider rejected the tool declarations");
                ErrorVisibility::Not
            }
            Some(OutboxPurpose::LateResult(number)) => {
                let message = error.string("message").unwrap_or_default();
                tracing::warn!(%code, %message, "the provider rejected a late result");
                self.post_pair_again(number, now, out);
                ErrorVisibility::Not
            }
            Some(OutboxPurpose::Create | OutboxPurpose::Announce | OutboxPurpose::Other) => {
                ErrorVisibility::Not
            }
        };
        self.settle(now, out);
        heed
    }
}

/// Whether the client sees an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorVisibility {
    Not,
    AsItIs,
    /// Without the event id, which is not the client's.
    Unnamed,
}
