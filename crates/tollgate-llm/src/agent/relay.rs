//! Joins the answers of all rounds into one answer: one start, consecutive part numbers, one end.
//!
//! Calls that the gateway runs itself are left out. The rest is what the client gets, whether
//! streamed or not. Pure.

use std::collections::HashMap;

use crate::conversation::{PartContent, StopReason, ThoughtSignature, TokenUsage};
use crate::delta::{PartOpening, ResponseDelta};
use crate::dialect::Dialect;
use crate::extra::Extra;
use crate::turn::OfferedTools;

/// Separates text before a call from text after it.
const ROUND_SEPARATOR: &str = "\n\n";

#[derive(Debug, Default)]
pub(super) struct RoundRelay {
    /// Whether `Start` was sent to the client.
    started: bool,
    /// Number of parts sent to the client.
    parts: usize,
    /// This round's parts, mapped to the client's part numbers.
    shown: HashMap<usize, usize>,
    /// The client's text parts.
    words: HashMap<usize, TextPartProgress>,
    /// Round of the last text.
    last: LastTextRound,
    /// Extra fields of the last round's answer.
    extra: Extra,
    reasoning: ShownReasoning,
}

/// What the client saw of the reasoning. It cannot be sent back to every model without the calls
/// between its parts, so signatures tell the client's next request how many rounds were left out.
#[derive(Debug, Default)]
struct ShownReasoning {
    /// Rounds before this one whose calls the client does not see.
    hidden_rounds: u32,
    /// Whether this round has such a call.
    hidden_call: HiddenCall,
    /// Gemini's signature of the next part. On any other part the model refuses it.
    of_next_part: Option<ThoughtSignature>,
    /// The last signature of an earlier round.
    before: Option<ThoughtSignature>,
    /// The last signature of this round.
    here: Option<ThoughtSignature>,
}

/// Whether a round has calls that the client does not see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum HiddenCall {
    #[default]
    None,
    Unsigned,
    /// Gemini's signature belongs to one of them.
    Signed,
}

impl ShownReasoning {
    fn next_round(&mut self) {
        let hidden_call = std::mem::take(&mut self.hidden_call);
        self.hidden_rounds += u32::from(hidden_call != HiddenCall::None);
        self.of_next_part = None;
        if let Some(here) = self.here.take() {
            self.before = Some(here);
        }
    }

    fn hide_call(&mut self) {
        self.hidden_call = self.hidden_call.max(HiddenCall::Unsigned);
        if let Some(signature) = self.of_next_part.take() {
            self.hidden_call = HiddenCall::Signed;
            self.before = Some(signature);
            self.here = None;
        }
    }

    /// What is signed before a hidden call counts as an earlier round if it cannot go without it.
    fn rounds_before_next_part(&self) -> u32 {
        self.hidden_rounds + u32::from(self.hidden_call == HiddenCall::Signed)
    }
}

/// Whether a text part has content yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextPartProgress {
    Silent,
    Begun,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum LastTextRound {
    #[default]
    Nothing,
    /// In the current round.
    Here,
    /// In an earlier round, and it did not end with whitespace.
    Before,
}

impl RoundRelay {
    /// Starts the next round.
    pub(super) fn next_round(&mut self) {
        self.shown.clear();
        self.reasoning.next_round();
        self.separate_next_text();
    }

    /// The deltas that the client gets for this one.
    pub(super) fn pass(
        &mut self,
        delta: &ResponseDelta,
        offered: &OfferedTools,
    ) -> Vec<ResponseDelta> {
        match delta {
            ResponseDelta::Start { .. } => self.begin(delta.clone()).into_iter().collect(),
            ResponseDelta::Open { index, opening, extra } => {
                if is_ours(opening, offered) {
                    self.reasoning.hide_call();
                    return Vec::new();
                }
                let mut steps = self.mark_hidden_rounds(opening);
                self.reasoning.of_next_part = None;
                let known_as = self.parts;
                self.parts += 1;
                self.shown.insert(*index, known_as);
                if matches!(opening, PartOpening::Text) {
                    self.words.insert(known_as, TextPartProgress::Silent);
                }
                let opening = opening.clone();
                let extra = extra.clone();
                steps.push(ResponseDelta::Open { index: known_as, opening, extra });
                steps
            }
            ResponseDelta::Grow { index, text, extra } => {
                let Some(index) = self.shown.get(index).copied() else { return Vec::new() };
                let mut steps = self.pause(index, text);
                steps.push(ResponseDelta::Grow { index, text: text.clone(), extra: extra.clone() });
                steps
            }
            ResponseDelta::Sign { index, signature } => {
                let hidden_rounds = self.reasoning.rounds_before_next_part();
                let signature = ThoughtSignature { hidden_rounds, ..signature.clone() };
                self.reasoning.here = Some(signature.clone());
                if signature.maker == Dialect::Gemini {
                    self.reasoning.of_next_part = Some(signature.clone());
                }
                self.renumber(*index, |index| ResponseDelta::Sign { index, signature })
            }
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

    /// A round without reasoning after hidden calls begins with an empty thought, whose signature
    /// tells of them: otherwise, reasoning of earlier rounds would seem to be that of this one.
    fn mark_hidden_rounds(&mut self, opening: &PartOpening) -> Vec<ResponseDelta> {
        let hidden_rounds = self.reasoning.rounds_before_next_part();
        let ShownReasoning { before, here, .. } = &mut self.reasoning;
        let is_thought = match opening {
            PartOpening::Thinking => true,
            PartOpening::Whole(PartContent::Opaque { value, .. }) => {
                value["type"] == "redacted_thinking"
            }
            _ => false,
        };
        let Some(before) = before.as_ref().filter(|it| it.hidden_rounds < hidden_rounds) else {
            return Vec::new();
        };
        if is_thought || here.is_some() {
            return Vec::new();
        }
        let signature = ThoughtSignature { hidden_rounds, text: String::new(), ..before.clone() };
        *here = Some(signature.clone());
        let index = self.parts;
        self.parts += 1;
        let opening = PartOpening::Thinking;
        vec![
            ResponseDelta::Open { index, opening, extra: Extra::none() },
            ResponseDelta::Sign { index, signature },
            ResponseDelta::Close { index },
        ]
    }

    /// Returns `start` unless the client already got one.
    pub(super) fn begin(&mut self, start: ResponseDelta) -> Option<ResponseDelta> {
        (!std::mem::replace(&mut self.started, true)).then_some(start)
    }

    /// Opens a text part that belongs to no round.
    pub(super) fn open_words(&mut self) -> (usize, ResponseDelta) {
        let index = self.parts;
        self.parts += 1;
        self.words.insert(index, TextPartProgress::Silent);
        (index, ResponseDelta::Open { index, opening: PartOpening::Text, extra: Extra::none() })
    }

    /// Appends to such a part.
    pub(super) fn grow_words(&mut self, index: usize, text: String) -> Vec<ResponseDelta> {
        let mut steps = self.pause(index, &text);
        steps.push(ResponseDelta::Grow { index, text, extra: Extra::none() });
        steps
    }

    /// The next text follows the last one without a separator.
    pub(super) fn join_next_text(&mut self) {
        self.last = LastTextRound::Nothing;
    }

    /// The next text is separated from the last one.
    pub(super) fn separate_next_text(&mut self) {
        if self.last == LastTextRound::Here {
            self.last = LastTextRound::Before;
        }
    }

    /// The end of the whole answer.
    pub(super) fn end(&mut self, stop: StopReason, usage: TokenUsage) -> ResponseDelta {
        ResponseDelta::End { stop, usage, extra: std::mem::take(&mut self.extra) }
    }

    /// Separates the texts of different rounds.
    fn pause(&mut self, index: usize, text: &str) -> Vec<ResponseDelta> {
        let Some(words) = self.words.get_mut(&index) else { return Vec::new() };
        if text.is_empty() {
            return Vec::new();
        }
        let begins = std::mem::replace(words, TextPartProgress::Begun) == TextPartProgress::Silent;
        let needed =
            begins && self.last == LastTextRound::Before && !text.starts_with(char::is_whitespace);
        self.last = if text.ends_with(char::is_whitespace) {
            LastTextRound::Nothing
        } else {
            LastTextRound::Here
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
