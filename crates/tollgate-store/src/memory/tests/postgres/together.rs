//! Several gateways on one database, rights, passwords and formats.

use tokio::task::JoinSet;
use tollgate_core::memory::{FactId, NewFact};
use tollgate_testkit::postgres::{PASSWORD, PostgresBuild, TestDatabase};

use super::{answer, ready};
use crate::memory::tests::suite::{WHOLE, at, found, patiently, place, say, scope, session};
use crate::memory::{EmbeddingVector, MemoryError, MemoryForgetTarget, MemoryStore};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gateways_that_begin_at_once_share_one_memory() {
    let database = TestDatabase::new(PostgresBuild::Plain);
    let mut gateways = JoinSet::new();
    for number in 0..6 {
        let memory = MemoryStore::connect_postgres(&database.url).unwrap();
        gateways.spawn(async move {
            assert_eq!(answer(&memory).await, Ok(()));
            let text = format!("one | a: hello from gateway {number}");
            say(&memory, &place("waterdeep"), &[&text]).await;
            memory
        });
    }
    let all = gateways.join_all().await;
    for memory in &all {
        assert_eq!(found(memory, "waterdeep", "hello").await.len(), 6);
        let entries = memory.entries(&scope("waterdeep"), &session("one"), WHOLE).await.unwrap();
        assert_eq!(entries.len(), 6);
    }
    assert_eq!(database.run("SELECT count(*) FROM tollgate.steps").trim(), "2");
}

/// Some direction.
fn numbers(seed: usize) -> Vec<f32> {
    let mut state = u32::try_from(seed).unwrap().wrapping_mul(2_654_435_761).wrapping_add(12_345);
    let mut number = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        f32::from(u16::try_from(state >> 16).unwrap()) / 32_768.0 - 1.0
    };
    (0..24).map(|_| number()).collect()
}

async fn nearest(memory: &MemoryStore, seed: usize) -> Vec<FactId> {
    let vector = EmbeddingVector { model: "m".to_owned(), numbers: numbers(seed) };
    let eyes = scope("waterdeep");
    let found = patiently(|| memory.facts_near(&eyes, &vector, 3)).await.unwrap();
    assert!(found.is_sorted_by(|one, two| one.1 >= two.1), "{found:?}");
    found.into_iter().map(|(fact, _)| fact.id).collect()
}

async fn remember(memory: &MemoryStore, count: usize) -> Vec<FactId> {
    let facts = (0..count).map(|it| NewFact::from_statement(&format!("fact {it}"), at(0)).unwrap());
    let here = place("waterdeep");
    let facts = facts.collect::<Vec<_>>();
    patiently(|| memory.remember(&here, facts.clone())).await.unwrap()
}

/// More than are compared one by one: an index, or sketches in memory, find what is near.
async fn what_is_near_is_found_by_all(build: PostgresBuild, many: usize) {
    let database = TestDatabase::new(build);
    let one = ready(&database.url).await;
    let other = ready(&database.url).await;
    let facts = remember(&one, many).await;
    let mut vectors: Vec<_> =
        facts.iter().enumerate().map(|(at, fact)| (*fact, numbers(at))).collect();
    let last = vectors.split_off(many - 50);
    one.keep_vectors("m", vectors).await.unwrap();
    for seed in [0, 77, many - 51] {
        assert_eq!(nearest(&one, seed).await[0], facts[seed]);
        assert_eq!(nearest(&other, seed).await[0], facts[seed]);
    }
    other.keep_vectors("m", last).await.unwrap();
    assert_eq!(nearest(&one, many - 1).await[0], facts[many - 1], "what the other wrote");
    one.forget(&scope("waterdeep"), &MemoryForgetTarget::Fact(facts[77])).await.unwrap();
    assert_ne!(nearest(&other, 77).await[0], facts[77], "what the other forgot");
    assert_eq!(one.without_vector("m", 9).await, Ok(vec![]));
    assert_eq!(one.without_vector("n", 9).await.unwrap().len(), 9);
    let indexes = "SELECT count(*) FROM pg_indexes WHERE indexname LIKE 'vectors_near_%'";
    let expected = if build == PostgresBuild::Plain { "0" } else { "1" };
    assert_eq!(database.run(indexes).trim(), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_near_is_found_by_sketches_of_every_gateway() {
    what_is_near_is_found_by_all(PostgresBuild::Plain, 700).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_near_is_found_by_the_index_of_pgvector() {
    what_is_near_is_found_by_all(PostgresBuild::WithVectors, 2_100).await;
}

#[tokio::test]
async fn a_newer_format_is_left_alone() {
    let database = TestDatabase::new(PostgresBuild::Plain);
    ready(&database.url).await;
    database.run("INSERT INTO tollgate.steps (number) VALUES (99)");
    let told = first_answer(&database.url).await.unwrap_err().to_string();
    assert!(told.contains("newer version of Tollgate (its format is 99"), "{told}");
}

/// How it answers to whoever comes anew.
pub(super) async fn first_answer(url: &str) -> Result<(), MemoryError> {
    answer(&MemoryStore::connect_postgres(url).unwrap()).await
}

#[tokio::test]
async fn passwords_are_given_and_never_told() {
    let database = TestDatabase::new(PostgresBuild::Plain);
    let right = database.url.replace("gateway@", &format!("guarded:{PASSWORD}@"));
    // Whoever made the database lets this role in; it has no right to make a schema there.
    let denied = first_answer(&right).await.unwrap_err();
    assert!(matches!(denied, MemoryError::Failed(crate::Error::Denied(_))), "{denied:?}");
    database.run("CREATE SCHEMA tollgate AUTHORIZATION guarded");
    first_answer(&right).await.unwrap();

    let wrong = database.url.replace("gateway@", "guarded:hunter2@");
    let error = first_answer(&wrong).await.unwrap_err();
    assert!(matches!(error, MemoryError::Away(_)), "{error:?}");
    assert!(error.to_string().contains("password authentication failed"), "{error}");
    for secret in [PASSWORD, "hunter2"] {
        assert!(!format!("{error} {error:?} {denied} {denied:?}").contains(secret));
    }
}

#[tokio::test]
async fn a_database_that_is_not_there_is_told() {
    let database = TestDatabase::new(PostgresBuild::Plain);
    let (server, _) = database.url.rsplit_once('/').unwrap();
    let told = first_answer(&format!("{server}/nowhere")).await.unwrap_err().to_string();
    assert_eq!(told, "the memory database is unavailable: database \"nowhere\" does not exist");
}
