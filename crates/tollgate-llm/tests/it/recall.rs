//! How well a memory answers questions that are asked in other words: by words, by meaning, by both.

use std::path::Path;
use std::time::{Duration, SystemTime};

use tollgate_core::memory::{
    Audience, AuthorTrust, FactId, MemoryAuthor, MemoryHit, MemoryScope, MemoryTarget, Namespace,
    NewFact,
};
use tollgate_engine::embedding::{Embedder, EmbeddingPurpose, embed_passages};
use tollgate_llm::static_model;
use tollgate_store::memory::{EmbeddingVector, MemoryItem, MemorySearch, MemoryStore};
use tollgate_testkit::embedding_model;

const CAMPAIGN: &str = include_str!("data/campaign.tsv");
/// Of the same facts.
const NAMED: &str = include_str!("data/named.tsv");
/// The answer has to be among so many.
const LOOKED_AT: usize = 5;

/// How many questions found their answer.
#[derive(Debug, Default)]
struct Found {
    words: usize,
    meaning: usize,
    both: usize,
}

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

/// Questions, which may be missing, and facts.
fn rows(table: &'static str) -> Vec<(&'static str, &'static str)> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once('\t').unwrap()).collect()
}

async fn remember_all(folder: &Path, facts: &[&str], model: &dyn Embedder) -> MemoryStore {
    let memory = MemoryStore::open_sqlite(&folder.join("memory.db")).unwrap();
    let author = MemoryAuthor {
        name: "test".to_owned(),
        via: "test".to_owned(),
        trust: AuthorTrust::Operator,
    };
    let place = MemoryTarget { namespace: namespace(), audience: Audience::Shared, author };
    let new = |text: &&str| NewFact::from_statement(text, now()).unwrap();
    let ids = memory.remember(&place, facts.iter().map(new).collect()).await.unwrap();
    let texts: Vec<String> = facts.iter().map(|text| (*text).to_owned()).collect();
    let vectors = embed_passages(model, &texts).await.unwrap();
    let vectors: Vec<(FactId, Vec<f32>)> =
        ids.into_iter().zip(vectors.into_iter().map(|it| it.into_numbers())).collect();
    memory.keep_vectors(model.model(), vectors).await.unwrap();
    memory
}

fn namespace() -> Namespace {
    Namespace::parse("waterdeep").unwrap()
}

fn has(hits: &[MemoryHit<MemoryItem>], answer: &str) -> bool {
    hits.iter().any(|hit| matches!(&hit.found, MemoryItem::Fact(fact) if fact.text == answer))
}

async fn found(table: &'static str) -> (Found, usize) {
    let folder = tempfile::tempdir().unwrap();
    let model = static_model::open(&embedding_model()).unwrap();
    let facts: Vec<&str> = rows(CAMPAIGN).into_iter().map(|(_, fact)| fact).collect();
    let memory = remember_all(folder.path(), &facts, &*model).await;
    let scope = MemoryScope::of_operator(namespace());
    let mut found = Found::default();
    let mut asked = 0;
    for (question, answer) in rows(table).into_iter().filter(|(question, _)| !question.is_empty()) {
        let search = MemorySearch { query: question, session: None, most: LOOKED_AT, now: now() };
        let numbers =
            model.embed(&[question.to_owned()], EmbeddingPurpose::Question).await.unwrap();
        let numbers = numbers[0].numbers().to_vec();
        let vector = EmbeddingVector { model: model.model().to_owned(), numbers };
        let words = memory.search_facts(&scope, &search, None).await.unwrap();
        let both = memory.search_facts(&scope, &search, Some(&vector)).await.unwrap();
        let near = memory.facts_near(&scope, &vector, LOOKED_AT).await.unwrap();
        found.words += usize::from(has(&words, answer));
        found.both += usize::from(has(&both, answer));
        found.meaning += usize::from(near.iter().any(|(fact, _)| fact.text == answer));
        asked += 1;
    }
    (found, asked)
}

/// A static model finds half of them, by words hardly one is found.
#[tokio::test]
async fn words_do_not_hide_what_the_meaning_finds() {
    let (found, asked) = found(CAMPAIGN).await;
    assert!(found.meaning * 2 > asked, "{found:?} of {asked}");
    assert!(found.both >= found.meaning, "{found:?} of {asked}");
}

#[tokio::test]
async fn the_meaning_does_not_hide_what_a_name_finds() {
    let (found, asked) = found(NAMED).await;
    assert_eq!((found.words, found.both), (asked, asked), "{found:?} of {asked}");
}
