//! The answer as it goes on: parts numbered anew, where one that came becomes several, or none.

use std::collections::HashMap;

use tollgate_core::digest::{Sum, hex};

use crate::conversation::{Request, Stop};
use crate::delta::{Delta, Opening};
use crate::extra::Extra;

#[derive(Debug, Clone)]
pub(super) struct Writing {
    next: usize,
    /// Of the parts that stay what they are, by the number under which they came.
    passed: HashMap<usize, usize>,
    open: Option<Open>,
    /// What the open part grows by, and was not given out yet.
    pending: String,
    steps: Vec<Delta>,
    ids: Ids,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Open {
    index: usize,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Call,
}

impl Writing {
    pub(super) fn new(request: &Request) -> Self {
        Self {
            next: 0,
            passed: HashMap::new(),
            open: None,
            pending: String::new(),
            steps: Vec::new(),
            ids: Ids::new(request),
        }
    }

    /// The steps since the last time.
    pub(super) fn take(&mut self) -> Vec<Delta> {
        self.flush(Extra::none());
        std::mem::take(&mut self.steps)
    }

    /// A step that stays what it is, but for the number of its part and the reason of the end.
    pub(super) fn pass(&mut self, delta: Delta) {
        self.flush(Extra::none());
        let given = |index: usize| self.passed.get(&index).copied();
        let step = match delta {
            Delta::Start { id, model, created, extra } => {
                self.ids.answer.clone_from(&id);
                Some(Delta::Start { id, model, created, extra })
            }
            Delta::Open { index, opening, extra } => {
                let number = self.number();
                self.passed.insert(index, number);
                Some(Delta::Open { index: number, opening, extra })
            }
            Delta::Grow { index, text, extra } => {
                given(index).map(|index| Delta::Grow { index, text, extra })
            }
            Delta::Sign { index, signature } => {
                given(index).map(|index| Delta::Sign { index, signature })
            }
            Delta::Extra { index, extra } => {
                given(index).map(|index| Delta::Extra { index, extra })
            }
            Delta::Close { index } => given(index).map(|index| Delta::Close { index }),
            Delta::End { stop, usage, extra } => {
                Some(Delta::End { stop: self.ids.stop(stop), usage, extra })
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
        if let Some(Open { index, kind: Kind::Text }) = self.open {
            return index;
        }
        self.begin(Kind::Text, Opening::Text, extra)
    }

    /// Begins a call.
    pub(super) fn call(&mut self, name: &str) {
        let opening = Opening::Call { id: self.ids.next(), name: name.to_owned() };
        self.begin(Kind::Call, opening, Extra::none());
    }

    /// More of the arguments of the call.
    pub(super) fn argue(&mut self, text: &str) {
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
        let Some(Open { index, .. }) = self.open else { return };
        if !text.is_empty() || !extra.is_empty() {
            self.steps.push(Delta::Grow { index, text, extra });
        }
    }

    /// Fields of the open part.
    pub(super) fn extra(&mut self, extra: Extra) {
        self.flush(Extra::none());
        let Some(Open { index, .. }) = self.open else { return };
        self.steps.push(Delta::Extra { index, extra });
    }

    pub(super) fn close(&mut self) {
        self.flush(Extra::none());
        self.steps.extend(self.open.take().map(|Open { index, .. }| Delta::Close { index }));
    }

    fn begin(&mut self, kind: Kind, opening: Opening, extra: Extra) -> usize {
        self.close();
        let index = self.number();
        self.open = Some(Open { index, kind });
        self.steps.push(Delta::Open { index, opening, extra });
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
struct Ids {
    seed: [u8; 32],
    /// The id of the answer.
    answer: String,
    given: u64,
}

impl Ids {
    fn new(request: &Request) -> Self {
        let length = request.messages.len() as u64;
        let seed = Sum::default().with(request.utterance()).with(length.to_le_bytes()).finish();
        Self { seed, answer: String::new(), given: 0 }
    }

    fn next(&mut self) -> String {
        self.given += 1;
        let sum = Sum::default().with(self.seed).with(&self.answer).with(self.given.to_le_bytes());
        format!("call_{}", hex(&sum.finish()[..12]))
    }

    /// Why an answer ended in which calls were found.
    fn stop(&self, stop: Stop) -> Stop {
        match stop {
            Stop::End | Stop::Sequence(_) if self.given > 0 => Stop::Calls,
            other => other,
        }
    }
}
