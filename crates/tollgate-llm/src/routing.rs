//! Routing of spoken turns: a turn stays with the realtime model, or goes to the cascaded engine as
//! a whole. Called by the realtime session for each turn of an agent with `engine: s2s`.

use std::fmt;

use tollgate_core::budget::Tier;
use tollgate_core::tier_selector::TierChoice;

/// Maximum number of tools named in a reason.
const MAX_NAMED_TOOLS: usize = 3;

/// A turn to route.
#[derive(Debug, Clone, Copy)]
pub struct SpokenTurn<'a> {
    /// Tier of the turn, within the agent's ceiling.
    pub choice: &'a TierChoice,
    /// Above this tier the realtime model cannot wait for a tool.
    pub ceiling: Tier,
    /// Tools that are visible at the turn's tier but not at that ceiling.
    pub slower: &'a [&'a str],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnRoute {
    Realtime,
    Cascaded { why: CascadeReason },
}

/// Why a turn leaves the realtime model. Displayed as `deep: "in detail" was said; archive_search
/// is too slow for realtime, which stands up to standard`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CascadeReason {
    pub choice: TierChoice,
    pub ceiling: Tier,
    pub slower: Vec<String>,
}

/// A turn is rerouted only for tools: more time alone does not help it.
pub fn route(spoken: &SpokenTurn<'_>) -> TurnRoute {
    let SpokenTurn { choice, ceiling, slower } = *spoken;
    if choice.tier <= ceiling || slower.is_empty() {
        return TurnRoute::Realtime;
    }
    let slower = slower.iter().map(|name| (*name).to_owned()).collect();
    TurnRoute::Cascaded { why: CascadeReason { choice: choice.clone(), ceiling, slower } }
}

impl fmt::Display for CascadeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { choice, ceiling, slower } = self;
        write!(f, "{choice}; ")?;
        match slower.as_slice() {
            [only] => write!(f, "{only} is")?,
            many if many.len() <= MAX_NAMED_TOOLS => write!(f, "{} are", many.join(", "))?,
            many => {
                let named = many[..MAX_NAMED_TOOLS].join(", ");
                write!(f, "{named} and {} more are", many.len() - MAX_NAMED_TOOLS)?;
            }
        }
        write!(f, " too slow for realtime, whose ceiling is {ceiling}")
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::budget::Tier::{self, Deep, Fast, Standard};
    use tollgate_core::tier_selector::{TierChoice, TierReason};

    use super::{SpokenTurn, TurnRoute, route};

    fn check(tier: Tier, ceiling: Tier, slower: &[&str], expected: &str) {
        let choice =
            TierChoice { tier, reason: TierReason::Keyword { keyword: "in detail".into() } };
        let shown = match route(&SpokenTurn { choice: &choice, ceiling, slower }) {
            TurnRoute::Realtime => "realtime".to_owned(),
            TurnRoute::Cascaded { why } => why.to_string(),
        };
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_turn_leaves_the_realtime_model_only_for_tools_that_it_cannot_wait_for() {
        check(Fast, Standard, &[], "realtime");
        check(Standard, Standard, &["archive"], "realtime");
        check(Deep, Standard, &[], "realtime");
        check(
            Deep,
            Standard,
            &["archive"],
            "deep: \"in detail\" was said; archive is too slow for realtime, whose ceiling is \
             standard",
        );
        check(
            Standard,
            Fast,
            &["a", "b"],
            "standard: \"in detail\" was said; a, b are too slow for realtime, whose ceiling is \
             fast",
        );
        check(
            Deep,
            Fast,
            &["a", "b", "c", "d", "e"],
            "deep: \"in detail\" was said; a, b, c and 2 more are too slow for realtime, whose \
             ceiling is fast",
        );
    }
}
