//! Whatever is said and configured.

use proptest::prelude::*;

use super::*;

/// Few letters and every kind of gap, so that keywords are often hit and often just missed.
fn text() -> impl Strategy<Value = String> {
    let word = "[abAB]{1,3}|ü|Ü|ß|é|Σ|7";
    let gap = prop::sample::select(vec![
        " ", "  ", "\n", "\t", "\r\n", "\u{a0}", "-", "_", "'", "’", ", ", "…", " \u{1b} ", "\0",
    ]);
    let pieces = prop::collection::vec((word, gap), 0..12);
    (pieces, "[abAB]{0,2}").prop_map(|(pieces, last)| {
        pieces.into_iter().map(|(word, gap)| word + gap).collect::<String>() + &last
    })
}

fn keywords() -> impl Strategy<Value = TierKeywords> {
    let list = || prop::collection::vec("[abABüß]{0,2}( [abAB]{1,2}){0,2}", 0..6);
    (list(), list()).prop_map(|(deep, standard)| TierKeywords { deep, standard, ..replaced() })
}

/// Slow and simple: the words of both, and whether one list stands somewhere in the other.
fn contains_keyword_naively(keyword: &str, text: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let text = text.to_uppercase().replace('Ü', "UE");
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let keyword = words(keyword);
    let text = words(text);
    !keyword.is_empty() && text.windows(keyword.len()).any(|some| some == keyword)
}

fn naive_tier(keywords: &TierKeywords, text: &str) -> Tier {
    let any = |list: &[String]| list.iter().any(|keyword| contains_keyword_naively(keyword, text));
    match () {
        () if any(&keywords.deep) => Tier::Deep,
        () if any(&keywords.standard) => Tier::Standard,
        () => Tier::Fast,
    }
}

fn tier(selector: &TierSelector, utterance: &Utterance<'_>) -> Tier {
    selector.choose(utterance, LATER, &SelectorRules::default()).tier
}

proptest! {
    #[test]
    fn it_finds_what_a_plain_search_by_words_finds(keywords in keywords(), text in text()) {
        let selector = TierSelector::new(&[&keywords]);
        prop_assert_eq!(tier(&selector, &utterance(&text)), naive_tier(&keywords, &text));
    }

    #[test]
    fn case_never_matters(keywords in keywords(), text in text()) {
        let selector = TierSelector::new(&[&keywords]);
        let upper = |list: &[String]| list.iter().map(|it| it.to_uppercase()).collect();
        let deep = upper(&keywords.deep);
let standard = upper(&keywords.standard);
        let shouted = TierSelector::new(&[&TierKeywords { deep, standard, ..replaced() }]);
        let expected = tier(&selector, &utterance(&text));
        for text in [text.to_uppercase(), text.to_lowercase()] {
            prop_assert_eq!(tier(&selector, &utterance(&text)), expected);
            prop_assert_eq!(tier(&shouted, &utterance(&text)), expected);
        }
    }

    #[test]
    fn a_growing_transcript_never_loses_what_was_heard(keywords in keywords(), text in text()) {
        let selector = TierSelector::new(&[&keywords]);
        let mut heard = Tier::Fast;
        for (end, _) in text.char_indices().chain([(text.len(), ' ')]) {
            let now = tier(&selector, &growing(&text[..end]));
            prop_assert!(now >= heard, "{:?} after {}", &text[..end], heard);
            heard = now;
        }
        prop_assert!(tier(&selector, &utterance(&text)) >= heard);
        prop_assert_eq!(tier(&selector, &growing(&(text.clone() + "."))), tier(&selector, &utterance(&text)));
    }

    #[test]
    fn nothing_makes_it_panic(
        deep in prop::collection::vec(any::<String>(), 0..8),
        standard in prop::collection::vec(".{0,40}", 0..8),
        text in any::<String>(),
        repeated in prop::sample::select(vec![1_usize, 1, 1, 1, 1, 1, 1, 2_000]),
        queue_depth in any::<u32>(),
    ) {
        let selector = TierSelector::new(&[&TierKeywords { deep, standard, ..replaced() }]);
        let text = text.repeat(repeated);
        for form in [TranscriptStage::Partial, TranscriptStage::Final] {
            let utterance = Utterance { form, queue_depth, ..utterance(&text) };
            let choice = selector.choose(&utterance, TurnHistory::Unknown, &SelectorRules::default());
            prop_assert!(choice.clone().cap_at(Tier::Fast).tier == Tier::Fast);
            prop_assert!(!choice.to_string().contains('\n'));
        }
    }

    #[test]
    fn a_keyword_is_always_found_where_it_stands_alone(keyword in any::<String>()) {
        let own = TierKeywords { deep: vec![keyword.clone()], ..replaced() };
        let found = tier(&TierSelector::new(&[&own]), &utterance(&format!("so, {keyword}, then")));
        prop_assert_eq!(found == Tier::Deep, is_matchable(&keyword));
    }
}
