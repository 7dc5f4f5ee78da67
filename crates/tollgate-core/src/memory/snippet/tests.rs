use proptest::prelude::*;

use crate::memory::MemoryQuery;
use crate::memory::rank::query_snippet;

fn check(query: &str, text: &str, expected: &str) {
    assert_eq!(
        query_snippet(&MemoryQuery::parse(query).unwrap(), text),
        expected,
        "{query}: {text}"
    );
}

#[test]
fn what_was_looked_for_stands_between_stars() {
    check("silver key", "The Key is silver.", "The **Key** is **silver**.");
    check("dragon", "Dragons!  A dragon's\nhoard", "**Dragons**! A **dragon**'s hoard");
    check("Urden", "Drizzt Do'Urden", "Drizzt Do'**Urden**");
    check("Do'Urden", "Drizzt Do'Urden", "Drizzt **Do'Urden**");
    check("龍王殺", "昔龍王殺す", "昔**龍王殺**す");
    check("🐉", "a 🐉 here", "a **🐉** here");
    check("nothing", "A short text.", "A short text.");
    check("x", "", "");
}

#[test]
fn stars_of_the_text_are_none() {
    check("key", "**bold** key *x* **", "∗∗bold∗∗ **key** ∗x∗ ∗∗");
    check("key", "**key**", "∗∗**key**∗∗");
}

#[test]
fn of_a_long_text_the_densest_place_is_shown() {
    let filler = "lorem ipsum dolor sit amet ".repeat(40);
    let text = format!("key {filler}the silver key of Elara {filler}silver {filler}");
    let query = MemoryQuery::parse("Elara silver key").unwrap();
    let found = query_snippet(&query, &text);
    assert!(found.contains("the **silver** **key** of **Elara** lorem"), "{found}");
    assert!(found.starts_with('…') && found.ends_with('…'), "{found}");
    let words: Vec<&str> = found.trim_matches('…').split(' ').collect();
    assert!(words.iter().all(|it| text.contains(&it.replace("**", ""))), "{found}");
    assert!(text.contains(&format!(" {} ", words[0])), "{found}");
    assert!((150..=270).contains(&found.chars().count()), "{found}");
}

#[test]
fn at_either_end_there_is_no_more() {
    let filler = "lorem ipsum dolor sit amet ".repeat(40);
    let query = MemoryQuery::parse("key").unwrap();
    let first = query_snippet(&query, &format!("key {filler}"));
    assert!(first.starts_with("**key** lorem") && first.ends_with('…'), "{first}");
    let last = query_snippet(&query, &format!("{filler}key"));
    assert!(last.starts_with('…') && last.ends_with("amet **key**"), "{last}");
    assert!(last.chars().count() > 200, "{last}");
}

#[test]
fn one_endless_word_is_cut() {
    let query = MemoryQuery::parse("x").unwrap();
    assert!(query_snippet(&query, &"語".repeat(5_000)).chars().count() <= 242);
    assert!(query_snippet(&query, &"y".repeat(60_000)).chars().count() <= 242);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_text_has_a_snippet_of_its_own(
        words in proptest::collection::vec("key|\\*{0,3}|\\PC{0,6}|[龍王é\u{301} \n\0🐉]{0,4}", 0..80),
    ) {
        let text = words.join(" ");
        let query = MemoryQuery::parse("key 龍王 é 🐉").unwrap();
        let found = query_snippet(&query, &text);
        prop_assert!(found.matches("**").count().is_multiple_of(2), "{found}");
        prop_assert!(!found.contains("***"));
        let bare = found.replace("**", "");
        prop_assert!(bare.chars().count() <= 250, "{}", bare.chars().count());
        prop_assert!(!bare.contains(|it: char| it.is_control()));
    }
}
