use tollgate_core::memory::{Fact, FactSource};

use super::*;

pub(crate) async fn a_fact_is_found_with_all_that_is_known_of_it(memory: &MemoryStore) {
    let new = NewFact {
        session: Some(session("one")),
        entity: Some(id("npc-elara")),
        ..fact("Elara fears the sea.", 3).on("fears").unwrap()
    };
    let ids = memory.remember(&place("waterdeep:sage"), vec![new]).await.unwrap();
    let hits = memory.search_facts(&scope("waterdeep:sage"), &search("the sea"), None).await;
    let hits = hits.unwrap();
    let expected = Fact {
        id: ids[0],
        text: "Elara fears the sea.".to_owned(),
        at: at(3),
        source: FactSource::Stated,
        session: Some(session("one")),
        entity: Some(id("npc-elara")),
        topic: Some("fears".to_owned()),
        audience: Audience::Only(agent("sage")),
        author: author("alice"),
    };
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0].snippet, "Elara fears the **sea**.");
    assert_eq!(hits[0].found, MemoryItem::Fact(expected.clone()));
    assert_eq!(memory.facts(&scope("waterdeep"), ALL).await.unwrap(), [expected]);
}

pub(crate) async fn the_same_words_are_kept_once_and_become_newer(memory: &MemoryStore) {
    let here = place("waterdeep");
    let first = remember(memory, &here, &["Elara fears the sea.", "Tom is a smith."]).await;
    assert!(first[0] < first[1]);
    let again = fact("elara  FEARS the\nsea.", 60).on("fears").unwrap();
    assert_eq!(memory.remember(&here, vec![again]).await.unwrap(), first[..1]);
    let facts = memory.facts(&scope("waterdeep"), ALL).await.unwrap();
    let lines: Vec<_> = facts.iter().map(|it| (&*it.text, it.at, it.topic.as_deref())).collect();
    let elara = ("Elara fears the sea.", at(60), Some("fears"));
    assert_eq!(lines, [elara, ("Tom is a smith.", at(1), None)]);
    // Earlier, it stays as new as it is.
    memory.remember(&here, vec![fact("Elara fears the sea.", 5)]).await.unwrap();
    assert_eq!(memory.facts(&scope("waterdeep"), ALL).await.unwrap()[0].at, at(60));
    // Signs make a difference, and so does who says it; it is told once.
    memory.remember(&here, vec![fact("Elara fears the sea?", 5)]).await.unwrap();
    remember(memory, &by("bob", here), &["Elara fears the sea."]).await;
    assert_eq!(memory.facts(&scope("waterdeep"), ALL).await.unwrap().len(), 4);
    let lines = known(memory, "waterdeep", "Elara fears", None).await;
    assert_eq!(lines.iter().filter(|it| *it == "Elara fears the sea.").count(), 1, "{lines:?}");
    let second = memory.facts(&scope("waterdeep"), Page { skip: 1, most: 1 }).await.unwrap();
    assert_eq!(second.len(), 1);
}

pub(crate) async fn passages_are_the_same_only_where_they_stand(memory: &MemoryStore) {
    let lines = ["one | a: yes", "one | a: yes", "two | a: yes"];
    let ids = say(memory, &place("waterdeep"), &lines).await;
    let on_event = |at: usize, name: &str| NewFact {
        source: FactSource::Transcript { first: ids[at], last: ids[at] },
        session: Some(session(name)),
        ..fact("yes", 1)
    };
    let all = vec![on_event(0, "one"), on_event(1, "one"), on_event(2, "two"), on_event(0, "one")];
    let facts = memory.remember(&place("waterdeep"), all).await.unwrap();
    assert_eq!(facts[0], facts[3]);
    let retained = memory.facts(&scope("waterdeep"), ALL).await.unwrap();
    assert_eq!(retained.len(), 3);
    assert!(
        retained
            .iter()
            .any(|it| it.source == FactSource::Transcript { first: ids[2], last: ids[2] })
    );
}

pub(crate) async fn facts_are_found_by_their_meaning(memory: &MemoryStore) {
    let here = place("waterdeep");
    let ids = remember(memory, &here, &["It rains.", "It snows.", "Tom is a smith."]).await;
    let vectors = vec![
        (ids[0], vec![1.0, 0.1, 0.0]),
        (ids[1], vec![0.8, 0.6, 0.0]),
        (ids[2], vec![0.0, 0.0, 2.0]),
    ];
    memory.keep_vectors("m", vectors).await.unwrap();
    let weather = vector("m", &[1.0, 0.0, 0.0]);
    let near = memory.facts_near(&scope("waterdeep"), &weather, 2).await.unwrap();
    let lines: Vec<(&str, i32)> =
        near.iter().map(|(fact, cosine)| (&*fact.text, (cosine * 100.0) as i32)).collect();
    assert_eq!(lines, [("It rains.", 99), ("It snows.", 80)]);
    // Another one in its place.
    memory.keep_vectors("m", vec![(ids[0], vec![0.0, 1.0, 0.0])]).await.unwrap();
    let near = memory.facts_near(&scope("waterdeep"), &weather, 3).await.unwrap();
    let lines: Vec<&str> = near.iter().map(|(fact, _)| &*fact.text).collect();
    assert_eq!(lines[0], "It snows.");
    assert_eq!(lines.len(), 3);
}

pub(crate) async fn vectors_of_other_models_and_lengths_are_apart(memory: &MemoryStore) {
    let ids = remember(memory, &place("waterdeep"), &["It rains.", "It snows."]).await;
    memory.keep_vectors("m", vec![(ids[0], vec![1.0, 0.0])]).await.unwrap();
    memory.keep_vectors("other", vec![(ids[1], vec![1.0, 0.0])]).await.unwrap();
    let eyes = scope("waterdeep");
    for (model, numbers, expected) in [
        ("m", &[1.0, 0.0][..], &["It rains."][..]),
        ("other", &[1.0, 0.0], &["It snows."]),
        ("m", &[1.0, 0.0, 0.0], &[]),
        ("m", &[0.0, 0.0], &[]),
        ("m", &[f32::NAN, 1.0], &[]),
        ("m", &[], &[]),
        ("none", &[1.0, 0.0], &[]),
    ] {
        let near = memory.facts_near(&eyes, &vector(model, numbers), 5).await.unwrap();
        let lines: Vec<&str> = near.iter().map(|(fact, _)| &*fact.text).collect();
        assert_eq!(lines, expected, "{model} {numbers:?}");
    }
    // The model behind a name was changed: old vectors are not compared, and made anew.
    memory.keep_vectors("m", vec![(ids[1], vec![0.0, 1.0, 0.0])]).await.unwrap();
    let missing = memory.without_vector("m", 10).await.unwrap();
    assert_eq!(missing, [(ids[0], "It rains.".to_owned())]);
    let near = memory.facts_near(&eyes, &vector("m", &[0.0, 1.0, 0.0]), 5).await.unwrap();
    assert_eq!(near.len(), 1);
    let bad = memory.keep_vectors("m", vec![(ids[0], vec![f32::NAN])]).await;
    assert!(bad.unwrap_err().to_string().contains("`vector`"));
}

pub(crate) async fn facts_without_a_vector_are_told_until_they_have_one(memory: &MemoryStore) {
    let ids = remember(memory, &place("waterdeep"), &["one", "two", "three"]).await;
    let elsewhere = remember(memory, &place("acme/other:sage"), &["four"]).await;
    let missing = async |most| {
        let missing = memory.without_vector("m", most).await.unwrap();
        missing.into_iter().map(|(id, _)| id).collect::<Vec<_>>()
    };
    assert_eq!(missing(2).await, ids[..2]);
    assert_eq!(missing(10).await, [&ids[..], &elsewhere[..]].concat());
    let gone = FactId(elsewhere[0].0 + 1_000);
    let vectors = vec![(ids[0], vec![1.0]), (ids[2], vec![1.0]), (gone, vec![1.0])];
    memory.keep_vectors("m", vectors).await.unwrap();
    assert_eq!(missing(0).await, []);
    assert_eq!(missing(10).await, [ids[1], elsewhere[0]]);
    memory.keep_vectors("m", vec![(ids[1], vec![1.0]), (elsewhere[0], vec![1.0])]).await.unwrap();
    assert_eq!(missing(10).await, []);
    let fifth = remember(memory, &place("waterdeep"), &["five"]).await;
    assert_eq!(missing(10).await, fifth);
    assert_eq!(memory.without_vector("other", 10).await.unwrap().len(), 5);
}

pub(crate) async fn words_and_meaning_are_found_together(memory: &MemoryStore) {
    let here = place("waterdeep");
    let texts = ["The bridge at Thornfield fell.", "Water took the crossing.", "Tom is a smith."];
    let ids = remember(memory, &here, &texts).await;
    let vectors = [[0.9, 0.4], [1.0, 0.0], [0.0, 1.0]];
    let vectors = ids.iter().zip(vectors).map(|(id, numbers)| (*id, numbers.to_vec())).collect();
    memory.keep_vectors("m", vectors).await.unwrap();
    let asked = vector("m", &[1.0, 0.1]);
    let found = known(memory, "waterdeep", "which bridge fell?", Some(&asked)).await;
    assert_eq!(found[..2], texts[..2]);
    // What was said a moment ago is no passage yet.
    say(memory, &here, &["one | a: the second bridge fell too"]).await;
    let found = known(memory, "waterdeep", "which second bridge fell?", Some(&asked)).await;
    assert!(found[..3].contains(&"the second bridge fell too".to_owned()), "{found:?}");
    let nothing = known(memory, "elsewhere", "which bridge fell?", Some(&asked)).await;
    assert_eq!(nothing, [""; 0]);
}

pub(crate) async fn without_a_vector_what_was_said_counts_too(memory: &MemoryStore) {
    let here = place("waterdeep");
    let lines = ["one | a: the bridge fell", "one | a: into the river", "two | a: what a bridge"];
    let ids = say(memory, &here, &lines).await;
    let passage = NewFact {
        source: FactSource::Transcript { first: ids[0], last: ids[1] },
        session: Some(session("one")),
        ..fact("a: the bridge fell\na: into the river", 1)
    };
    memory.remember(&here, vec![passage, fact("A bridge is being built.", 2)]).await.unwrap();
    let mut found = known(memory, "waterdeep", "bridge", None).await;
    found.sort();
    let expected =
        ["A bridge is being built.", "a: the bridge fell\na: into the river", "what a bridge"];
    assert_eq!(found, expected);
}

pub(crate) async fn facts_about_an_entity_are_listed_the_newest_first(memory: &MemoryStore) {
    let about = |text: &str, seconds: u64, of: &str| NewFact {
        entity: Some(id(of)),
        ..fact(text, seconds)
    };
    let shared = vec![
        about("Elara fears the sea.", 3, "npc-elara"),
        about("Elara sings.", 9, "npc-elara"),
        about("Tom is a smith.", 5, "npc-tom"),
        fact("Elara has no entity here.", 7),
    ];
    memory.remember(&place("acme/town"), shared).await.unwrap();
    for (where_to, text) in
        [("acme/town:sage", "Elara lies to the sage."), ("evil/town", "Elara is evil.")]
    {
        memory.remember(&place(where_to), vec![about(text, 6, "npc-elara")]).await.unwrap();
    }
    let told = async |eyes: &str, of: &str, page: Page| {
        let found = memory.facts_about(&scope(eyes), &id(of), page).await.unwrap();
        found.into_iter().map(|fact| fact.text).collect::<Vec<_>>()
    };
    let shared = ["Elara sings.", "Elara fears the sea."];
    let own = ["Elara sings.", "Elara lies to the sage.", "Elara fears the sea."];
    assert_eq!(told("acme/town:bard", "npc-elara", ALL).await, shared);
    assert_eq!(told("acme/town:sage", "npc-elara", ALL).await, own);
    assert_eq!(told("acme/town", "npc-elara", Page { skip: 1, most: 1 }).await, own[1..2]);
    assert_eq!(told("acme/town", "npc-elara", Page { skip: 0, most: 0 }).await, [""; 0]);
    assert_eq!(told("acme/town", "npc-nobody", ALL).await, [""; 0]);
    assert_eq!(told("acme/nowhere", "npc-elara", ALL).await, [""; 0]);
}
