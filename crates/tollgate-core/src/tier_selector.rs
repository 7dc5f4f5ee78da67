//! Selects the latency budget (tier) of a turn from the user's words, with a cooldown between deep
//! turns. Uses no model.
//!
//! Runs for every utterance, and for partial transcripts as they grow. Independent of agents and
//! conversations: the history is an argument.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aho_corasick::AhoCorasick;

use crate::budget::Tier;

mod builtin;
mod fold;
mod keywords;
mod reason;
pub use builtin::KeywordLanguage;
pub use fold::TranscriptStage;
pub use keywords::{BuiltinKeywords, TierKeywords, is_matchable};
pub use reason::{TierChoice, TierReason};

/// The keywords of one agent as an automaton. Expensive to build, cheap to share.
pub struct TierSelector {
    automaton: AhoCorasick,
    /// By pattern id of the automaton.
    keywords: Vec<TierKeyword>,
}

struct TierKeyword {
    calls_for: KeywordTier,
    /// As written by the operator, for the reason.
    text: Arc<str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum KeywordTier {
    Deep,
    Standard,
}

#[derive(Debug, Clone, Copy)]
pub struct Utterance<'a> {
    /// The text so far. Of a very long one only both ends are read.
    pub text: &'a str,
    pub form: TranscriptStage,
    /// Turns queued behind this one.
    pub queue_depth: u32,
    /// A tier set by a caller with that permission.
    pub forced: Option<Tier>,
}

/// The earlier turns of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnHistory {
    /// No conversation was named: the history is unknown, and this need not be its first turn.
    Unknown,
    Known {
        /// Number of earlier turns.
        turns: u32,
        since_deep: Option<Duration>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelectorRules {
    /// A second deep turn within this time becomes a standard one.
    pub deep_interval: Duration,
    /// Queue length from which a turn becomes fast, unless it has to be deep.
    pub backlog: u32,
}

impl Default for SelectorRules {
    fn default() -> Self {
        Self { deep_interval: Duration::from_secs(30), backlog: 3 }
    }
}

/// The tier cues of an utterance, independent of the history.
#[derive(Debug, Clone)]
pub struct UtteranceCues {
    forced: Option<Tier>,
    /// The first deep keyword.
    deep: Option<Arc<str>>,
    /// The first standard keyword; not searched for after a deep one.
    standard: Option<Arc<str>>,
    queue_depth: u32,
}

impl TierSelector {
    /// Merges all lists: the global ones, then the agent's. See [`TierKeywords`].
    pub fn new(lists: &[&TierKeywords]) -> Self {
        let collected = keywords::collect(lists);
        let (patterns, keywords): (Vec<String>, Vec<TierKeyword>) = collected.into_iter().unzip();
        let automaton = AhoCorasick::new(patterns)
            .expect("no memory holds the two thousand million states that would be too many");
        Self { automaton, keywords }
    }

    pub fn choose(
        &self,
        utterance: &Utterance<'_>,
        history: TurnHistory,
        rules: &SelectorRules,
    ) -> TierChoice {
        self.hear(utterance).choose(history, rules)
    }

    /// The expensive half of [`Self::choose`], for callers that hold a lock on the history.
    pub fn hear(&self, utterance: &Utterance<'_>) -> UtteranceCues {
        let Utterance { text, form, queue_depth, forced } = *utterance;
        let mut cues = UtteranceCues { forced, deep: None, standard: None, queue_depth };
        if forced.is_none() {
            self.listen(&fold::fold(text, form), &mut cues);
        }
        cues
    }

    fn listen(&self, folded: &str, cues: &mut UtteranceCues) {
        for found in self.automaton.find_overlapping_iter(folded) {
            let keyword = &self.keywords[found.pattern().as_usize()];
            match keyword.calls_for {
                KeywordTier::Deep => {
                    cues.deep = Some(Arc::clone(&keyword.text));
                    return;
                }
                KeywordTier::Standard if cues.standard.is_none() => {
                    cues.standard = Some(Arc::clone(&keyword.text));
                }
                KeywordTier::Standard => {}
            }
        }
    }
}

impl UtteranceCues {
    pub fn choose(&self, history: TurnHistory, rules: &SelectorRules) -> TierChoice {
        let (turns, since_deep) = match history {
            TurnHistory::Unknown => (None, None),
            TurnHistory::Known { turns, since_deep } => (Some(turns), since_deep),
        };
        let (tier, reason) = if let Some(tier) = self.forced {
            (tier, TierReason::Forced)
        } else if let Some(keyword) = self.deep.clone() {
            match since_deep {
                Some(ago) if ago < rules.deep_interval => {
                    (Tier::Standard, TierReason::KeywordInCooldown { keyword, ago })
                }
                _ => (Tier::Deep, TierReason::Keyword { keyword }),
            }
        } else if self.queue_depth >= rules.backlog {
            (Tier::Fast, TierReason::Backlog { waiting: self.queue_depth })
        } else if let Some(keyword) = self.standard.clone() {
            (Tier::Standard, TierReason::Keyword { keyword })
        } else if turns == Some(0) {
            (Tier::Standard, TierReason::FirstTurn)
        } else {
            (Tier::Fast, TierReason::Nothing)
        };
        TierChoice { tier, reason }
    }
}

impl fmt::Debug for TierSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Selector({} keywords)", self.keywords.len())
    }
}

#[cfg(test)]
mod tests;
