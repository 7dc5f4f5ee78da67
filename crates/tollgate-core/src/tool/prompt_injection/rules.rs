//! The phrases that give a poisoned definition away: a table, by what they try, in the languages
//! that most tools are described in.
//!
//! A phrase is a row of steps, each with its alternatives; `*` ends a stem. The test corpus says
//! what each is worth, and what it must leave alone.

use crate::tool::finding::InjectionPattern;

mod english;
mod others;

pub(super) fn all() -> impl Iterator<Item = &'static PhraseRule> {
    english::RULES.iter().chain(others::RULES)
}

pub(super) struct PhraseRule {
    pub(super) ploy: InjectionPattern,
    pub(super) within: RuleScope,
    /// Bytes between two steps at most.
    pub(super) gap: usize,
    pub(super) steps: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleScope {
    Anywhere,
    /// Only in what an argument may be.
    Values,
}

const fn rule(ploy: InjectionPattern, gap: usize, steps: &'static [&'static str]) -> PhraseRule {
    PhraseRule { ploy, within: RuleScope::Anywhere, gap, steps }
}
