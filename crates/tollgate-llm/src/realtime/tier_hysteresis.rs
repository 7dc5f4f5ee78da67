//! Tier hysteresis: the tier of a realtime session follows the utterances, up at once and down only
//! when it stays low.
//!
//! Each change invalidates the provider's prompt cache, and tools that come and go confuse models.
//! Pure.

use tollgate_core::budget::Tier;

use super::events::UtteranceStage;

/// Consecutive turns that must need a lower tier before the session gets it.
const TURNS_BEFORE_LOWERING: u32 = 2;

#[derive(Debug)]
pub(super) struct TierHysteresis {
    tier: Tier,
    /// Consecutive turns that needed a lower tier, and the highest tier among them.
    lower: Option<(u32, Tier)>,
}

impl TierHysteresis {
    pub(super) fn at(tier: Tier) -> Self {
        Self { tier, lower: None }
    }

    pub(super) fn tier(&self) -> Tier {
        self.tier
    }

    /// Records that an utterance needs `tier`. Returns whether the session's tier changed.
    pub(super) fn observe(&mut self, tier: Tier, form: UtteranceStage) -> bool {
        if tier >= self.tier {
            let has_changed = tier > self.tier;
            // An unfinished utterance can raise the tier, but never lower it.
            if has_changed || form == UtteranceStage::Final {
                *self = Self::at(tier);
            }
            return has_changed;
        }
        if form == UtteranceStage::Partial {
            return false;
        }
        let (turns, most) =
            self.lower.map_or((1, tier), |(turns, most)| (turns + 1, most.max(tier)));
        if turns < TURNS_BEFORE_LOWERING {
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

    use super::super::events::UtteranceStage::{self, Final, Partial};
    use super::TierHysteresis;

    fn check(start: Tier, lines: &[(Tier, UtteranceStage, Tier)]) {
        let mut hysteresis = TierHysteresis::at(start);
        for (at, (tier, form, expected)) in lines.iter().enumerate() {
            let before = hysteresis.tier();
            assert_eq!(hysteresis.observe(*tier, *form), before != *expected, "{at}");
            assert_eq!(hysteresis.tier(), *expected, "{at}");
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
