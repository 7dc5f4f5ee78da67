use super::*;
use crate::memory::EntryContext;

pub(crate) async fn what_was_said_is_found_with_all_that_is_known_of_it(memory: &MemoryStore) {
    let lines = ["one | Elara: The dragon sleeps in the north.", "one | Tom: Nobody believes her."];
    let ids = say(memory, &place("waterdeep"), &lines).await;
    let hits = memory.search_entries(&scope("waterdeep"), &search("dragons")).await.unwrap();
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0].snippet, "The **dragon** sleeps in the north.");
    let expected = TranscriptEntry {
        id: ids[0],
        session: session("one"),
        speaker: "Elara".to_owned(),
        text: "The dragon sleeps in the north.".to_owned(),
        at: at(0),
        author: author("alice"),
    };
    assert_eq!(hits[0].found, expected);
    assert_eq!(found(memory, "waterdeep", "Tom").await, ["Nobody believes her."]);
    assert_eq!(found(memory, "waterdeep", "unicorns").await, [""; 0]);
}

pub(crate) async fn entries_come_in_their_order_and_in_stretches(memory: &MemoryStore) {
    let lines = ["one | a: first", "two | a: other", "one | a: second", "one | a: third"];
    let ids = say(memory, &place("waterdeep"), &lines).await;
    assert!(ids.is_sorted_by(|one, two| one < two), "{ids:?}");
    let eyes = scope("waterdeep");
    let all = memory.entries(&eyes, &session("one"), WHOLE).await.unwrap();
    assert_eq!(texts(&all), ["first", "second", "third"]);
    for (after, most, expected) in [
        (None, 2, &["first", "second"][..]),
        (Some(ids[0]), 10, &["second", "third"]),
        (Some(ids[3]), 10, &[]),
        (None, 0, &[]),
    ] {
        let part =
            memory.entries(&eyes, &session("one"), TranscriptPage { after, most }).await.unwrap();
        assert_eq!(texts(&part), expected);
    }
    assert_eq!(memory.entries(&eyes, &session("none"), WHOLE).await.unwrap(), []);
}

pub(crate) async fn sessions_count_what_was_said_in_them(memory: &MemoryStore) {
    let lines = ["one | a: first", "two | a: second", "one | a: third", "three | a: fourth"];
    say(memory, &place("waterdeep"), &lines).await;
    let eyes = scope("waterdeep");
    let sessions = memory.sessions(&eyes, ALL).await.unwrap();
    let texts: Vec<_> = sessions.iter().map(|it| (it.id.as_str(), it.entries)).collect();
    assert_eq!(texts, [("three", 1), ("one", 2), ("two", 1)]);
    assert_eq!((sessions[1].began, sessions[1].last), (at(0), at(2)));
    let second = memory.sessions(&eyes, Page { skip: 1, most: 1 }).await.unwrap();
    assert_eq!(second, sessions[1..2]);
    assert_eq!(memory.session(&eyes, &session("one")).await.unwrap().as_ref(), sessions.get(1));
    assert_eq!(memory.session(&eyes, &session("four")).await.unwrap(), None);
    let counted = memory.namespaces().await.unwrap();
    assert_eq!(counted.len(), 1);
    assert_eq!((counted[0].1.sessions, counted[0].1.entries), (3, 4));
}

pub(crate) async fn one_session_can_be_searched_alone(memory: &MemoryStore) {
    let lines = [
        "one | a: The dragon sleeps.",
        "two | a: A dragon wakes.",
        "one | a: No dragon anywhere.",
        "one | a: Nothing else.",
    ];
    say(memory, &place("waterdeep"), &lines).await;
    let one = session("one");
    let asked = MemorySearch { session: Some(&one), ..search("dragon") };
    let hits = memory.search_entries(&scope("waterdeep"), &asked).await.unwrap();
    let mut found: Vec<&str> = hits.iter().map(|hit| &*hit.found.text).collect();
    found.sort_unstable();
    assert_eq!(found, ["No dragon anywhere.", "The dragon sleeps."]);
    let none = session("none");
    let asked = MemorySearch { session: Some(&none), ..search("dragon") };
    assert_eq!(memory.search_entries(&scope("waterdeep"), &asked).await.unwrap(), []);
}

pub(crate) async fn history_tells_where_it_was_said(memory: &MemoryStore) {
    let lines = [
        "one | a: The red dragon sleeps.",
        "two | a: A dragon wakes.",
        "one | b: Which red dragon do you mean?",
        "three | a: Nothing of that.",
    ];
    say(memory, &place("waterdeep"), &lines).await;
    let asked = search("red dragon");
    let recalled = memory.search_history(&scope("waterdeep"), &asked).await.unwrap();
    let texts: Vec<_> = recalled.iter().map(|it| (it.session.id.as_str(), it.hits.len())).collect();
    assert_eq!(texts, [("one", 2), ("two", 1)]);
    let asked = MemorySearch { most: 1, ..asked };
    let best = memory.search_history(&scope("waterdeep"), &asked).await.unwrap();
    assert_eq!(best.len(), 1);
    assert_eq!(best[0].session.entries, 2);
}

pub(crate) async fn summaries_belong_to_sessions_that_are_there(memory: &MemoryStore) {
    say(memory, &place("waterdeep"), &["one | a: first"]).await;
    for summary in ["They talked.", "They talked at length."] {
        let done = memory.summarise(&place("waterdeep"), &session("one"), summary).await;
        assert_eq!(done, Ok(true));
        let told = memory.session(&scope("waterdeep"), &session("one")).await.unwrap().unwrap();
        assert_eq!(told.summary.as_deref(), Some(summary));
    }
    for (where_to, name) in [("waterdeep", "two"), ("waterdeep:sage", "one"), ("nowhere", "one")] {
        let done = memory.summarise(&place(where_to), &session(name), "?").await;
        assert_eq!(done, Ok(false), "{where_to} {name}");
    }
}

pub(crate) async fn every_script_is_found(memory: &MemoryStore) {
    let lines = [
        "a: 🐉 over the town",
        "a: 竜が北で眠っている",
        "a: Ein Drache schläft über Nacht",
        "a: the sub-zero well-known half-elf",
        "a: Дракон спит на севере",
        "a: 10-foot pole, 3.5e, C++, @home #tag x_y",
    ];
    say(memory, &place("waterdeep"), &lines).await;
    for (query, expected) in [
        ("🐉", 0),
        ("竜", 1),
        ("北で", 1),
        ("uber", 2),
        ("SCHLAFT", 2),
        ("half-elf", 3),
        ("half elf", 3),
        ("дракон", 4),
        ("10-foot", 5),
        ("#tag", 5),
    ] {
        let found = found(memory, "waterdeep", query).await;
        let expected = lines[expected].split_once(": ").unwrap().1;
        assert_eq!(found.first().map(String::as_str), Some(expected), "{query}");
    }
}

pub(crate) async fn what_is_no_passage_yet_is_unread(memory: &MemoryStore) {
    let lines = ["one | a: first", "one | b: second", "two | a: other", "one | a: third"];
    let ids = say(memory, &place("waterdeep:sage"), &lines).await;
    let others = by("bob", place("waterdeep:sage"));
    memory.append(&others, vec![entry("one | a: of another", 9)]).await.unwrap();
    let unread = memory.unread(2, at(0)).await.unwrap();
    assert_eq!(unread.len(), 1);
    assert_eq!(unread[0].place, place("waterdeep:sage"));
    assert_eq!(texts(&unread[0].entries), ["first", "second", "third"]);
    assert_eq!(memory.unread(9, at(0)).await.unwrap(), []);
    let silent = memory.unread(9, at(5)).await.unwrap();
    assert_eq!(silent.len(), 1);
    assert_eq!(texts(&silent[0].entries), ["other"]);

    let on_event = |first: usize, last: usize, name: &str| NewFact {
        source: tollgate_core::memory::FactSource::Transcript {
            first: ids[first],
            last: ids[last],
        },
        session: Some(session(name)),
        ..fact("first second", 1)
    };
    let read = vec![on_event(0, 1, "one"), on_event(2, 2, "two")];
    memory.remember(&place("waterdeep:sage"), read).await.unwrap();
    let unread = memory.unread(1, at(0)).await.unwrap();
    assert_eq!(unread.len(), 1);
    assert_eq!(texts(&unread[0].entries), ["third"]);
    memory.remember(&place("waterdeep:sage"), vec![on_event(1, 3, "one")]).await.unwrap();
    let unread = memory.unread(1, at(0)).await.unwrap();
    assert_eq!(unread[0].place, others);
    assert_eq!(texts(&unread[0].entries), ["of another"]);
}

pub(crate) async fn what_was_said_before_and_after_is_of_the_same_session(memory: &MemoryStore) {
    let here = place("acme/town");
    let lines = ["one | a: 1", "two | b: other", "one | a: 2", "one | a: 3", "one | a: 4"];
    let ids = say(memory, &here, &lines).await;
    // Of the same name, but not the same session.
    let own = say(memory, &place("acme/town:sage"), &["one | c: own"]).await;
    let evil = say(memory, &place("evil/town"), &["one | d: evil"]).await;
    let given = [ids[3], evil[0], ids[0], own[0], EntryId(u64::MAX >> 1), ids[1]];
    let around = async |eyes: &str, reach: usize| {
        let found = memory.entries_around(&scope(eyes), &given, reach).await.unwrap();
        let line = |it: &EntryContext| {
            format!("{} | {}", texts(&it.before).join(" "), texts(&it.after).join(" "))
        };
        found.iter().map(line).collect::<Vec<_>>()
    };
    let nothing = " | ";
    assert_eq!(
        around("acme/town:bard", 2).await,
        ["1 2 | 4", nothing, " | 2 3", nothing, nothing, nothing]
    );
    assert_eq!(around("acme/town:sage", 1).await[..3], ["2 | 4", nothing, " | 2"]);
    assert_eq!(around("acme/town:sage", 0).await, [nothing; 6]);
    assert_eq!(around("evil/town", 5).await, [nothing; 6]);
    assert_eq!(memory.entries_around(&scope("acme/town"), &[], 5).await.unwrap(), []);
}
