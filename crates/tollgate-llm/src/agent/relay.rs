//! Makes one answer of the answers of many rounds: one beginning, parts numbered through, one end.
//!
//! Calls that the gateway runs itself are left out; what remains is what the client gets, in a
//! stream and whole alike. Pure.

use std::collections::HashMap;

use crate::conversation::{StopReason, TokenUsage};
use crate::delta::{PartOpening, ResponseDelta};
use crate::extra::Extra;
use crate::turn::OfferedTools;

/// Between what was said before a call and what is said after it.
const ROUND_SEPARATOR: &str = "\n\n";

#[derive(Debug, Default)]
pub(super) struct RoundRelay {
    /// Whether the client has seen the beginning.
    started: bool,
    /// Parts that the client has seen.
    parts: usize,
    /// This round's parts, by what the client knows them as.
    shown: HashMap<usize, usize>,
    /// Which of the client's parts are words.
    words: HashMap<usize, TextPartProgress>,
    /// What was said last, in whichever round.
    last: LastTextRound,
    /// What the last round said beside its answer.
    extra: Extra,
}

/// Whether a part has begun to say something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextPartProgress {
    Silent,
    Begun,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum LastTextRound {
    #[default]
    Nothing,
    /// In this round.
    Here,
    /// In an earlier round, ended without a blank.
    Before,
}

impl RoundRelay {
    /// The next round begins.
    pub(super) fn next_round(&mut self) {
        self.shown.clear();
        if self.last == LastTextRound::Here {
            self.last = LastTextRound::Before;
        }
    }

    /// What the client gets of this step.
    pub(super) fn pass(
        &mut self,
        delta: &ResponseDelta,
        offered: &OfferedTools,
    ) -> Vec<ResponseDelta> {
        match delta {
            ResponseDelta::Start { .. } => self.begin(delta.clone()).into_iter().collect(),
            ResponseDelta::Open { index, opening, extra } => {
                if is_ours(opening, offered) {
                    return Vec::new();
                }
                let known_as = self.parts;
                self.parts += 1;
                self.shown.insert(*index, known_as);
                if matches!(opening, PartOpening::Text) {
                    self.words.insert(known_as, TextPartProgress::Silent);
                }
                let (opening, extra) = (opening.clone(), extra.clone());
                vec![ResponseDelta::Open { index: known_as, opening, extra }]
            }
            ResponseDelta::Grow { index, text, extra } => {
                let Some(index) = self.shown.get(index).copied() else { return Vec::new() };
                let mut steps = self.pause(index, text);
                steps.push(ResponseDelta::Grow { index, text: text.clone(), extra: extra.clone() });
                steps
            }
            ResponseDelta::Sign { index, signature } => self.renumber(*index, |index| {
                ResponseDelta::Sign { index, signature: signature.clone() }
            }),
            ResponseDelta::Extra { index, extra } => {
                self.renumber(*index, |index| ResponseDelta::Extra { index, extra: extra.clone() })
            }
            ResponseDelta::Close { index } => {
                self.renumber(*index, |index| ResponseDelta::Close { index })
            }
            ResponseDelta::End { extra, .. } => {
                self.extra = extra.clone();
                Vec::new()
            }
        }
    }

    /// The beginning, if the client has not seen one.
    pub(super) fn begin(&mut self, start: ResponseDelta) -> Option<ResponseDelta> {
        (!std::mem::replace(&mut self.started, true)).then_some(start)
    }

    /// A part for words that are beside the rounds.
    pub(super) fn open_words(&mut self) -> (usize, ResponseDelta) {
        let index = self.parts;
        self.parts += 1;
        self.words.insert(index, TextPartProgress::Silent);
        (index, ResponseDelta::Open { index, opening: PartOpening::Text, extra: Extra::none() })
    }

    /// More of them.
    pub(super) fn grow_words(&mut self, index: usize, text: String) -> Vec<ResponseDelta> {
        let mut steps = self.pause(index, &text);
        steps.push(ResponseDelta::Grow { index, text, extra: Extra::none() });
        steps
    }

    /// The end of the whole answer.
    pub(super) fn end(&mut self, stop: StopReason, usage: TokenUsage) -> ResponseDelta {
        ResponseDelta::End { stop, usage, extra: std::mem::take(&mut self.extra) }
    }

    /// Words of different rounds do not run into each other.
    fn pause(&mut self, index: usize, text: &str) -> Vec<ResponseDelta> {
        let Some(words) = self.words.get_mut(&index) else { return Vec::new() };
        if text.is_empty() {
            return Vec::new();
        }
        let begins = std::mem::replace(words, TextPartProgress::Begun) == TextPartProgress::Silent;
        let needed =
            begins && self.last == LastTextRound::Before && !text.starts_with(char::is_whitespace);
        self.last = match text.ends_with(char::is_whitespace) {
            true => LastTextRound::Nothing,
            false => LastTextRound::Here,
        };
        let pause =
            ResponseDelta::Grow { index, text: ROUND_SEPARATOR.to_owned(), extra: Extra::none() };
        needed.then_some(pause).into_iter().collect()
    }

    fn renumber(
        &self,
        index: usize,
        make: impl FnOnce(usize) -> ResponseDelta,
    ) -> Vec<ResponseDelta> {
        self.shown.get(&index).map(|index| make(*index)).into_iter().collect()
    }
}

fn is_ours(opening: &PartOpening, offered: &OfferedTools) -> bool {
    matches!(opening, PartOpening::Call { name, .. } if !offered.is_shown(name))
}

#[cfg(test)]
mod tests;
