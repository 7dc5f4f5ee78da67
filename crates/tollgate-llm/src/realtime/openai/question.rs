//! The caller's last utterance: who answers it, and until when that is open. Pure; requests nothing
//! itself.

use std::time::{Duration, Instant};

use crate::realtime::events::UtteranceStage;

/// Wait for the rest of a transcript that has already decided the route.
const FINAL_TRANSCRIPT_WAIT: Duration = Duration::from_secs(1);
/// The same, however long its parts keep coming.
const MAX_FINAL_TRANSCRIPT_WAIT: Duration = Duration::from_secs(5);
/// Wait for a decision about a transcript that stays incomplete. It is nearly always there at once.
const DECISION_WAIT: Duration = Duration::from_millis(100);
/// Wait for a response of a provider that has not confirmed that it leaves it to us.
const PROVIDER_RESPONSE_WAIT: Duration = Duration::from_secs(1);
/// Earlier utterances that were not answered before the caller spoke again.
const MAX_UNANSWERED: usize = 8;

pub(super) struct Question {
    /// Number of spoken utterances so far.
    number: u64,
    /// Items of the utterance. The last one is the newest; those before it were not answered
    /// when the caller spoke on. Empty: typed text.
    items: Vec<String>,
    pub(super) state: QuestionState,
    pub(super) asks: ResponseRequester,
    /// Whether the response that the gateway owes was requested, or another one began.
    is_asked: bool,
    /// The item that the caller is speaking.
    speaking: Option<String>,
    /// When the utterance was complete.
    since: Option<Instant>,
    /// When a response is missing that the provider was to begin.
    missing: Option<Instant>,
    /// The part of a transcript that is being decided about.
    latest: Option<HeardPart>,
    /// A decision about an utterance that is not complete yet.
    early: Option<(String, EarlyDecision)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuestionState {
    /// Answered, or nothing can be decided about it.
    Settled,
    /// Its transcript is awaited; until then no response is requested.
    Held { until: Instant },
    /// Another model will answer, when the transcript is complete.
    Deep { until: Instant },
    /// Another model will answer, when the client requests a response.
    DeepOnRequest,
    /// Another model answers.
    Delegated,
    /// The realtime model answers, but nothing of it was heard yet.
    Open,
}

/// Who requests the response to an utterance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseRequester {
    Provider,
    Gateway,
    Client,
}

/// A part of a transcript, and what it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HeardPart {
    of: HeardUtterance,
    stage: UtteranceStage,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HeardUtterance {
    Newest,
    /// An earlier part of the question.
    Earlier,
    /// An item that is not complete, or was answered long ago.
    Other(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EarlyDecision {
    Deep(UtteranceStage),
    Stay,
}

/// What follows from a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuestionStep {
    Nothing,
    /// The realtime model must not answer.
    KeepBack,
    /// The other model can begin.
    Delegate,
    /// The realtime model can answer.
    Release,
    /// The transcript stays incomplete: what there is of it has to decide.
    Conclude,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            number: 0,
            items: Vec::new(),
            state: QuestionState::Settled,
            asks: ResponseRequester::Client,
            is_asked: false,
            speaking: None,
            since: None,
            missing: None,
            latest: None,
            early: None,
        }
    }
}

impl Question {
    /// The caller begins to speak.
    pub(super) fn speech_begins(&mut self, item: Option<&str>) {
        self.speaking = item.map(str::to_owned);
    }

    /// A spoken utterance is complete. `hold`: how long to wait for its transcript; `None`: nothing
    /// will be decided.
    pub(super) fn begin_spoken(
        &mut self,
        item: Option<&str>,
        asks: ResponseRequester,
        hold: Option<Duration>,
        now: Instant,
    ) -> QuestionStep {
        let was_deep = matches!(self.state, QuestionState::Deep { .. });
        let is_answered = matches!(
            self.state,
            QuestionState::Settled | QuestionState::Delegated | QuestionState::DeepOnRequest
        );
        if is_answered || self.items.len() == MAX_UNANSWERED {
            self.items.clear();
        }
        self.items.extend(item.map(str::to_owned));
        self.number += 1;
        self.asks = asks;
        self.is_asked = false;
        self.since = Some(now);
        self.missing = None;
        self.speaking = None;
        let early = self.early.take().filter(|(known, _)| item == Some(known));
        let Some(hold) = hold else {
            self.state = QuestionState::Settled;
            return QuestionStep::Release;
        };
        match early.map(|(_, early)| early) {
            Some(EarlyDecision::Deep(UtteranceStage::Final)) => return self.conclude_deep(),
            Some(EarlyDecision::Stay) if !was_deep => {
                self.state = QuestionState::Settled;
                return QuestionStep::Release;
            }
            Some(EarlyDecision::Deep(UtteranceStage::Partial)) => self.expect_rest(now),
            Some(EarlyDecision::Stay) | None if was_deep => self.expect_rest(now),
            Some(EarlyDecision::Stay) | None => {
                self.state = if hold.is_zero() || asks == ResponseRequester::Provider {
                    QuestionState::Open
                } else {
                    QuestionState::Held { until: now + hold }
                };
            }
        }
        match self.state {
            QuestionState::Open => QuestionStep::Release,
            _ => QuestionStep::KeepBack,
        }
    }

    /// Text of the client. It only adds to a question that is undecided.
    pub(super) fn begin_typed(&mut self, may_route: bool) {
        let adds = self.is_undecided();
        if !adds {
            let early = self.early.take();
            let speaking = self.speaking.take();
            *self = Self { number: self.number, early, speaking, ..Self::default() };
            if may_route {
                self.state = QuestionState::Open;
            }
        }
        let stage = if adds { UtteranceStage::Partial } else { UtteranceStage::Final };
        let of = if adds { HeardUtterance::Earlier } else { HeardUtterance::Newest };
        self.latest = Some(HeardPart { of, stage });
    }

    /// A part of a transcript arrives: the next decision is about it.
    pub(super) fn hear(&mut self, item: &str, stage: UtteranceStage, now: Instant) {
        let of = match self.items.iter().rposition(|known| known == item) {
            Some(at) if at + 1 == self.items.len() => HeardUtterance::Newest,
            Some(_) => HeardUtterance::Earlier,
            None if self.items.is_empty() && self.since.is_some() => HeardUtterance::Newest,
            None => HeardUtterance::Other(item.to_owned()),
        };
        if matches!(self.state, QuestionState::Deep { .. }) && of == HeardUtterance::Newest {
            self.expect_rest(now);
        }
        self.latest = Some(HeardPart { of, stage });
    }

    /// What was heard needs another model.
    pub(super) fn route(&mut self, now: Instant) -> QuestionStep {
        let Some(HeardPart { of, stage }) = self.latest.take() else {
            return QuestionStep::Nothing;
        };
        let stage = match of {
            HeardUtterance::Other(item) => {
                self.decide_early(item, EarlyDecision::Deep(stage));
                return QuestionStep::Nothing;
            }
            HeardUtterance::Earlier => UtteranceStage::Partial,
            HeardUtterance::Newest => stage,
        };
        match (self.state, stage) {
            (
                QuestionState::Settled | QuestionState::Delegated | QuestionState::DeepOnRequest,
                _,
            ) => QuestionStep::Nothing,
            (QuestionState::Deep { .. }, UtteranceStage::Partial) => QuestionStep::Nothing,
            (QuestionState::Held { .. } | QuestionState::Open, UtteranceStage::Partial) => {
                self.expect_rest(now);
                QuestionStep::KeepBack
            }
            (_, UtteranceStage::Final) => self.conclude_deep(),
        }
    }

    /// The realtime model can answer what was heard.
    pub(super) fn stay(&mut self) -> QuestionStep {
        match self.latest.take() {
            Some(HeardPart { of: HeardUtterance::Newest, stage: UtteranceStage::Final }) => {
                self.settle_undecided()
            }
            Some(HeardPart { of: HeardUtterance::Other(item), stage: UtteranceStage::Final }) => {
                self.decide_early(item, EarlyDecision::Stay);
                QuestionStep::Nothing
            }
            Some(_) | None => QuestionStep::Nothing,
        }
    }

    /// No transcript of this item will come.
    pub(super) fn lose_transcript(&mut self, item: &str) -> QuestionStep {
        if self.items.last().is_some_and(|last| last != item) {
            return QuestionStep::Nothing;
        }
        match self.state {
            QuestionState::Deep { .. } => QuestionStep::Conclude,
            _ => self.settle_undecided(),
        }
    }

    /// The time named by [`Question::wakes`] has come.
    pub(super) fn time_passes(&mut self, now: Instant) -> QuestionStep {
        match self.state {
            // A transcript that comes before the answer is heard still decides.
            QuestionState::Held { until } if until <= now => {
                self.state = QuestionState::Open;
                QuestionStep::Release
            }
            QuestionState::Deep { until } if until <= now => QuestionStep::Conclude,
            _ => QuestionStep::Nothing,
        }
    }

    /// A part of the transcript is all there is: the next decision about it is the last one.
    /// Without any text, what was decided before holds.
    pub(super) fn conclude(&mut self, heard: Option<&str>, now: Instant) -> QuestionStep {
        if heard.is_none() {
            return self.conclude_deep();
        }
        self.state = QuestionState::Held { until: now + DECISION_WAIT };
        self.latest = Some(HeardPart { of: HeardUtterance::Newest, stage: UtteranceStage::Final });
        QuestionStep::Nothing
    }

    /// Whether the gateway has to request the response now; only once.
    pub(super) fn take_request(&mut self) -> bool {
        let is_due = self.owes_response();
        self.is_asked |= is_due;
        is_due
    }

    /// The realtime model answers, unless that is decided otherwise already.
    pub(super) fn settle_undecided(&mut self) -> QuestionStep {
        match self.state {
            QuestionState::Held { .. } | QuestionState::Deep { .. } | QuestionState::Open => {
                self.state = QuestionState::Settled;
                QuestionStep::Release
            }
            QuestionState::Settled | QuestionState::Delegated | QuestionState::DeepOnRequest => {
                QuestionStep::Nothing
            }
        }
    }

    /// It has been answered, or nobody wants an answer any more.
    pub(super) fn settle(&mut self) {
        self.state = QuestionState::Settled;
        self.missing = None;
    }

    /// The other model works on it.
    pub(super) fn delegate(&mut self) {
        self.state = QuestionState::Delegated;
        self.missing = None;
    }

    /// A response of the realtime model begins.
    pub(super) fn answer_begins(&mut self) {
        self.missing = None;
        self.is_asked = true;
        if let QuestionState::Held { .. } = self.state {
            self.state = QuestionState::Open;
        }
    }

    /// The response that began was ended unseen, or another model's answer was dropped: if the realtime
    /// model has to answer after all, the gateway requests another one.
    pub(super) fn owe_response(&mut self) {
        self.asks = ResponseRequester::Gateway;
        self.is_asked = false;
    }

    /// Whether the gateway still has to request a response.
    pub(super) fn owes_response(&self) -> bool {
        self.asks == ResponseRequester::Gateway && !self.is_asked
    }

    /// The provider should begin a response now, but has not confirmed that it will.
    pub(super) fn expect_response(&mut self, now: Instant) {
        self.missing = Some(now + PROVIDER_RESPONSE_WAIT);
    }

    /// Whether the expected response did not begin in time.
    pub(super) fn take_missing(&mut self, now: Instant) -> bool {
        let is_missing = self.missing.take_if(|until| *until <= now).is_some();
        self.is_asked |= is_missing;
        is_missing
    }

    /// No response may be requested before the decision.
    pub(super) fn is_undecided(&self) -> bool {
        matches!(self.state, QuestionState::Held { .. } | QuestionState::Deep { .. })
    }

    /// Whether the realtime model's answer may still be replaced.
    pub(super) fn is_open(&self) -> bool {
        self.state == QuestionState::Open
    }

    /// The realtime model must not answer it.
    pub(super) fn is_deep(&self) -> bool {
        matches!(self.state, QuestionState::Deep { .. })
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The item whose transcript is awaited.
    pub(super) fn item(&self) -> Option<&str> {
        self.items.last().map(String::as_str)
    }

    pub(super) fn wakes(&self) -> Option<Instant> {
        let until = match self.state {
            QuestionState::Held { until } | QuestionState::Deep { until } => Some(until),
            QuestionState::Settled
            | QuestionState::DeepOnRequest
            | QuestionState::Delegated
            | QuestionState::Open => None,
        };
        until.into_iter().chain(self.missing).min()
    }

    /// Utterances that were answered long ago must not replace what is known of the present one.
    fn decide_early(&mut self, item: String, decision: EarlyDecision) {
        if self.speaking.as_ref().is_none_or(|speaking| *speaking == item) {
            self.early = Some((item, decision));
        }
    }

    fn expect_rest(&mut self, now: Instant) {
        let since = self.since.unwrap_or(now);
        let until = (now + FINAL_TRANSCRIPT_WAIT).min(since + MAX_FINAL_TRANSCRIPT_WAIT);
        self.state = QuestionState::Deep { until };
    }

    fn conclude_deep(&mut self) -> QuestionStep {
        if self.asks == ResponseRequester::Client {
            self.state = QuestionState::DeepOnRequest;
            return QuestionStep::KeepBack;
        }
        QuestionStep::Delegate
    }
}
