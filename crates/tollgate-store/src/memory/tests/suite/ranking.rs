use super::*;

pub(crate) async fn all_words_go_before_some_and_rare_ones_before_common(memory: &MemoryStore) {
    let mut lines: Vec<String> = (0..60).map(|at| format!("a: nothing on day {at}")).collect();
    lines.push("a: a silver key".to_owned());
    lines.push("a: the silver key of the tavern".to_owned());
    lines.extend((0..20).map(|at| format!("a: the tavern on day {at}")));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    say(memory, &place("waterdeep"), &lines).await;
    let found = found(memory, "waterdeep", "silver tavern").await;
    assert_eq!(found[..2], ["the silver key of the tavern", "a silver key"]);
    assert_eq!(found.len(), 10);
}

pub(crate) async fn of_the_same_words_the_newer_go_first(memory: &MemoryStore) {
    let month = 30 * 24 * 3_600;
    let entries = vec![
        entry("a: the dragon was seen (old)", 0),
        entry("a: the dragon was seen (new)", 10 * month),
        entry("a: the dragon was seen (older)", 5 * month),
    ];
    memory.append(&place("waterdeep"), entries).await.unwrap();
    let asked = MemorySearch { now: at(10 * month), ..search("dragon seen") };
    let hits = memory.search_entries(&scope("waterdeep"), &asked).await.unwrap();
    let found: Vec<&str> = hits.iter().map(|hit| &*hit.found.text).collect();
    let expected = ["new", "older", "old"].map(|it| format!("the dragon was seen ({it})"));
    assert_eq!(found, expected);
    assert!(hits.is_sorted_by(|one, two| one.score > two.score));
}

/// Lists of words are read only so far: a rare word is found however long ago it was said, and of a
/// common one the newest.
pub(crate) async fn common_words_are_found_among_very_many(memory: &MemoryStore) {
    let number = |at: u64| entry(&format!("s{} | a: gold piece number {at}", at % 7), at);
    let mut entries = vec![entry("s0 | a: gold for the unicorn", 0)];
    entries.extend((1..2_500).map(number));
    memory.append(&place("waterdeep"), entries).await.unwrap();
    let query = tollgate_core::memory::MemoryQuery::parse("gold unicorn").unwrap();
    let eyes = scope("waterdeep");
    let candidates = memory.entries_with(&eyes, &query, None).await.unwrap();
    assert!(candidates.found.len() < 1_000, "{}", candidates.found.len());
    assert_eq!(candidates.found[0].text, "gold for the unicorn");
    assert_eq!((candidates.texts, candidates.with[1]), (2_500, 1));
    assert!((2_000..=2_500).contains(&candidates.with[0]), "{:?}", candidates.with);
    let last = found(memory, "waterdeep", "gold").await;
    assert_eq!(last[0], "gold piece number 2499");
    let three = session("s3");
    let inside = memory.entries_with(&eyes, &query, Some(&three)).await.unwrap();
    assert!(inside.found.iter().all(|entry| entry.session == three));
    assert_eq!((inside.texts, inside.with), (357, vec![357, 0]));
}

pub(crate) async fn who_speaks_often_hides_nothing_that_is_said_of_him(memory: &MemoryStore) {
    let mut entries = vec![entry("Tom: Elara stole the crown.", 0)];
    entries.extend((1..1_200).map(|at| entry(&format!("Elara: nothing happened on day {at}"), at)));
    memory.append(&place("waterdeep"), entries).await.unwrap();
    let found = found(memory, "waterdeep", "Elara").await;
    assert_eq!(found[0], "Elara stole the crown.");
    assert_eq!(found.len(), 10);
}

/// Each of two words is said all the time, and both together only long ago.
pub(crate) async fn words_that_are_all_common_are_found_together(memory: &MemoryStore) {
    let mut entries = vec![entry("a: silver and gold", 0)];
    for at in 1..1_200 {
        entries.push(entry(&format!("a: the silver of day {at}"), at));
        entries.push(entry(&format!("a: the gold of day {at}"), at));
    }
    memory.append(&place("waterdeep"), entries).await.unwrap();
    assert_eq!(found(memory, "waterdeep", "gold silver").await[0], "silver and gold");
}
