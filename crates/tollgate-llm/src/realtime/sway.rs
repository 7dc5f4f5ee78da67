//! The tier of a live session: follows what is said, up at once and down only when it stays low.
//! Each change costs the provider its prompt cache, and tools that come and go confuse models. Pure.

use tollgate_core::budget::Tier;

use super::events::Form;

/// So many turns in a row must want less before the session has less.
const CALM: u32 = 2;

#[derive(Debug)]
pub(super) struct Sway {
    tier: Tier,
    /// Turns in a row that wanted less, and the most that one of them wanted.
    lower: Option<(u32, Tier)>,
}

impl Sway {
    pub(super) fn at(tier: Tier) -> Self {
        Self { tier, lower: None }
    }

    pub(super) fn tier(&self) -> Tier {
        self.tier
    }

    /// What was said calls for `tier`. Says whether the session's changed.
    pub(super) fn heard(&mut self, tier: Tier, form: Form) -> bool {
        if tier >= self.tier {
            let has_changed = tier > self.tier;
            // An utterance that is not over may still want more, and never less.
            if has_changed || form == Form::Final {
                *self = Self::at(tier);
            }
            return has_changed;
        }
        if form == Form::Partial {
            return false;
        }
        let (turns, most) =
            self.lower.map_or((1, tier), |(turns, most)| (turns + 1, most.max(tier)));
        if turns < CALM {
            self.lower = Some((turns, most));
            return false;
        }
        *self = Self::at(most);
        true
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::budget::Tier::{self, Deep, Fast, Standard};

    use super::super::events::Form::{self, Final, Partial};
    use super::Sway;

    fn check(start: Tier, said: &[(Tier, Form, Tier)]) {
        let mut sway = Sway::at(start);
        for (at, (tier, form, expected)) in said.iter().enumerate() {
            let before = sway.tier();
            assert_eq!(sway.heard(*tier, *form), before != *expected, "{at}");
            assert_eq!(sway.tier(), *expected, "{at}");
        }
    }

    #[test]
    fn it_rises_with_the_first_word_and_falls_after_two_calm_turns() {
        check(
            Standard,
            &[(Deep, Partial, Deep), (Deep, Final, Deep), (Fast, Final, Deep), (Fast, Final, Fast)],
        );
    }

    #[test]
    fn words_that_are_not_over_lower_nothing() {
        check(
            Standard,
            &[(Fast, Partial, Standard), (Fast, Partial, Standard), (Fast, Partial, Standard)],
        );
    }

    #[test]
    fn a_turn_that_wants_as_much_begins_the_count_anew() {
        check(
            Deep,
            &[
                (Fast, Final, Deep),
                (Deep, Final, Deep),
                (Fast, Final, Deep),
                (Standard, Final, Standard),
            ],
        );
    }
}
