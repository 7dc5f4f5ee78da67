//! Makes one answer of the answers of many rounds: one beginning, parts numbered through, one end.
//! Calls that the gateway runs itself are left out; what remains is what the client gets, in a
//! stream and whole alike. Pure.

use std::collections::HashMap;

use crate::conversation::{Stop, Usage};
use crate::delta::{Delta, Opening};
use crate::extra::Extra;
use crate::turn::Offered;

/// Between what was said before a call and what is said after it.
const PAUSE: &str = "\n\n";

#[derive(Debug, Default)]
pub(super) struct Relay {
    /// Whether the client has seen the beginning.
    started: bool,
    /// Parts that the client has seen.
    parts: usize,
    /// This round's parts, by what the client knows them as.
    shown: HashMap<usize, usize>,
    /// Which of the client's parts are words.
    words: HashMap<usize, Words>,
    /// What was said last, in whichever round.
    last: Last,
    /// What the last round said beside its answer.
    extra: Extra,
}

/// Whether a part has begun to say something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Words {
    Silent,
    Begun,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Nothing,
    /// In this round.
    Here,
    /// In an earlier round, ended without a blank.
    Before,
}

impl Relay {
    /// The next round begins.
    pub(super) fn next_round(&mut self) {
        self.shown.clear();
        if self.last == Last::Here {
            self.last = Last::Before;
        }
    }

    /// What the client gets of this step.
    pub(super) fn pass(&mut self, delta: &Delta, offered: &Offered) -> Vec<Delta> {
        match delta {
            Delta::Start { .. } => self.begin(delta.clone()).into_iter().collect(),
            Delta::Open { index, opening, extra } => {
                if is_ours(opening, offered) {
                    return Vec::new();
                }
                let known_as = self.parts;
                self.parts += 1;
                self.shown.insert(*index, known_as);
                if matches!(opening, Opening::Text) {
                    self.words.insert(known_as, Words::Silent);
                }
                let (opening, extra) = (opening.clone(), extra.clone());
                vec![Delta::Open { index: known_as, opening, extra }]
            }
            Delta::Grow { index, text, extra } => {
                let Some(index) = self.shown.get(index).copied() else { return Vec::new() };
                let mut steps = self.pause(index, text);
                steps.push(Delta::Grow { index, text: text.clone(), extra: extra.clone() });
                steps
            }
            Delta::Sign { index, signature } => {
                self.renumbered(*index, |index| Delta::Sign { index, signature: signature.clone() })
            }
            Delta::Extra { index, extra } => {
                self.renumbered(*index, |index| Delta::Extra { index, extra: extra.clone() })
            }
            Delta::Close { index } => self.renumbered(*index, |index| Delta::Close { index }),
            Delta::End { extra, .. } => {
                self.extra = extra.clone();
                Vec::new()
            }
        }
    }

    /// The beginning, if the client has not seen one.
    pub(super) fn begin(&mut self, start: Delta) -> Option<Delta> {
        (!std::mem::replace(&mut self.started, true)).then_some(start)
    }

    /// A part for words that are beside the rounds.
    pub(super) fn open_words(&mut self) -> (usize, Delta) {
        let index = self.parts;
        self.parts += 1;
        self.words.insert(index, Words::Silent);
        (index, Delta::Open { index, opening: Opening::Text, extra: Extra::none() })
    }

    /// More of them.
    pub(super) fn grow_words(&mut self, index: usize, text: String) -> Vec<Delta> {
        let mut steps = self.pause(index, &text);
        steps.push(Delta::Grow { index, text, extra: Extra::none() });
        steps
    }

    /// The end of the whole answer.
    pub(super) fn end(&mut self, stop: Stop, usage: Usage) -> Delta {
        Delta::End { stop, usage, extra: std::mem::take(&mut self.extra) }
    }

    /// Words of different rounds do not run into each other.
    fn pause(&mut self, index: usize, text: &str) -> Vec<Delta> {
        let Some(words) = self.words.get_mut(&index) else { return Vec::new() };
        if text.is_empty() {
            return Vec::new();
        }
        let begins = std::mem::replace(words, Words::Begun) == Words::Silent;
        let needed = begins && self.last == Last::Before && !text.starts_with(char::is_whitespace);
        self.last = match text.ends_with(char::is_whitespace) {
            true => Last::Nothing,
            false => Last::Here,
        };
        let pause = Delta::Grow { index, text: PAUSE.to_owned(), extra: Extra::none() };
        needed.then_some(pause).into_iter().collect()
    }

    fn renumbered(&self, index: usize, make: impl FnOnce(usize) -> Delta) -> Vec<Delta> {
        self.shown.get(&index).map(|index| make(*index)).into_iter().collect()
    }
}

fn is_ours(opening: &Opening, offered: &Offered) -> bool {
    matches!(opening, Opening::Call { name, .. } if !offered.is_shown(name))
}

#[cfg(test)]
mod tests;
