//! Chooses the latency budget of a turn from what was said. No model is asked.
//!
//! Called for every utterance, and for partial transcripts as they grow. Knows neither agents nor
//! conversations: what went before is an argument.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aho_corasick::AhoCorasick;

use crate::budget::Tier;

mod builtin;
mod fold;
mod keywords;
mod reason;
pub use fold::Form;
pub use keywords::{Builtin, Keywords, Language, is_matchable};
pub use reason::{Choice, Reason};

/// The keywords of one agent, ready to be searched for in one pass. Costly to build, cheap to share.
pub struct Selector {
    automaton: AhoCorasick,
    /// By the automaton's pattern.
    keywords: Vec<Keyword>,
}

struct Keyword {
    calls_for: CallsFor,
    /// As the operator wrote it, for the reason.
    text: Arc<str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CallsFor {
    Deep,
    Standard,
}

#[derive(Debug, Clone, Copy)]
pub struct Utterance<'a> {
    /// What was said so far. Of a very long text only both ends are read.
    pub text: &'a str,
    pub form: Form,
    /// Turns that wait behind this one.
    pub queue_depth: u32,
    /// The tier that a caller with the right to it insists on.
    pub forced: Option<Tier>,
}

/// What went before in the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// No conversation was named. Nothing is known of it, least of all that it begins here.
    Unknown,
    Known {
        /// Before this one.
        turns: u32,
        since_deep: Option<Duration>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// A second deep turn sooner than this is a standard one.
    pub deep_interval: Duration,
    /// So many turns that wait make this one fast, unless it has to be deep.
    pub crowd: u32,
}

impl Default for Rules {
    fn default() -> Self {
        Self { deep_interval: Duration::from_secs(30), crowd: 3 }
    }
}

/// All that an utterance says about its tier. What is missing is the history.
#[derive(Debug, Clone)]
pub struct Heard {
    forced: Option<Tier>,
    /// The deep keyword said first.
    deep: Option<Arc<str>>,
    /// The standard one said first; not looked for behind a deep one.
    standard: Option<Arc<str>>,
    queue_depth: u32,
}

impl Selector {
    /// All lists together: the installation's, then the agent's. See [`Keywords`].
    pub fn new(lists: &[&Keywords]) -> Self {
        let collected = keywords::collect(lists);
        let (patterns, keywords): (Vec<String>, Vec<Keyword>) = collected.into_iter().unzip();
        let automaton = AhoCorasick::new(patterns)
            .expect("no memory holds the two thousand million states that would be too many");
        Self { automaton, keywords }
    }

    pub fn choose(&self, utterance: &Utterance<'_>, history: History, rules: &Rules) -> Choice {
        self.hear(utterance).choose(history, rules)
    }

    /// The costly half of [`Self::choose`], for callers that hold a lock while they use a history.
    pub fn hear(&self, utterance: &Utterance<'_>) -> Heard {
        let Utterance { text, form, queue_depth, forced } = *utterance;
        let mut heard = Heard { forced, deep: None, standard: None, queue_depth };
        if forced.is_none() {
            self.listen(&fold::fold(text, form), &mut heard);
        }
        heard
    }

    fn listen(&self, folded: &str, heard: &mut Heard) {
        for found in self.automaton.find_overlapping_iter(folded) {
            let keyword = &self.keywords[found.pattern().as_usize()];
            match keyword.calls_for {
                CallsFor::Deep => {
                    heard.deep = Some(Arc::clone(&keyword.text));
                    return;
                }
                CallsFor::Standard if heard.standard.is_none() => {
                    heard.standard = Some(Arc::clone(&keyword.text));
                }
                CallsFor::Standard => {}
            }
        }
    }
}

impl Heard {
    pub fn choose(&self, history: History, rules: &Rules) -> Choice {
        let (turns, since_deep) = match history {
            History::Unknown => (None, None),
            History::Known { turns, since_deep } => (Some(turns), since_deep),
        };
        let (tier, reason) = if let Some(tier) = self.forced {
            (tier, Reason::Forced)
        } else if let Some(keyword) = self.deep.clone() {
            match since_deep {
                Some(ago) if ago < rules.deep_interval => {
                    (Tier::Standard, Reason::SaidTooSoon { keyword, ago })
                }
                _ => (Tier::Deep, Reason::Said { keyword }),
            }
        } else if self.queue_depth >= rules.crowd {
            (Tier::Fast, Reason::Crowd { waiting: self.queue_depth })
        } else if let Some(keyword) = self.standard.clone() {
            (Tier::Standard, Reason::Said { keyword })
        } else if turns == Some(0) {
            (Tier::Standard, Reason::FirstTurn)
        } else {
            (Tier::Fast, Reason::Nothing)
        };
        Choice { tier, reason }
    }
}

impl fmt::Debug for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Selector({} keywords)", self.keywords.len())
    }
}

#[cfg(test)]
mod tests;
