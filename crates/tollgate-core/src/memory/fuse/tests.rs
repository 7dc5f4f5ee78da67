use std::time::{Duration, SystemTime};

use super::fuse;
use crate::memory::{
    Audience, AuthorTrust, Fact, FactId, FactSource, MemoryAuthor, MemoryHit, MemoryQuery,
};

fn fact(id: u64) -> Fact {
    Fact {
        id: FactId(id),
        text: format!("fact {id}"),
        at: SystemTime::UNIX_EPOCH + Duration::from_secs(1_000),
        source: FactSource::Stated,
        session: None,
        entity: None,
        topic: None,
        audience: Audience::Shared,
        author: MemoryAuthor {
            name: "ops".into(),
            via: "api".into(),
            trust: AuthorTrust::Conversation,
        },
    }
}

/// `worded` and `near`: numbers of facts, and how well they fit.
fn check(worded: &[(u64, f32)], near: &[(u64, f32)], expected: &[u64]) {
    let query = MemoryQuery::parse("fact").unwrap();
    let hit = |(id, score): &(u64, f32)| MemoryHit {
        found: fact(*id),
        score: *score,
        snippet: String::new(),
    };
    let near = near.iter().map(|(id, cosine)| (fact(*id), *cosine)).collect();
    let fused = fuse(&query, worded.iter().map(hit).collect(), near, expected.len().max(1));
    assert!(fused.iter().all(|it| (0.0..=1.0).contains(&it.score)), "{fused:?}");
    let found: Vec<u64> = fused.iter().map(|it| it.found.id.0).collect();
    assert_eq!(found, expected, "{worded:?} {fused:?}");
}

#[test]
fn one_list_alone_stays_as_it_is() {
    check(&[(1, 0.9), (2, 0.6), (3, 0.1)], &[], &[1, 2, 3]);
    check(&[], &[(1, 0.9), (2, 0.6), (3, 0.1)], &[1, 2, 3]);
    check(&[], &[(1, 0.4)], &[1]);
    check(&[], &[], &[]);
}

#[test]
fn what_both_have_goes_first() {
    check(&[(1, 0.7), (2, 0.6)], &[(3, 0.8), (2, 0.75), (4, 0.3)], &[2, 3, 1, 4]);
}

/// A question in other words: what shares a word with it by chance stays behind what is meant.
#[test]
fn a_chance_word_does_not_lift_over_the_meaning() {
    let near = [(1, 0.62), (2, 0.55), (3, 0.41), (4, 0.20), (5, 0.15)];
    check(&[(9, 0.2), (8, 0.15), (5, 0.2)], &near, &[1, 2, 3, 5, 4]);
}

/// A name: no model knows it, but the words do.
#[test]
fn a_name_lifts_over_what_is_only_alike() {
    let near = [(1, 0.42), (2, 0.41), (3, 0.40), (7, 0.39), (4, 0.30)];
    check(&[(7, 0.95)], &near, &[7, 1, 2]);
    check(&[(9, 0.95)], &[(1, 0.42), (2, 0.36), (3, 0.34), (4, 0.30)], &[1, 9, 2, 3]);
}

/// All equally near: nothing is known from the meaning, the words decide.
#[test]
fn a_model_that_tells_nothing_apart_decides_nothing() {
    check(&[(4, 0.6)], &[(1, 0.81), (2, 0.805), (3, 0.80), (4, 0.80)], &[4, 1, 2, 3]);
    check(&[(9, 0.8)], &[(1, 0.81), (2, 0.805), (3, 0.80)], &[9, 1, 2, 3]);
}

#[test]
fn wicked_numbers_are_last() {
    check(&[(1, 0.5)], &[(2, f32::NAN), (3, f32::INFINITY)], &[1, 2, 3]);
    check(&[], &[(2, -0.5), (3, -0.9)], &[2, 3]);
}

#[test]
fn the_same_words_and_the_same_fact_are_shown_once() {
    let query = MemoryQuery::parse("key").unwrap();
    let twin = Fact { id: FactId(2), ..fact(1) };
    let near = vec![(fact(1), 0.9), (twin, 0.8), (fact(3), 0.1), (fact(1), 0.9)];
    let fused = fuse(&query, Vec::new(), near, 10);
    let found: Vec<u64> = fused.iter().map(|it| it.found.id.0).collect();
    assert_eq!(found, [1, 3]);
    assert_eq!(fused[0].snippet, "fact 1");
}
