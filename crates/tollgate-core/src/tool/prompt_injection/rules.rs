//! Phrase table of the prompt injection scan, by goal, in the languages most tools are described
//! in.
//!
//! A phrase is a sequence of steps, each with alternatives; `*` ends a stem. The test corpus shows
//! what each phrase detects, and what it must not match.

use crate::tool::finding::InjectionPattern;

mod english;
mod others;

pub(super) fn all() -> impl Iterator<Item = &'static PhraseRule> {
    english::RULES.iter().chain(others::RULES)
}

pub(super) struct PhraseRule {
    pub(super) pattern: InjectionPattern,
    pub(super) within: RuleScope,
    /// Maximum bytes between two steps.
    pub(super) gap: usize,
    pub(super) steps: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleScope {
    Anywhere,
    /// Only in allowed values of an argument.
    Values,
}

const fn rule(pattern: InjectionPattern, gap: usize, steps: &'static [&'static str]) -> PhraseRule {
    PhraseRule { pattern, within: RuleScope::Anywhere, gap, steps }
}
