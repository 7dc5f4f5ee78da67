use super::*;

mod lists;
mod properties;

const SECOND: Duration = Duration::from_secs(1);
const LATER: TurnHistory = TurnHistory::Known { turns: 3, since_deep: None };

/// A list of its own: `deep word, deep phrase | standard word, …`.
fn listed(lists: &str) -> TierKeywords {
    let (deep, standard) = lists.split_once('|').unwrap_or((lists, ""));
    let read = |list: &str| list.split(',').map(str::to_owned).collect();
    TierKeywords { deep: read(deep), standard: read(standard), ..replaced() }
}

fn replaced() -> TierKeywords {
    TierKeywords { builtin: BuiltinKeywords::Replaced, ..TierKeywords::default() }
}

fn utterance(text: &str) -> Utterance<'_> {
    Utterance { text, form: TranscriptStage::Final, queue_depth: 0, forced: None }
}

fn growing(text: &str) -> Utterance<'_> {
    Utterance { form: TranscriptStage::Partial, ..utterance(text) }
}

/// In the middle of a conversation, with `lists` only.
fn check(lists: &str, text: &str, expected: &str) {
    let choice = TierSelector::new(&[&listed(lists)]).choose(
        &utterance(text),
        LATER,
        &SelectorRules::default(),
    );
    assert_eq!(choice.to_string(), expected, "{text:?} with {lists:?}");
}

/// With the built-in words.
fn check_order(utterance: Utterance<'_>, history: TurnHistory, expected: &str) {
    let choice = TierSelector::new(&[&TierKeywords::default()]).choose(
        &utterance,
        history,
        &SelectorRules::default(),
    );
    assert_eq!(choice.to_string(), expected, "{utterance:?} {history:?}");
}

#[test]
fn the_rules_hold_in_their_order() {
    let first = TurnHistory::Known { turns: 0, since_deep: None };
    let crowded = |text| Utterance { queue_depth: 4, ..utterance(text) };
    check_order(utterance("Hello there"), LATER, "fast: no reason for a higher tier");
    check_order(utterance("Hello there"), first, "standard: first turn of the conversation");
    check_order(utterance("Who was that?"), first, r#"standard: "who was" was said"#);
    check_order(crowded("Who was that?"), first, "fast: 4 turns are waiting");
    check_order(crowded("Hello there"), first, "fast: 4 turns are waiting");
    check_order(crowded("Tell me in detail"), first, r#"deep: "in detail" was said"#);
    let forced =
        Utterance { forced: Some(Tier::Fast), queue_depth: u32::MAX, ..utterance("in detail") };
    check_order(forced, first, "fast: requested explicitly");
    let forced = Utterance { forced: Some(Tier::Deep), ..crowded("") };
    check_order(forced, LATER, "deep: requested explicitly");
}

#[test]
fn a_queue_counts_from_its_third_turn_on() {
    for (queue_depth, expected) in [
        (0, r#"standard: "quest" was said"#),
        (2, r#"standard: "quest" was said"#),
        (3, "fast: 3 turns are waiting"),
        (u32::MAX, "fast: 4294967295 turns are waiting"),
    ] {
        check_order(Utterance { queue_depth, ..utterance("the quest") }, LATER, expected);
    }
    let eager = SelectorRules { backlog: 1, ..SelectorRules::default() };
    let utterance = Utterance { queue_depth: 1, ..utterance("the quest") };
    let choice = TierSelector::new(&[]).choose(&utterance, LATER, &eager);
    assert_eq!(choice.to_string(), "fast: 1 turn is waiting");
}

#[test]
fn a_second_deep_turn_within_the_interval_is_a_standard_one() {
    let ago = |since_deep| TurnHistory::Known { turns: 1, since_deep: Some(since_deep) };
    let crowded = Utterance { queue_depth: 9, ..utterance("in detail") };
    for (since_deep, expected) in [
        (12 * SECOND, r#"standard: "in detail" was said, but the last deep turn was 12 s ago"#),
        (
            Duration::ZERO,
            r#"standard: "in detail" was said, but the last deep turn was less than 1 s ago"#,
        ),
        (
            30 * SECOND - Duration::from_nanos(1),
            r#"standard: "in detail" was said, but the last deep turn was 29 s ago"#,
        ),
        (30 * SECOND, r#"deep: "in detail" was said"#),
        (Duration::MAX, r#"deep: "in detail" was said"#),
    ] {
        check_order(utterance("in detail"), ago(since_deep), expected);
        check_order(crowded, ago(since_deep), expected);
    }
    let selector = TierSelector::new(&[&TierKeywords::default()]);
    let patient = SelectorRules { deep_interval: 3600 * SECOND, ..SelectorRules::default() };
    assert_eq!(
        selector.choose(&utterance("in detail"), ago(1_000 * SECOND), &patient).to_string(),
        r#"standard: "in detail" was said, but the last deep turn was 16 min ago"#
    );
    let never = SelectorRules { deep_interval: Duration::ZERO, ..SelectorRules::default() };
    assert_eq!(
        selector.choose(&utterance("in detail"), ago(Duration::ZERO), &never).tier,
        Tier::Deep
    );
}

#[test]
fn without_a_conversation_no_turn_is_the_first() {
    check_order(utterance("Hello"), TurnHistory::Unknown, "fast: no reason for a higher tier");
    check_order(utterance("in detail"), TurnHistory::Unknown, r#"deep: "in detail" was said"#);
    check_order(utterance(""), TurnHistory::Unknown, "fast: no reason for a higher tier");
}

#[test]
fn a_ceiling_caps_all_but_an_explicit_wish() {
    let selector = TierSelector::new(&[&TierKeywords::default()]);
    let choose =
        |utterance: Utterance<'_>| selector.choose(&utterance, LATER, &SelectorRules::default());
    let deep = choose(utterance("in detail"));
    assert_eq!(deep.clone().cap_at(Tier::Deep), deep);
    let expected = r#"standard: "in detail" was said; the agent's ceiling is standard"#;
    assert_eq!(deep.clone().cap_at(Tier::Standard).to_string(), expected);
    let expected = r#"fast: "in detail" was said; the agent's ceiling is fast"#;
    assert_eq!(deep.clone().cap_at(Tier::Fast).to_string(), expected);
    assert_eq!(deep.cap_at(Tier::Standard).cap_at(Tier::Fast).to_string(), expected);
    let fast = choose(utterance("hello"));
    assert_eq!(fast.clone().cap_at(Tier::Fast), fast);
    let forced = choose(Utterance { forced: Some(Tier::Deep), ..utterance("") });
    assert_eq!(forced.cap_at(Tier::Fast).to_string(), "deep: requested explicitly");
}

#[test]
fn keywords_are_whole_words() {
    let nothing = "fast: no reason for a higher tier";
    for text in ["request", "question", "conquest", "Quests", "quest5", "5quest", "questo", ""] {
        check("|quest", text, nothing);
    }
    for text in
        ["quest", "QUEST", "a Quest.", "(quest)", "quest's", "side-quest", "side_quest", "¡quest!"]
    {
        check("|quest", text, r#"standard: "quest" was said"#);
    }
    check("|search", "my research", nothing);
}

#[test]
fn phrases_match_across_any_gap_but_not_across_other_words() {
    let found = r#"deep: "in detail" was said"#;
    for text in
        ["in detail", "IN   DETAIL", "in\r\n\tdetail", "in\u{a0}detail", "in-detail", "in, detail"]
    {
        check("in detail", text, found);
    }
    check("in \n detail ", "in detail", found);
    for text in ["in great detail", "indetail", "within detail", "in details", "detail in"] {
        check("in detail", text, "fast: no reason for a higher tier");
    }
}

#[test]
fn keywords_are_written_as_the_operator_likes() {
    check(
        "Straße der Könige",
        "STRASSE DER KO\u{308}NIGE",
        r#"deep: "Straße der Könige" was said"#,
    );
    check("fu\u{308}hren", "Führen", "deep: \"fu\u{308}hren\" was said");
    check("İZMİR", "izmir", r#"deep: "İZMİR" was said"#);
    check("What’s up", "what's up", r#"deep: "What’s up" was said"#);
    check("DeepSearch", "deepsearch", r#"deep: "DeepSearch" was said"#);
    check("look-up", "look up", r#"deep: "look-up" was said"#);
    check("记得", "你还记得吗", r#"deep: "记得" was said"#);
}

#[test]
fn a_reason_repeats_a_keyword_on_one_line_and_not_at_length() {
    check("a\nb\u{1b}\u{7f}c", "a b c", r#"deep: "a b c" was said"#);
    let long = "la ".repeat(100);
    let expected = format!("deep: \"{}…\" was said", "la ".repeat(20));
    check(&long, &long, &expected);
}

#[test]
fn what_cannot_be_heard_is_ignored() {
    let selector = TierSelector::new(&[&listed(" ,,\t\n,?!,…,🎲|,  ")]);
    assert_eq!(format!("{selector:?}"), "Selector(0 keywords)");
    for text in ["", " ", "?!", "🎲", "anything"] {
        let choice = selector.choose(&utterance(text), LATER, &SelectorRules::default());
        assert_eq!(choice.tier, Tier::Fast, "{text:?}");
    }
    assert!(is_matchable("2"));
    assert!(is_matchable("é"));
    assert!(!is_matchable(" ?! "));
}

#[test]
fn a_keyword_in_both_lists_is_deep() {
    check("Quest|quest", "a quest", r#"deep: "Quest" was said"#);
    check("a quest|quest", "a quest", r#"deep: "a quest" was said"#);
    check("quest|a quest", "a quest", r#"deep: "quest" was said"#);
}

#[test]
fn keywords_that_begin_or_overlap_each_other_are_all_found() {
    check("|a,a b,a b c", "a b c", r#"standard: "a" was said"#);
    check("a b c|a,a b", "a b c", r#"deep: "a b c" was said"#);
    check("b c d|a b c", "a b c d", r#"deep: "b c d" was said"#);
    check("a b c x|b c", "a b c d", r#"standard: "b c" was said"#);
    check("c|b c", "b c", r#"deep: "c" was said"#);
}

#[test]
fn the_keyword_said_first_is_the_reason() {
    check("one,two", "say two and one", r#"deep: "two" was said"#);
    check("|one,two", "say two and one", r#"standard: "two" was said"#);
}

#[test]
fn a_word_that_may_still_grow_does_not_count() {
    let nothing = "fast: no reason for a higher tier";
    let quest = r#"standard: "quest" was said"#;
    check_order(growing("about the quest"), LATER, nothing);
    check_order(growing("about the question"), LATER, nothing);
    check_order(growing("about the quest "), LATER, quest);
    check_order(growing("about the quest,"), LATER, quest);
    check_order(growing("about the quest i"), LATER, quest);
    check_order(growing("Explain it in detail"), LATER, r#"standard: "explain" was said"#);
    check_order(growing("Explain it in detail."), LATER, r#"deep: "in detail" was said"#);
    check_order(
        growing(""),
        TurnHistory::Known { turns: 0, since_deep: None },
        "standard: first turn of the conversation",
    );
}

#[test]
fn of_megabytes_both_ends_are_heard() {
    let filler = "lorem ipsum ".repeat(200_000);
    let found = r#"deep: "in detail" was said"#;
    check_order(utterance(&format!("In detail: {filler}")), LATER, found);
    check_order(utterance(&format!("{filler} in detail")), LATER, found);
    check_order(
        utterance(&format!("{filler} in detail {filler}")),
        LATER,
        "fast: no reason for a higher tier",
    );
}

#[test]
fn ten_thousand_keywords_are_as_good_as_one() {
    let many = TierKeywords {
        deep: (0..10_000).map(|at| format!("Word{at} and more")).collect(),
        standard: (1..1_000).map(|length| "na ".repeat(length)).collect(),
        ..replaced()
    };
    let selector = TierSelector::new(&[&many]);
    let choose =
        |text| selector.choose(&utterance(text), LATER, &SelectorRules::default()).to_string();
    assert_eq!(choose("so word9999 AND more"), r#"deep: "Word9999 and more" was said"#);
    assert_eq!(choose("na"), r#"standard: "na" was said"#);
    assert_eq!(choose("word10000 and more"), "fast: no reason for a higher tier");
}
