use std::thread;

use tollgate_core::tier_selector::TierKeywords;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

struct Test {
    conversations: Conversations,
    selector: TierSelector,
    principal: Principal,
    rules: SelectorRules,
    start: Instant,
}

impl Test {
    #[expect(clippy::disallowed_methods, reason = "any instant will do as the start of a script")]
    fn new() -> Self {
        Self {
            conversations: Conversations::default(),
            selector: TierSelector::new(&[&TierKeywords::default()]),
            principal: Principal::local(),
            rules: SelectorRules::default(),
            start: Instant::now(),
        }
    }

    /// Says hello in conversation `c`, if `change` does not say otherwise.
    fn choose<'a>(
        &'a self,
        seconds: u32,
        change: impl FnOnce(SelectorRequest<'a>) -> SelectorRequest<'a>,
    ) -> TierChoice {
        let utterance =
            Utterance { text: "hello", form: TranscriptStage::Final, queue_depth: 0, forced: None };
        let request = SelectorRequest {
            principal: &self.principal,
            conversation: Some("c"),
            utterance,
            selector: &self.selector,
            rules: &self.rules,
            ceiling: None,
        };
        self.conversations.choose(&change(request), self.start + seconds * SECOND)
    }

    /// One line per turn: `second conversation: text`. Partial texts end in `~`.
    fn check(&self, script: &str) {
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (turn, expected) = line.split_once(" -> ").unwrap();
            let (place, text) = turn.split_once(": ").unwrap();
            let (seconds, conversation) = place.split_once(' ').unwrap();
            let (text, form) = match text.strip_suffix('~') {
                Some(text) => (text, TranscriptStage::Partial),
                None => (text, TranscriptStage::Final),
            };
            let choice = self.choose(seconds.parse().unwrap(), |request| SelectorRequest {
                conversation: (conversation != "-").then_some(conversation),
                utterance: Utterance { text, form, ..request.utterance },
                ..request
            });
            assert_eq!(choice.to_string(), expected, "{line}");
        }
    }
}

#[test]
fn a_conversation_has_one_first_turn_and_rests_between_deep_ones() {
    Test::new().check(
        r#"
        0 a: hello -> standard: first turn of the conversation
        1 a: hello -> fast: no reason for a higher tier
        2 a: in detail -> deep: "in detail" was said
        14 a: in detail -> standard: "in detail" was said, but the last deep turn was 12 s ago
        15 b: in detail -> deep: "in detail" was said
        31 a: in detail -> standard: "in detail" was said, but the last deep turn was 29 s ago
        32 a: in detail -> deep: "in detail" was said
        33 b: hello -> fast: no reason for a higher tier
        "#,
    );
}

#[test]
fn partial_utterances_are_no_turns() {
    Test::new().check(
        r#"
        0 a: hel~ -> standard: first turn of the conversation
        0 a: hello the~ -> standard: first turn of the conversation
        1 a: in detail ~ -> deep: "in detail" was said
        1 a: in detail please~ -> deep: "in detail" was said
        2 a: in detail please -> deep: "in detail" was said
        3 a: in detail ~ -> standard: "in detail" was said, but the last deep turn was 1 s ago
        4 a: hello -> fast: no reason for a higher tier
        "#,
    );
}

#[test]
fn without_a_name_nothing_is_remembered_and_no_turn_is_the_first() {
    let test = Test::new();
    test.check(
        r#"
        0 -: hello -> fast: no reason for a higher tier
        1 -: in detail -> deep: "in detail" was said
        2 -: in detail -> deep: "in detail" was said
        "#,
    );
    let unnamed = test.choose(3, |request| SelectorRequest { conversation: Some(""), ..request });
    assert_eq!(unnamed.tier, Tier::Fast);
}

#[test]
fn an_hour_of_silence_ends_a_conversation() {
    Test::new().check(
        "
        0 a: hello -> standard: first turn of the conversation
        3599 a: hello -> fast: no reason for a higher tier
        7198 a: hello -> fast: no reason for a higher tier
        10798 a: hello -> standard: first turn of the conversation
        10799 a: hello -> fast: no reason for a higher tier
        ",
    );
}

#[test]
fn a_turn_that_the_ceiling_made_less_than_deep_is_no_deep_turn() {
    let test = Test::new();
    let choose = |seconds| {
        test.choose(seconds, |request| SelectorRequest {
            ceiling: Some(Tier::Standard),
            utterance: Utterance { text: "in detail", ..request.utterance },
            ..request
        })
    };
    let expected = r#"standard: "in detail" was said; the agent's ceiling is standard"#;
    assert_eq!(choose(0).to_string(), expected);
    assert_eq!(choose(1).to_string(), expected);
    test.check(r#"2 c: in detail -> deep: "in detail" was said"#);
}

#[test]
fn an_explicit_deep_turn_is_a_deep_turn_whatever_the_ceiling() {
    let test = Test::new();
    let choice = test.choose(0, |request| SelectorRequest {
        ceiling: Some(Tier::Fast),
        utterance: Utterance { forced: Some(Tier::Deep), ..request.utterance },
        ..request
    });
    assert_eq!(choice.to_string(), "deep: requested explicitly");
    test.check(
        r#"9 c: in detail -> standard: "in detail" was said, but the last deep turn was 9 s ago"#,
    );
}

#[test]
fn principals_do_not_share_conversations() {
    let test = Test::new();
    let anna = Principal::from_name("anna");
    let ben = Principal::from_name("ben");
    let tier = |seconds, principal: &Principal, conversation| {
        test.choose(seconds, |request| SelectorRequest {
            principal,
            conversation: Some(conversation),
            ..request
        })
        .tier
    };
    assert_eq!(tier(0, &anna, "c"), Tier::Standard);
    assert_eq!(tier(1, &ben, "c"), Tier::Standard);
    assert_eq!(tier(2, &ben, "c"), Tier::Fast);
    // Names that would be one if they were simply put together.
    assert_eq!(tier(3, &Principal::from_name("be"), "nc"), Tier::Standard);
}

#[test]
fn ids_may_be_long_and_strange() {
    let test = Test::new();
    let long = "x".repeat(1 << 20);
    let other = long.clone() + "x";
    let last = format!("{}y", &long[1..]);
    for id in [&long, &other, &last, "\0", "ü\u{301}\n", " "] {
        let tier = |seconds| {
            test.choose(seconds, |request| SelectorRequest { conversation: Some(id), ..request })
                .tier
        };
        assert_eq!((tier(0), tier(1)), (Tier::Standard, Tier::Fast));
    }
}

#[test]
fn a_flood_of_conversations_is_bounded_and_washes_away_the_silent_ones() {
    let test = Test::new();
    let tier = |conversation: &str| {
        test.choose(0, |request| SelectorRequest { conversation: Some(conversation), ..request })
            .tier
    };
    tier("silent");
    for at in 0..3 * MAX_CONVERSATIONS {
        assert_eq!(tier(&at.to_string()), Tier::Standard);
        if at % (MAX_CONVERSATIONS / 4) == 0 {
            let expected = if at == 0 { Tier::Standard } else { Tier::Fast };
            assert_eq!(tier("talking"), expected, "{at}");
        }
        let remembered = test.conversations.remembered.lock();
        assert!(remembered.young.len() + remembered.old.len() <= MAX_CONVERSATIONS);
    }
    assert_eq!(tier("silent"), Tier::Standard, "it begins anew");
}

#[test]
fn of_many_deep_turns_at_once_one_is_deep() {
    let test = Test::new();
    let deep = thread::scope(|scope| {
        let turn = || {
            let choice = test.choose(0, |request| SelectorRequest {
                utterance: Utterance { text: "in detail", ..request.utterance },
                ..request
            });
            usize::from(choice.tier == Tier::Deep)
        };
        let turns: Vec<_> = (0..16).map(|_| scope.spawn(turn)).collect();
        turns.into_iter().map(|turn| turn.join().unwrap()).sum::<usize>()
    });
    assert_eq!(deep, 1);
}

#[test]
fn a_clock_that_seems_to_go_back_does_no_harm() {
    Test::new().check(
        r#"
        100 a: in detail -> deep: "in detail" was said
        90 a: in detail -> standard: "in detail" was said, but the last deep turn was less than 1 s ago
        "#,
    );
}
