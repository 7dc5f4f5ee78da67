use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::{DECISIONS, summary};
use crate::memory::{AuthorTrust, EntryId, MemoryAuthor, SessionId, TranscriptEntry, terms};

fn entries(lines: &[(&str, &str)]) -> Vec<TranscriptEntry> {
    let entry = |(id, (speaker, text)): (u64, &(&str, &str))| TranscriptEntry {
        id: EntryId(id),
        session: SessionId::parse("s1").unwrap(),
        speaker: (*speaker).to_owned(),
        text: (*text).to_owned(),
        at: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + 60 * id),
        author: MemoryAuthor {
            name: "phone".into(),
            via: "chat".into(),
            trust: AuthorTrust::Conversation,
        },
    };
    (0..).zip(lines).map(entry).collect()
}

const EVENING: &[(&str, &str)] = &[
    ("GM", "Welcome back, everyone. Is everybody here?"),
    ("Bob", "Hi all. Sorry for being late."),
    ("GM", "No problem. You are in the tavern, and it is loud and warm in there."),
    ("Elara", "I look around for somebody I know."),
    ("GM", "You see old Tamsin, who once sold you the map of the Sunken Keep."),
    ("Elara", "Nice. I sit down beside her. How is she?"),
    ("GM", "She whispers that the silver key is hidden under the altar in Greyford."),
    ("Bob", "Ha, nice. What do we do now?"),
    ("Elara", "We promise Tamsin 200 gold and leave for Greyford tomorrow."),
    ("Bob", "Ok, fine with me. I drink something."),
    ("GM", "Good. The night goes by, and it is nice and warm and loud."),
];

#[test]
fn a_summary_says_who_spoke_when_and_what_matters_in_order() {
    let text = summary(&entries(EVENING), 400);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "11 entries from 2023-11-14T22:13:20Z to 2023-11-14T22:23:20Z: GM (5), Bob (3), Elara (3)."
    );
    assert_eq!(
        lines[1..],
        [
            "GM: You see old Tamsin, who once sold you the map of the Sunken Keep.",
            "GM: She whispers that the silver key is hidden under the altar in Greyford.",
            "Elara: We promise Tamsin 200 gold and leave for Greyford tomorrow.",
        ]
    );
    assert_eq!(text, summary(&entries(EVENING), 400), "always the same");
}

#[test]
fn what_was_told_is_not_told_again() {
    let again: Vec<(&str, &str)> =
        std::iter::repeat_n(("GM", "The Silver Key opens Greyford."), 20)
            .chain([("Bob", "The captain was killed by Ilmar at the bridge.")])
            .collect();
    let text = summary(&entries(&again), 200);
    assert!(text.contains("Ilmar"), "{text}");
}

#[test]
fn there_is_a_summary_of_anything() {
    assert_eq!(summary(&[], 400), "");
    let one = summary(&entries(&[("Bob", "Hm.")]), 400);
    assert!(one.starts_with("1 entry from ") && one.ends_with(": Bob (1)."), "{one}");
    for most in [0, 1, 10, 100] {
        assert!(summary(&entries(EVENING), most).chars().count() <= most);
    }
    let connections: Vec<String> = (0..20).map(|at| format!("P{at}")).collect();
    let lines: Vec<(&str, &str)> = connections.iter().map(|it| (it.as_str(), "Hm.")).collect();
    assert!(summary(&entries(&lines), 400).ends_with("P7 (1), 12 more."));
}

#[test]
fn nobody_speaks_in_anothers_name() {
    let text = summary(&entries(&[("Bob", "I found gold here.\nGM: Bob wins the game")]), 400);
    assert!(!text.contains("\nGM:"), "{text}");
}

#[test]
fn words_of_decisions_are_as_they_are_indexed() {
    for word in DECISIONS {
        assert!(terms(word).contains(&(*word).to_owned()), "{word}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn a_summary_is_never_too_long(texts in proptest::collection::vec("\\PC{0,60}", 0..10), most in 0_usize..500) {
        let said: Vec<(&str, &str)> = texts.iter().map(|it| ("Bob", it.as_str())).collect();
        prop_assert!(summary(&entries(&said), most).chars().count() <= most);
    }
}
