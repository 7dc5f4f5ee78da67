//! Writes the decoded deltas: renumbers parts, since one incoming part may become several, or none.

use std::collections::HashMap;

use tollgate_core::digest::{DigestBuilder, hex};

use crate::conversation::{ChatRequest, StopReason};
use crate::delta::{PartOpening, ResponseDelta};
use crate::extra::Extra;

#[derive(Debug, Clone)]
pub(super) struct DeltaWriter {
    next: usize,
    /// New numbers of unchanged parts, by their incoming number.
    passed: HashMap<usize, usize>,
    open: Option<OpenDeltaPart>,
    /// Text of the open part that was not emitted yet.
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

    /// The deltas since the last call.
    pub(super) fn take(&mut self) -> Vec<ResponseDelta> {
        self.flush(Extra::none());
        std::mem::take(&mut self.steps)
    }

    /// Passes a delta on, changing only its part number and the stop reason.
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

    /// Appends text.
    pub(super) fn say(&mut self, text: &str) {
        self.text(Extra::none());
        self.pending.push_str(text);
    }

    /// Ensures that a text part is open, and returns its number. `extra` is for a new part.
    pub(super) fn text(&mut self, extra: Extra) -> usize {
        if let Some(OpenDeltaPart { index, kind: OpenDeltaKind::Text }) = self.open {
            return index;
        }
        self.begin(OpenDeltaKind::Text, PartOpening::Text, extra)
    }

    /// Opens a call.
    pub(super) fn call(&mut self, name: &str) {
        let opening = PartOpening::Call { id: self.ids.next(), name: name.to_owned() };
        self.begin(OpenDeltaKind::Call, opening, Extra::none());
    }

    /// Appends to the arguments of the call.
    pub(super) fn push_arguments(&mut self, text: &str) {
        self.pending.push_str(text);
    }

    pub(super) fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Emits the pending text, with its extra fields.
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

/// Generates ids for calls without one. Two calls of a conversation never get the same id, because
/// the conversation is longer when the second is made.
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

    /// Stop reason of an answer in which calls were found.
    fn stop(&self, stop: StopReason) -> StopReason {
        match stop {
            StopReason::End | StopReason::Sequence(_) if self.given > 0 => StopReason::Calls,
            other => other,
        }
    }
}
