//! The response stream to the client: the deltas of all rounds as one lifecycle, assembled into a
//! complete answer and forwarded to a streaming client.

use std::collections::HashSet;

use super::relay::RoundRelay;
use super::repeated_calls::RepeatedCallFilter;
use super::{CompletionEvent, CompletionSink};
use crate::cascade::Continuation;
use crate::conversation::{ChatResponse, StopReason, TokenUsage};
use crate::delta::{PartOpening, ResponseAssembly, ResponseDelta};
use crate::extra::Extra;
use crate::gateway_report::StreamNote;
use crate::turn::{OfferedTools, TurnCallIds};

pub(super) struct ResponseStream {
    relay: RoundRelay,
    whole: ResponseAssembly,
    /// Of the round's answer.
    repeated_calls: RepeatedCallFilter,
    ids: TurnCallIds,
    /// Removes what the opener already said.
    behind: Option<OpenerRepetitionFilter>,
    /// Only the last round's text is the answer.
    last_text: Option<LastTextOnly>,
    voice: Option<CompletionSink>,
}

/// Holds a round back from its first text on, until it is known whether it is the last one.
#[derive(Default)]
struct LastTextOnly {
    held: Vec<ResponseDelta>,
    offered: OfferedTools,
}

struct OpenerRepetitionFilter {
    continuation: Continuation,
    /// The part of this round that is filtered: the first text.
    part: Option<usize>,
}

impl ResponseStream {
    pub(super) fn new(ids: TurnCallIds, voice: Option<CompletionSink>) -> Self {
        let relay = RoundRelay::default();
        let whole = ResponseAssembly::default();
        let repeated_calls = RepeatedCallFilter::default();
        Self { relay, whole, repeated_calls, ids, behind: None, last_text: None, voice }
    }

    /// Leaves out the text of all rounds but the last: the client reads the whole text as one JSON
    /// value.
    pub(super) fn show_only_last_text(&mut self) {
        self.last_text = Some(LastTextOnly::default());
    }

    pub(super) fn voice(&self) -> Option<&CompletionSink> {
        self.voice.as_ref()
    }

    pub(super) async fn next_round(&mut self) {
        self.release_held(HeldText::Dropped).await;
        self.relay.next_round();
        self.repeated_calls = RepeatedCallFilter::default();
        if let Some(behind) = &mut self.behind {
            behind.part = None;
        }
    }

    /// The next text continues this opener; what it repeats of it is removed.
    pub(super) fn continue_behind(&mut self, opener: &str) {
        self.relay.join_next_text();
        self.behind =
            Some(OpenerRepetitionFilter { continuation: Continuation::behind(opener), part: None });
    }

    /// Takes one delta of a model's answer; its contribution to the history goes into `round`.
    pub(super) async fn take(
        &mut self,
        delta: ResponseDelta,
        offered: &OfferedTools,
        round: &mut ResponseAssembly,
    ) {
        let deltas = self.repeated_calls.pass(delta);
        let deltas: Vec<ResponseDelta> =
            deltas.into_iter().flat_map(|delta| self.filter_repetition(delta)).collect();
        for mut delta in deltas {
            if let ResponseDelta::Open { opening: PartOpening::Call { id, .. }, .. } = &mut delta {
                *id = self.ids.distinct(id);
            }
            round.add(&delta);
            // Without tools to run, this round is the last.
            if let Some(last_text) = &mut self.last_text
                && !offered.own.is_empty()
                && last_text.holds(&delta)
            {
                last_text.offered.clone_from(offered);
                last_text.held.push(delta);
                continue;
            }
            let passed = self.relay.pass(&delta, offered);
            self.give(passed).await;
        }
    }

    /// Sends deltas that belong to no model's answer, or bypass the relay.
    pub(super) async fn give(&mut self, deltas: Vec<ResponseDelta>) {
        for delta in deltas {
            self.whole.add(&delta);
            if let Some(voice) = &self.voice {
                voice.say(CompletionEvent::Delta(delta)).await;
            }
        }
    }

    pub(super) async fn note(&self, note: StreamNote) {
        if let Some(voice) = &self.voice {
            voice.say(CompletionEvent::Note(note)).await;
        }
    }

    /// Sends a text of the gateway itself.
    pub(super) async fn say(&mut self, text: String) {
        self.relay.separate_next_text();
        let (index, open) = self.relay.open_words();
        let mut steps = vec![open];
        steps.extend(self.relay.grow_words(index, text));
        steps.push(ResponseDelta::Close { index });
        self.give(steps).await;
    }

    pub(super) fn relay(&mut self) -> &mut RoundRelay {
        &mut self.relay
    }

    /// `None`: the answer never started.
    pub(super) async fn close(
        mut self,
        stop: StopReason,
        usage: TokenUsage,
    ) -> Option<ChatResponse> {
        self.release_held(HeldText::Shown).await;
        let end = self.relay.end(stop, usage);
        self.give(vec![end]).await;
        self.whole.finish()
    }

    async fn release_held(&mut self, texts: HeldText) {
        let Some(LastTextOnly { held, offered }) = self.last_text.take() else { return };
        let mut dropped = HashSet::new();
        for delta in held {
            match &delta {
                ResponseDelta::Open { index, opening: PartOpening::Text, .. }
                    if texts == HeldText::Dropped =>
                {
                    dropped.insert(*index);
                }
                _ => {}
            }
            if delta.part().is_some_and(|index| dropped.contains(&index)) {
                continue;
            }
            let passed = self.relay.pass(&delta, &offered);
            self.give(passed).await;
        }
        self.last_text = Some(LastTextOnly::default());
    }

    fn filter_repetition(&mut self, delta: ResponseDelta) -> Vec<ResponseDelta> {
        let Some(behind) = &mut self.behind else { return vec![delta] };
        let grown = |index: usize, text: String| {
            (!text.is_empty()).then(|| ResponseDelta::Grow { index, text, extra: Extra::none() })
        };
        match delta {
            ResponseDelta::Open { index, opening: PartOpening::Text, .. }
                if behind.part.is_none() =>
            {
                behind.part = Some(index);
                vec![delta]
            }
            ResponseDelta::Grow { index, text, .. } if behind.part == Some(index) => {
                grown(index, behind.continuation.hear(&text)).into_iter().collect()
            }
            ResponseDelta::Close { index } if behind.part == Some(index) => {
                let rest = grown(index, behind.continuation.finish());
                self.behind = None;
                rest.into_iter().chain([delta]).collect()
            }
            delta => vec![delta],
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HeldText {
    Shown,
    Dropped,
}

impl LastTextOnly {
    fn holds(&self, delta: &ResponseDelta) -> bool {
        let is_text = matches!(delta, ResponseDelta::Open { opening: PartOpening::Text, .. });
        is_text || !self.held.is_empty()
    }
}
