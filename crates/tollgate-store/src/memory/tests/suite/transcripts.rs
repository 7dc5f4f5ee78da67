use super::*;

pub(crate) async fn what_was_said_is_found_with_all_that_is_known_of_it(memory: &Memory) {
    let said = ["one | Elara: The dragon sleeps in the north.", "one | Tom: Nobody believes her."];
    let ids = say(memory, &place("waterdeep"), &said).await;
    let hits = memory.search_entries(&scope("waterdeep"), &search("dragons")).await.unwrap();
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0].snippet, "The **dragon** sleeps in the north.");
    let expected = Entry {
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

pub(crate) async fn entries_come_in_their_order_and_in_stretches(memory: &Memory) {
    let said = ["one | a: first", "two | a: other", "one | a: second", "one | a: third"];
    let ids = say(memory, &place("waterdeep"), &said).await;
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
        let part = memory.entries(&eyes, &session("one"), Stretch { after, most }).await.unwrap();
        assert_eq!(texts(&part), expected);
    }
    assert_eq!(memory.entries(&eyes, &session("none"), WHOLE).await.unwrap(), []);
}

pub(crate) async fn sessions_count_what_was_said_in_them(memory: &Memory) {
    let said = ["one | a: first", "two | a: second", "one | a: third", "three | a: fourth"];
    say(memory, &place("waterdeep"), &said).await;
    let eyes = scope("waterdeep");
    let sessions = memory.sessions(&eyes, ALL).await.unwrap();
    let told: Vec<_> = sessions.iter().map(|it| (it.id.as_str(), it.entries)).collect();
    assert_eq!(told, [("three", 1), ("one", 2), ("two", 1)]);
    assert_eq!((sessions[1].began, sessions[1].last), (at(0), at(2)));
    let second = memory.sessions(&eyes, Page { skip: 1, most: 1 }).await.unwrap();
    assert_eq!(second, sessions[1..2]);
    assert_eq!(memory.session(&eyes, &session("one")).await.unwrap().as_ref(), sessions.get(1));
    assert_eq!(memory.session(&eyes, &session("four")).await.unwrap(), None);
    let counted = memory.namespaces().await.unwrap();
    assert_eq!(counted.len(), 1);
    assert_eq!((counted[0].1.sessions, counted[0].1.entries), (3, 4));
}
