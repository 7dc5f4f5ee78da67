use std::time::{Duration, SystemTime};

use super::{RankablePassage, rank};
use crate::memory::{AuthorTrust, MemoryQuery, SearchCandidates, terms};

#[derive(Debug, Clone, PartialEq)]
struct Note {
    text: String,
    speaker: Option<&'static str>,
    days: u64,
    trust: AuthorTrust,
}

impl RankablePassage for Note {
    fn text(&self) -> &str {
        &self.text
    }

    fn speaker(&self) -> Option<&str> {
        self.speaker
    }

    fn at(&self) -> SystemTime {
        now() - Duration::from_secs(self.days * 24 * 60 * 60)
    }

    fn trust(&self) -> AuthorTrust {
        self.trust
    }
}

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)
}

fn note(text: &str) -> Note {
    Note { text: text.to_owned(), speaker: None, days: 10, trust: AuthorTrust::Conversation }
}

/// Rare words stand in one of a thousand, `common` in every second.
fn candidates(query: &MemoryQuery, found: Vec<Note>) -> SearchCandidates<Note> {
    let with = query.terms.iter().map(|it| if it == "common" { 5_000 } else { 10 }).collect();
    SearchCandidates { found, texts: 10_000, with }
}

fn order(query: &str, notes: Vec<Note>) -> Vec<String> {
    let query = MemoryQuery::parse(query).unwrap();
    let hits = rank(&query, candidates(&query, notes), now(), 10);
    assert!(hits.is_sorted_by(|one, two| one.score >= two.score));
    assert!(hits.iter().all(|it| (0.0..=1.0).contains(&it.score)), "{hits:?}");
    hits.into_iter().map(|it| it.found.text).collect()
}

/// The texts as they should come out; they go in the other way round.
fn check(query: &str, expected: &[&str]) {
    let notes = expected.iter().rev().map(|it| note(it)).collect();
    assert_eq!(order(query, notes), expected, "{query}");
}

#[test]
fn all_words_go_before_some() {
    check("silver key", &["the key was hidden, and it was silver", "silver silver silver silver"]);
    check(
        "Elara silver key",
        &[
            "a key, and what a key, they say it is silver, of Elara they say",
            "the silver key",
            "a key",
        ],
    );
}

#[test]
fn rare_words_go_before_common_ones() {
    check("common dragon", &["the dragon", "common and common"]);
}

#[test]
fn words_that_stand_nowhere_or_everywhere_are_not_missed() {
    let query = MemoryQuery::parse("zyzzyx common dragon").unwrap();
    let found = vec![note("something common"), note("the dragon")];
    let hits =
        rank(&query, SearchCandidates { found, texts: 100, with: vec![0, 50, 3] }, now(), 10);
    assert_eq!(hits[0].found.text, "the dragon");
    assert!(hits[0].score > 0.5 && hits[1].score < 0.5, "{hits:?}");
}

#[test]
fn words_close_together_go_before_words_far_apart() {
    check(
        "silver key",
        &["they found the silver key there", "silver was what they paid for a key"],
    );
    check("\"key silver\"", &["a key, silver one", "a silver key on a key of gold"]);
}

#[test]
fn the_word_itself_goes_before_its_other_forms() {
    check("Roberts", &["it was Roberts who did it", "it was Robert who did it"]);
    check("searching", &["they were searching", "they search there"]);
}

#[test]
fn short_texts_go_before_long_ones() {
    let long = format!("the dragon {}", "and so on and so on ".repeat(20));
    check("dragon", &["the dragon came", &long]);
}

#[test]
fn what_a_speaker_said_is_found_by_the_speaker() {
    let render = |speaker, text| Note { speaker: Some(speaker), ..note(text) };
    let notes = vec![render("Bob", "the key is gone"), render("Elara", "the key is here")];
    assert_eq!(order("What did Elara say about the key?", notes)[0], "the key is here");
}

#[test]
fn what_is_new_goes_first_unless_something_fits_better() {
    let aged = |days, text| Note { days, ..note(text) };
    let notes =
        vec![aged(400, "the dragon slept"), aged(1, "the dragon woke"), aged(40, "the dragon ate")];
    let expected = ["the dragon woke", "the dragon ate", "the dragon slept"];
    assert_eq!(order("dragon", notes), expected);
    let notes = vec![aged(0, "a red boat, and a dragon in it"), aged(900, "the red dragon")];
    assert_eq!(order("red dragon", notes)[0], "the red dragon");
    let notes = vec![aged(0, "dragon dragon dragon"), aged(3_000, "he had gold, this dragon")];
    assert_eq!(order("dragon gold", notes)[0], "he had gold, this dragon");
}

#[test]
fn of_the_same_fit_what_can_be_believed_goes_first() {
    let by = |trust, text: &str| Note { trust, ..note(text) };
    let notes = vec![
        by(AuthorTrust::Agent, "the dragon is a"),
        by(AuthorTrust::Operator, "the dragon is b"),
        by(AuthorTrust::Conversation, "the dragon is c"),
    ];
    assert_eq!(order("dragon", notes), ["the dragon is b", "the dragon is c", "the dragon is a"]);
}

#[test]
fn the_same_words_are_shown_once() {
    let newer = Note { days: 1, ..note("the  dragon\ncame") };
    let query = MemoryQuery::parse("dragon").unwrap();
    let found = vec![note("the dragon came"), newer.clone(), note("a dragon")];
    let hits = rank(&query, candidates(&query, found), now(), 10);
    let found: Vec<&Note> = hits.iter().map(|it| &it.found).collect();
    assert_eq!(found, [&note("a dragon"), &newer]);
    let render = |speaker| Note { speaker: Some(speaker), ..note("I swear it") };
    assert_eq!(order("swear", vec![render("Bob"), render("Elara")]).len(), 2);
}

#[test]
fn what_has_no_word_of_it_is_not_found() {
    assert!(order("dragon", vec![note("a boat"), note("")]).is_empty());
    assert!(order("dragon", Vec::new()).is_empty());
    let query = MemoryQuery::parse("dragon").unwrap();
    assert!(rank(&query, candidates(&query, vec![note("dragon")]), now(), 0).is_empty());
}

#[test]
fn numbers_that_cannot_be_are_taken_as_they_come() {
    let query = MemoryQuery::parse("dragon gold").unwrap();
    for (texts, with) in [(0, vec![]), (1, vec![u64::MAX, 0]), (u64::MAX, vec![1, 2, 3])] {
        let found = vec![note("dragon"), note("gold dragon")];
        let hits = rank(&query, SearchCandidates { found, texts, with }, now(), 10);
        assert_eq!(hits.len(), 2);
        assert!(hits.iter().all(|it| (0.0..=1.0).contains(&it.score)), "{hits:?}");
    }
}

#[test]
fn the_same_question_gives_the_same_order() {
    let notes: Vec<Note> = (0..200).map(|at| note(&format!("dragon number {at}"))).collect();
    let first = order("dragon", notes.clone());
    assert_eq!(first, order("dragon", notes));
    assert_eq!(first[0], "dragon number 0", "what is alike keeps its order");
}

#[test]
fn very_long_texts_are_read_in_part_and_not_lost() {
    let filler = "lorem ipsum ".repeat(5_000);
    let mut notes: Vec<Note> = (0..40).map(|at| note(&format!("{filler} {at} dragon"))).collect();
    notes.push(note("a dragon"));
    let query = MemoryQuery::parse("dragon").unwrap();
    let hits = rank(&query, candidates(&query, notes), now(), 200);
    assert_eq!(hits.len(), 41);
    assert_eq!(hits[0].found.text, "a dragon");
}

#[test]
fn every_hit_is_shown_with_what_was_looked_for() {
    let query = MemoryQuery::parse("silver keys").unwrap();
    let hits = rank(&query, candidates(&query, vec![note("the Silver Key")]), now(), 1);
    assert_eq!(hits[0].snippet, "the **Silver** **Key**");
    assert_eq!(query.terms, terms("Silver Key"));
}

#[test]
fn what_repeats_or_asks_comes_after_what_tells() {
    let render = |text: &str, trust| Note { speaker: Some("Mira"), trust, days: 0, ..note(text) };
    let told =
        Note { days: 200, ..render("the key is under the third step", AuthorTrust::Conversation) };
    let asked = render("where is the key under the third step?", AuthorTrust::Conversation);
    let repeated = render("you told me that the key is under the third step", AuthorTrust::Agent);
    let expected = [told.text.clone(), asked.text.clone(), repeated.text.clone()];
    let notes = vec![repeated, asked, told];
    assert_eq!(order("key third step", notes), expected);
}
