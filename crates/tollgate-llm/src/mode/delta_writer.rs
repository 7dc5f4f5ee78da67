//! The answer as it goes on: parts numbered anew, where one that came becomes several, or none.

use std::collections::HashMap;

use tollgate_core::digest::{DigestBuilder, hex};

use crate::conversation::{ChatRequest, StopReason};
use crate::delta::{PartOpening, ResponseDelta};
use crate::extra::Extra;

#[derive(Debug, Clone)]
pub(super) struct DeltaWriter {
    next: usize,
    /// Of the parts that stay what they are, by the number under which they came.
    passed: HashMap<usize, usize>,
    open: Option<OpenDeltaPart>,
    /// What the open part grows by, and was not given out yet.
    pending: String,
    steps: Vec<ResponseDelta>,
    ids: CallIdGenerator,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OpenDeltaPart {
    index: usize,
    kind: OpenDeltaKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenDeltaKind {
    Text,
    Call,
}

impl DeltaWriter {
    pub(super) fn new(request: &ChatRequest) -> Self {
        Self {
            next: 0,
            passed: HashMap::new(),
            open: None,
            pending: String::new(),
            steps: Vec::new(),
            ids: CallIdGenerator::new(request),
        }
    }

    /// The steps since the last time.
    pub(super) fn take(&mut self) -> Vec<ResponseDelta> {
        self.flush(Extra::none());
        std::mem::take(&mut self.steps)
    }

    /// A step that stays what it is, but for the number of its part and the reason of the end.
    pub(super) fn pass(&mut self, delta: ResponseDelta) {
        self.flush(Extra::none());
        let given = |index: usize| self.passed.get(&index).copied();
        let step = match delta {
            ResponseDelta::Start { id, model, created, extra } => {
                self.ids.answer.clone_from(&id);
                Some(ResponseDelta::Start { id, model, created, extra })
            }
            ResponseDelta::Open { index, opening, extra } => {
                let number = self.number();
                self.passed.insert(index, number);
                Some(ResponseDelta::Open { index: number, opening, extra })
            }
            ResponseDelta::Grow { index, text, extra } => {
                given(index).map(|index| ResponseDelta::Grow { index, text, extra })
            }
            ResponseDelta::Sign { index, signature } => {
                given(index).map(|index| ResponseDelta::Sign { index, signature })
            }
            ResponseDelta::Extra { index, extra } => {
                given(index).map(|index| ResponseDelta::Extra { index, extra })
            }
            ResponseDelta::Close { index } => {
                given(index).map(|index| ResponseDelta::Close { index })
            }
            ResponseDelta::End { stop, usage, extra } => {
                Some(ResponseDelta::End { stop: self.ids.stop(stop), usage, extra })
            }
        };
        self.steps.extend(step);
    }

    /// More words.
    pub(super) fn say(&mut self, text: &str) {
        self.text(Extra::none());
        self.pending.push_str(text);
    }

    /// Sees to it that a part of text is open; its number. `extra` is for a new one.
    pub(super) fn text(&mut self, extra: Extra) -> usize {
        if let Some(OpenDeltaPart { index, kind: OpenDeltaKind::Text }) = self.open {
            return index;
        }
        self.begin(OpenDeltaKind::Text, PartOpening::Text, extra)
    }

    /// Begins a call.
    pub(super) fn call(&mut self, name: &str) {
        let opening = PartOpening::Call { id: self.ids.next(), name: name.to_owned() };
        self.begin(OpenDeltaKind::Call, opening, Extra::none());
    }

    /// More of the arguments of the call.
    pub(super) fn push_arguments(&mut self, text: &str) {
        self.pending.push_str(text);
    }

    pub(super) fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Gives out what is pending, with what was said beside it.
    pub(super) fn flush(&mut self, extra: Extra) {
        let text = std::mem::take(&mut self.pending);
        let Some(OpenDeltaPart { index, .. }) = self.open else { return };
        if !text.is_empty() || !extra.is_empty() {
            self.steps.push(ResponseDelta::Grow { index, text, extra });
        }
    }

    /// Fields of the open part.
    pub(super) fn extra(&mut self, extra: Extra) {
        self.flush(Extra::none());
        let Some(OpenDeltaPart { index, .. }) = self.open else { return };
        self.steps.push(ResponseDelta::Extra { index, extra });
    }

    pub(super) fn close(&mut self) {
        self.flush(Extra::none());
        self.steps.extend(
            self.open.take().map(|OpenDeltaPart { index, .. }| ResponseDelta::Close { index }),
        );
    }

    fn begin(&mut self, kind: OpenDeltaKind, opening: PartOpening, extra: Extra) -> usize {
        self.close();
        let index = self.number();
        self.open = Some(OpenDeltaPart { index, kind });
        self.steps.push(ResponseDelta::Open { index, opening, extra });
        index
    }

    fn number(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }
}

/// Makes ids for calls that came without one. Two calls of a conversation do not get the same, since
/// it is longer when the second is made.
#[derive(Debug, Clone)]
struct CallIdGenerator {
    seed: [u8; 32],
    /// The id of the answer.
    answer: String,
    given: u64,
}

impl CallIdGenerator {
    fn new(request: &ChatRequest) -> Self {
        let length = request.messages.len() as u64;
        let seed =
            DigestBuilder::default().with(request.utterance()).with(length.to_le_bytes()).finish();
        Self { seed, answer: String::new(), given: 0 }
    }

    fn next(&mut self) -> String {
        self.given += 1;
        let sum = DigestBuilder::default()
            .with(self.seed)
            .with(&self.answer)
            .with(self.given.to_le_bytes());
        format!("call_{}", hex(&sum.finish()[..12]))
    }

    /// Why an answer ended in which calls were found.
    fn stop(&self, stop: StopReason) -> StopReason {
        match stop {
            StopReason::End | StopReason::Sequence(_) if self.given > 0 => StopReason::Calls,
            other => other,
        }
    }
}
