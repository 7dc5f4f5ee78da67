//! Queue of responses to request from the model: speech about our answers, another model's text,
//! the client's own held request. Knows how long to wait; requests nothing itself.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::calls::AfterAnswer;
use super::floor::{HeldResponseRequest, PendingSpeech};

/// Time for the client to answer its own calls, before ours are spoken about without them.
const CLIENT_CALLS_WAIT: Duration = Duration::from_secs(5);

/// Time for the client to request the response itself after its last message, as most do.
const CLIENT_REQUEST_WAIT: Duration = Duration::from_millis(500);

/// Wait for a response that supposedly runs, but whose start we have not seen.
const OTHER_RESPONSE_WAIT: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct SpeechQueue {
    pub(super) want: PendingSpeech,
    pub(super) urgency: SpeechUrgency,
    pub(super) deep: DeepAnswer,
    /// The request for the response that speaks the other model's answer.
    pub(super) speaking: Option<String>,
    pub(super) opener: Opener,
    /// The client's response request, held until our answers are sent.
    pub(super) held: Option<HeldResponseRequest>,
    /// Calls whose answers the provider has not confirmed, and that need speech.
    unseen: HashSet<String>,
    /// Whether the provider confirms items at all.
    confirms: bool,
    /// The client's own unanswered calls.
    clients: HashSet<String>,
    patience: Option<Instant>,
    retry: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum SpeechUrgency {
    #[default]
    WhenIdle,
    BreakOff,
}

/// Whether another model answers this turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum DeepAnswer {
    #[default]
    No,
    Awaited,
    /// The provider has the text; the model has not started to speak it.
    Given,
}

/// What is said while another model works.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Opener {
    #[default]
    None,
    /// To be said as soon as nobody speaks.
    Due(Arc<str>),
    Spoken,
}

impl SpeechQueue {
    pub(super) fn note_posted_answer(&mut self, call_id: &str, then: AfterAnswer, now: Instant) {
        match then {
            AfterAnswer::Nothing => return,
            AfterAnswer::Speak => {}
            AfterAnswer::BreakOff => self.urgency = SpeechUrgency::BreakOff,
        }
        self.unseen.insert(call_id.to_owned());
        self.wants_reply();
        if !self.clients.is_empty() && self.patience.is_none() {
            self.patience = Some(now + CLIENT_CALLS_WAIT);
        }
    }

    pub(super) fn wants_reply(&mut self) {
        if self.want == PendingSpeech::Nothing {
            self.want = PendingSpeech::Reply;
        }
    }

    /// The provider has confirmed the answer.
    pub(super) fn confirm_answer(&mut self, call_id: &str) {
        self.unseen.remove(call_id);
    }

    pub(super) fn confirms(&mut self) {
        self.confirms = true;
    }

    /// Answers that a response starting now cannot include. If a provider confirms nothing, it is
    /// assumed to have all that was sent.
    pub(super) fn unseen(&self) -> HashSet<String> {
        if self.confirms { self.unseen.clone() } else { HashSet::new() }
    }

    /// A response has started that includes all answers.
    pub(super) fn clear_announced(&mut self) {
        self.unseen.clear();
        self.urgency = SpeechUrgency::WhenIdle;
        if self.want == PendingSpeech::Reply {
            self.want = PendingSpeech::Nothing;
        }
    }

    /// Another connection begins, which is told everything that was answered, and asked again.
    pub(super) fn restart(&mut self) {
        self.speaking = None;
        self.unseen.clear();
        self.urgency = SpeechUrgency::WhenIdle;
        self.patience = None;
        self.retry = None;
    }

    /// The caller took the turn: drops everything queued for the previous one.
    pub(super) fn drop_all(&mut self) {
        self.want = PendingSpeech::Nothing;
        self.urgency = SpeechUrgency::WhenIdle;
        self.deep = DeepAnswer::No;
        self.opener = Opener::None;
        self.speaking = None;
        self.patience = None;
        self.retry = None;
    }

    pub(super) fn take(&mut self) -> PendingSpeech {
        self.urgency = SpeechUrgency::WhenIdle;
        self.patience = None;
        self.retry = None;
        std::mem::take(&mut self.want)
    }

    /// Whether nothing is outstanding.
    pub(super) fn is_nothing(&self) -> bool {
        self.want == PendingSpeech::Nothing
            && self.deep == DeepAnswer::No
            && self.held.is_none()
            && self.clients.is_empty()
    }

    pub(super) fn note_client_call(&mut self, call_id: &str) {
        self.clients.insert(call_id.to_owned());
    }

    pub(super) fn note_client_answer(&mut self, call_id: &str, now: Instant) {
        if self.clients.remove(call_id) && self.clients.is_empty() {
            self.patience = Some(now + CLIENT_REQUEST_WAIT);
        }
    }

    /// The client has added an item: most clients then request a response themselves.
    pub(super) fn client_wrote(&mut self, now: Instant) {
        self.patience = Some(now + CLIENT_REQUEST_WAIT);
    }

    /// The client continues, whatever it left unanswered.
    pub(super) fn client_went_on(&mut self) {
        self.clients.clear();
        self.patience = None;
    }

    /// A response of another side is probably about to start.
    pub(super) fn give_way(&mut self, now: Instant) {
        self.retry = Some(now + OTHER_RESPONSE_WAIT);
    }

    pub(super) fn response_ended(&mut self) {
        self.retry = None;
    }

    /// Drops waits that have expired.
    pub(super) fn time_passes(&mut self, now: Instant) {
        self.retry = self.retry.filter(|until| now < *until);
        self.patience = self.patience.filter(|until| now < *until);
    }

    pub(super) fn must_wait(&self, now: Instant) -> bool {
        let ahead = |until: Option<Instant>| until.is_some_and(|until| now < until);
        ahead(self.retry) || (self.held.is_none() && ahead(self.patience))
    }

    /// When [`SpeechQueue::must_wait`] may change its result.
    pub(super) fn wakes(&self) -> Option<Instant> {
        if self.want == PendingSpeech::Nothing && self.held.is_none() {
            return None;
        }
        self.retry.max(self.patience)
    }
}
