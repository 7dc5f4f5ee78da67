//! What the client gets of an answer: the steps of all rounds as one lifecycle, put together for
//! whoever wants it whole and said to whoever listens.

use super::relay::Relay;
use super::{Said, Voice};
use crate::cascade::Continuation;
use crate::conversation::{Response, Stop, Usage};
use crate::delta::{Assembly, Delta, Opening};
use crate::extra::Extra;
use crate::told::Note;
use crate::turn::{Ids, Offered};

pub(super) struct Mouth {
    relay: Relay,
    whole: Assembly,
    ids: Ids,
    /// Leaves out what another model said already.
    behind: Option<Behind>,
    voice: Option<Voice>,
}

struct Behind {
    continuation: Continuation,
    /// The part of this round that it looks at: the first words.
    part: Option<usize>,
}

impl Mouth {
    pub(super) fn new(ids: Ids, voice: Option<Voice>) -> Self {
        let (relay, whole) = (Relay::default(), Assembly::default());
        Self { relay, whole, ids, behind: None, voice }
    }

    pub(super) fn voice(&self) -> Option<&Voice> {
        self.voice.as_ref()
    }

    pub(super) fn next_round(&mut self) {
        self.relay.next_round();
        if let Some(behind) = &mut self.behind {
            behind.part = None;
        }
    }

    /// From now on this was said already.
    pub(super) fn said_before(&mut self, opener: &str) {
        self.behind = Some(Behind { continuation: Continuation::behind(opener), part: None });
    }

    /// One step of a model's answer; what it comes to for the history goes into `round`.
    pub(super) async fn take(&mut self, delta: Delta, offered: &Offered, round: &mut Assembly) {
        for mut delta in self.without_repetition(delta) {
            if let Delta::Open { opening: Opening::Call { id, .. }, .. } = &mut delta {
                *id = self.ids.distinct(id);
            }
            round.add(&delta);
            let passed = self.relay.pass(&delta, offered);
            self.give(passed).await;
        }
    }

    /// Steps that are no part of any model's answer, or pass by the relay.
    pub(super) async fn give(&mut self, deltas: Vec<Delta>) {
        for delta in deltas {
            self.whole.add(&delta);
            if let Some(voice) = &self.voice {
                voice.say(Said::Delta(delta)).await;
            }
        }
    }

    pub(super) async fn note(&self, note: Note) {
        if let Some(voice) = &self.voice {
            voice.say(Said::Note(note)).await;
        }
    }

    /// The gateway's own words.
    pub(super) async fn say(&mut self, text: String) {
        let (index, open) = self.relay.open_words();
        let mut steps = vec![open];
        steps.extend(self.relay.grow_words(index, text));
        steps.push(Delta::Close { index });
        self.give(steps).await;
    }

    pub(super) fn relay(&mut self) -> &mut Relay {
        &mut self.relay
    }

    /// `None`: the answer has no beginning.
    pub(super) async fn close(mut self, stop: Stop, usage: Usage) -> Option<Response> {
        let end = self.relay.end(stop, usage);
        self.give(vec![end]).await;
        self.whole.finish()
    }

    fn without_repetition(&mut self, delta: Delta) -> Vec<Delta> {
        let Some(behind) = &mut self.behind else { return vec![delta] };
        let grown = |index: usize, text: String| {
            (!text.is_empty()).then(|| Delta::Grow { index, text, extra: Extra::none() })
        };
        match delta {
            Delta::Open { index, opening: Opening::Text, .. } if behind.part.is_none() => {
                behind.part = Some(index);
                vec![delta]
            }
            Delta::Grow { index, text, .. } if behind.part == Some(index) => {
                grown(index, behind.continuation.hear(&text)).into_iter().collect()
            }
            Delta::Close { index } if behind.part == Some(index) => {
                let rest = grown(index, behind.continuation.finish());
                self.behind = None;
                rest.into_iter().chain([delta]).collect()
            }
            delta => vec![delta],
        }
    }
}
