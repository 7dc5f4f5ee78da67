//! The phrases that give a poisoned definition away: a table, by what they try, in the languages
//! that most tools are described in. A phrase is a row of steps, each with its alternatives; `*`
//! ends a stem. The test corpus says what each is worth, and what it must leave alone.

use crate::tool::finding::Ploy;

mod english;
mod others;

pub(super) fn all() -> impl Iterator<Item = &'static Rule> {
    english::RULES.iter().chain(others::RULES)
}

pub(super) struct Rule {
    pub(super) ploy: Ploy,
    pub(super) within: Where,
    /// Bytes between two steps at most.
    pub(super) gap: usize,
    pub(super) steps: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    Anywhere,
    /// Only in what an argument may be.
    Values,
}

const fn rule(ploy: Ploy, gap: usize, steps: &'static [&'static str]) -> Rule {
    Rule { ploy, within: Where::Anywhere, gap, steps }
}
