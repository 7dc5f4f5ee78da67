use tollgate_core::memory::FactSource;

use super::*;
use crate::memory::{MemoryCounts, MemoryForgetTarget};

async fn counts(memory: &MemoryStore, name: &str) -> MemoryCounts {
    let all = memory.namespaces().await.unwrap();
    all.into_iter().find(|it| it.0 == namespace(name)).map(|it| it.1).unwrap_or_default()
}

fn fact_from_transcript(first: EntryId, last: EntryId, name: &str, seconds: u64) -> NewFact {
    NewFact {
        source: FactSource::Transcript { first, last },
        session: Some(session(name)),
        ..fact(&format!("passage of {name}"), seconds)
    }
}

pub(crate) async fn a_session_goes_with_its_passages(memory: &MemoryStore) {
    let here = place("waterdeep");
    let ids = say(memory, &here, &["one | a: dragon", "two | a: dragon too"]).await;
    let stated = NewFact { session: Some(session("one")), ..fact("A dragon is there.", 1) };
    let facts = vec![
        fact_from_transcript(ids[0], ids[0], "one", 1),
        fact_from_transcript(ids[1], ids[1], "two", 1),
        stated,
    ];
    memory.remember(&here, facts).await.unwrap();
    let gone =
        memory.forget(&scope("waterdeep"), &MemoryForgetTarget::Session(session("one"))).await;
    assert_eq!(
        gone,
        Ok(MemoryCounts { sessions: 1, entries: 1, facts: 1, ..MemoryCounts::default() })
    );
    assert_eq!(found(memory, "waterdeep", "dragon").await, ["dragon too"]);
    assert_eq!(memory.session(&scope("waterdeep"), &session("one")).await.unwrap(), None);
    let facts = memory.facts(&scope("waterdeep"), ALL).await.unwrap();
    let mut left: Vec<&str> = facts.iter().map(|it| &*it.text).collect();
    left.sort_unstable();
    assert_eq!(left, ["A dragon is there.", "passage of two"]);
    // The name can be used again, and nothing of before is in it.
    say(memory, &here, &["one | a: anew"]).await;
    let entries = memory.entries(&scope("waterdeep"), &session("one"), WHOLE).await.unwrap();
    assert_eq!(texts(&entries), ["anew"]);
}

pub(crate) async fn facts_entities_and_relations_go_one_by_one(memory: &MemoryStore) {
    let here = place("waterdeep");
    let ids = remember(memory, &here, &["one fact", "another fact"]).await;
    put(memory, &here, &["npc-a: A", "npc-b: B", "npc-c: C"]).await;
    relate(memory, &here, &["npc-a knows npc-b", "npc-b knows npc-c", "npc-c knows npc-a"]).await;
    let knows = |source: &str, target: &str| MemoryForgetTarget::Relation {
        source: id(source),
        kind: "knows".to_owned(),
        target: id(target),
    };
    let nothing = MemoryCounts::default();
    for (eyes, what, expected) in [
        ("elsewhere", MemoryForgetTarget::Fact(ids[0]), nothing),
        ("waterdeep", MemoryForgetTarget::Fact(ids[0]), MemoryCounts { facts: 1, ..nothing }),
        ("waterdeep", MemoryForgetTarget::Fact(ids[0]), nothing),
        ("waterdeep", knows("npc-b", "npc-a"), nothing),
        ("waterdeep", knows("npc-b", "npc-c"), MemoryCounts { relations: 1, ..nothing }),
        ("elsewhere", MemoryForgetTarget::Entity(id("npc-a")), nothing),
        (
            "waterdeep",
            MemoryForgetTarget::Entity(id("npc-a")),
            MemoryCounts { entities: 1, relations: 2, ..nothing },
        ),
        ("waterdeep", MemoryForgetTarget::Entity(id("npc-x")), nothing),
    ] {
        assert_eq!(memory.forget(&scope(eyes), &what).await, Ok(expected), "{eyes} {what:?}");
    }
    assert_eq!(
        counts(memory, "waterdeep").await,
        MemoryCounts { facts: 1, entities: 2, ..nothing }
    );
    assert_eq!(known(memory, "waterdeep", "fact", None).await, ["another fact"]);
}

pub(crate) async fn old_entries_and_passages_go(memory: &MemoryStore) {
    let here = place("waterdeep");
    let entries = vec![
        entry("one | a: oldest dragon", 0),
        entry("two | a: old dragon", 10),
        entry("two | a: new dragon", 100),
        entry("three | a: newest dragon", 200),
    ];
    let ids = memory.append(&here, entries).await.unwrap();
    let passages = vec![
        fact_from_transcript(ids[0], ids[0], "one", 0),
        fact_from_transcript(ids[2], ids[2], "two", 100),
        fact("stated long ago", 0),
    ];
    memory.remember(&here, passages).await.unwrap();
    let gone = memory.forget(&scope("waterdeep"), &MemoryForgetTarget::Before(at(50))).await;
    assert_eq!(
        gone,
        Ok(MemoryCounts { sessions: 1, entries: 2, facts: 1, ..MemoryCounts::default() })
    );
    let mut left = found(memory, "waterdeep", "dragon").await;
    left.sort();
    assert_eq!(left, ["new dragon", "newest dragon"]);
    let two = memory.session(&scope("waterdeep"), &session("two")).await.unwrap().unwrap();
    assert_eq!((two.entries, two.began, two.last), (1, at(100), at(100)));
    let again = memory.forget(&scope("waterdeep"), &MemoryForgetTarget::Before(at(50))).await;
    assert_eq!(again, Ok(MemoryCounts::default()));
}

pub(crate) async fn everything_goes_and_nothing_of_others(memory: &MemoryStore) {
    for name in ["waterdeep", "waterdeep:sage", "acme/waterdeep"] {
        let here = place(name);
        say(memory, &here, &["one | a: dragon"]).await;
        let ids = remember(memory, &here, &["dragon fact"]).await;
        memory.keep_vectors("m", vec![(ids[0], vec![1.0])]).await.unwrap();
        put(memory, &here, &["npc-a: A"]).await;
        relate(memory, &here, &["npc-a knows npc-a"]).await;
    }
    let each = MemoryCounts { sessions: 1, entries: 1, facts: 1, entities: 1, relations: 1 };
    let both = MemoryCounts { sessions: 2, entries: 2, facts: 2, entities: 2, relations: 2 };
    assert_eq!(memory.forget(&scope("waterdeep"), &MemoryForgetTarget::Everything).await, Ok(both));
    assert_eq!(memory.namespaces().await.unwrap(), [(namespace("acme/waterdeep"), each)]);
    assert_eq!(known(memory, "waterdeep", "dragon", None).await, [""; 0]);
    assert_eq!(known(memory, "acme/waterdeep", "dragon", None).await.len(), 2);
    say(memory, &place("waterdeep"), &["one | a: dragon again"]).await;
    assert_eq!(known(memory, "waterdeep", "dragon", None).await, ["dragon again"]);
}

pub(crate) async fn much_is_forgotten_at_once(memory: &MemoryStore) {
    let here = place("waterdeep");
    let entries = (0..2_500).map(|at| entry(&format!("s{} | a: dragon {at}", at % 3), at));
    memory.append(&here, entries.collect()).await.unwrap();
    say(memory, &by("bob", here), &["s0 | a: dragon of bob"]).await;
    let gone =
        memory.forget(&scope("waterdeep"), &MemoryForgetTarget::Author("alice".to_owned())).await;
    assert_eq!(gone, Ok(MemoryCounts { sessions: 2, entries: 2_500, ..MemoryCounts::default() }));
    assert_eq!(found(memory, "waterdeep", "dragon").await, ["dragon of bob"]);
    let left = MemoryCounts { sessions: 1, entries: 1, ..MemoryCounts::default() };
    assert_eq!(counts(memory, "waterdeep").await, left);
}

pub(crate) async fn vectors_go_with_their_facts(memory: &MemoryStore) {
    let here = place("waterdeep");
    let near = vector("m", &[1.0, 0.0]);
    let eyes = scope("waterdeep");
    let texts: Vec<String> = (0..600).map(|at| format!("fact {at}")).collect();
    let facts = texts.iter().map(|text| fact(text, 0)).collect();
    let ids = memory.remember(&by("mallory", here.clone()), facts).await.unwrap();
    let vectors = ids.iter().map(|id| (*id, vec![1.0, 0.001])).collect();
    memory.keep_vectors("m", vectors).await.unwrap();
    let far = remember(memory, &here, &["far away"]).await;
    memory.keep_vectors("m", vec![(far[0], vec![0.2, 1.0])]).await.unwrap();
    assert_eq!(memory.facts_near(&eyes, &near, 3).await.unwrap().len(), 3);
    memory.forget(&eyes, &MemoryForgetTarget::Author("mallory".to_owned())).await.unwrap();
    let found = memory.facts_near(&eyes, &near, 3).await.unwrap();
    let found: Vec<&str> = found.iter().map(|(fact, _)| &*fact.text).collect();
    assert_eq!(found, ["far away"]);
    assert_eq!(memory.without_vector("m", 5).await.unwrap(), []);
}
