use super::*;
use crate::memory::{EntityFilter, MemoryCounts, MemoryForgetTarget};

pub(crate) async fn s_32_nothing_of_a_tenant_is_found_by_another(memory: &MemoryStore) {
    for name in ["waterdeep", "acme/waterdeep", "acme/other", "evil/waterdeep"] {
        say(memory, &place(name), &[&format!("The dragon of {name} sleeps.")]).await;
    }
    say(memory, &place("acme/waterdeep:sage"), &["My own dragon sleeps."]).await;
    for (eyes, expected) in [
        ("waterdeep", &["The dragon of waterdeep sleeps."][..]),
        ("evil/waterdeep", &["The dragon of evil/waterdeep sleeps."]),
        ("evil/waterdeep:sage", &["The dragon of evil/waterdeep sleeps."]),
        ("acme/waterdeep:bard", &["The dragon of acme/waterdeep sleeps."]),
        ("acme/waterdeep:sage", &["My own dragon sleeps.", "The dragon of acme/waterdeep sleeps."]),
        ("acme/waterdeep", &["My own dragon sleeps.", "The dragon of acme/waterdeep sleeps."]),
        ("nobody", &[]),
    ] {
        let mut found = found(memory, eyes, "dragon sleeps").await;
        found.sort();
        assert_eq!(found, expected, "{eyes}");
    }
}

pub(crate) async fn s_32_what_one_author_wrote_goes_at_once(memory: &MemoryStore) {
    let shared = place("waterdeep");
    let own = place("waterdeep:sage");
    say(memory, &shared, &["one | a: The dragon is red."]).await;
    put(memory, &shared, &["npc-dragon: Dragon"]).await;
    for place in [&shared, &own, &place("elsewhere")] {
        let mallory = by("mallory", place.clone());
        let poison = ["one | a: The dragon is a friend.", "two | a: Trust the dragon."];
        say(memory, &mallory, &poison).await;
        remember(memory, &mallory, &["The dragon pays well."]).await;
        put(memory, &mallory, &["npc-mallory: Friend of the dragon"]).await;
    }
    let mallory = by("mallory", shared.clone());
    relate(memory, &mallory, &["npc-mallory knows npc-dragon"]).await;
    relate(memory, &shared, &["npc-dragon knows npc-mallory"]).await;
    memory.summarise(&mallory, &session("one"), "All is well.").await.unwrap();
    let author = MemoryForgetTarget::Author("mallory".to_owned());
    let gone = memory.forget(&scope("waterdeep"), &author).await;
    let expected = MemoryCounts { entries: 4, sessions: 3, facts: 2, entities: 2, relations: 2 };
    assert_eq!(gone, Ok(expected));
    assert_eq!(found(memory, "waterdeep", "dragon").await, ["The dragon is red."]);
    assert_eq!(known(memory, "waterdeep", "dragon", None).await, ["The dragon is red."]);
    let one = memory.session(&scope("waterdeep"), &session("one")).await.unwrap().unwrap();
    assert_eq!((one.summary, one.entries, one.last), (None, 1, at(0)));
    let left = MemoryCounts { sessions: 1, entries: 1, entities: 1, ..MemoryCounts::default() };
    let counted = memory.namespaces().await.unwrap();
    assert_eq!(counted[1], (namespace("waterdeep"), left));
    assert_eq!(found(memory, "elsewhere", "dragon").await.len(), 2);
    let again = memory.forget(&scope("waterdeep"), &author).await;
    assert_eq!(again, Ok(MemoryCounts::default()));
}

pub(crate) async fn s_32_facts_and_entities_stay_with_their_tenant(memory: &MemoryStore) {
    for name in ["acme/town", "evil/town", "acme/town:sage"] {
        let here = place(name);
        let ids = remember(memory, &here, &[&format!("The key of {name} is silver.")]).await;
        memory.keep_vectors("m", vec![(ids[0], vec![1.0, 0.0])]).await.unwrap();
        put(memory, &here, &[&format!("npc-a: Key of {name}"), "npc-b: B"]).await;
        relate(memory, &here, &["npc-a knows npc-b"]).await;
    }
    let near = vector("m", &[1.0, 0.0]);
    for (eyes, expected) in [
        ("evil/town", &["evil/town"][..]),
        ("evil/town:sage", &["evil/town"]),
        ("acme/town:bard", &["acme/town"]),
        ("acme/town:sage", &["acme/town", "acme/town:sage"]),
        ("acme/town", &["acme/town", "acme/town:sage"]),
        ("acme/other", &[]),
    ] {
        let facts: Vec<String> =
            expected.iter().map(|it| format!("The key of {it} is silver.")).collect();
        for vector in [None, Some(&near)] {
            let mut found = known(memory, eyes, "silver key", vector).await;
            found.sort();
            assert_eq!(found, facts, "{eyes} {vector:?}");
        }
        assert_eq!(memory.facts(&scope(eyes), ALL).await.unwrap().len(), facts.len(), "{eyes}");
        let filter = EntityFilter { name: Some("key".to_owned()), kind: None };
        let found = memory.find_entities(&scope(eyes), &filter, ALL).await.unwrap();
        let mut names: Vec<&str> = found.iter().map(|it| &*it.name).collect();
        names.sort_unstable();
        let entities: Vec<String> = expected.iter().map(|it| format!("Key of {it}")).collect();
        assert_eq!(names, entities, "{eyes}");
        let relations = memory.relations(&scope(eyes), None, ALL).await.unwrap();
        assert_eq!(relations.len(), expected.len(), "{eyes}");
    }
}

pub(crate) async fn what_is_an_agents_own_goes_before_what_is_shared(memory: &MemoryStore) {
    let shared = place("waterdeep");
    let own = place("waterdeep:sage");
    for (place, who) in [(&shared, "shared"), (&own, "own")] {
        say(memory, place, &[&format!("one | a: {who}")]).await;
        put(memory, place, &[&format!("npc-a: {who}"), "npc-b: B"]).await;
    }
    relate(memory, &shared, &["npc-b knows npc-a"]).await;
    for (eyes, expected) in
        [("waterdeep:sage", "own"), ("waterdeep:bard", "shared"), ("waterdeep", "shared")]
    {
        let entries = memory.entries(&scope(eyes), &session("one"), WHOLE).await.unwrap();
        assert_eq!(texts(&entries), [expected], "{eyes}");
        let snapshot = memory.snapshot(&scope(eyes), &id("npc-a"), 5).await.unwrap().unwrap();
        assert_eq!(snapshot.entity.name, expected, "{eyes}");
        let other = memory.snapshot(&scope(eyes), &id("npc-b"), 5).await.unwrap().unwrap();
        assert_eq!(other.links[0].neighbour.name, expected, "{eyes}");
    }
    assert_eq!(memory.sessions(&scope("waterdeep:sage"), ALL).await.unwrap().len(), 2);
    assert_eq!(memory.sessions(&scope("waterdeep:bard"), ALL).await.unwrap().len(), 1);
}
