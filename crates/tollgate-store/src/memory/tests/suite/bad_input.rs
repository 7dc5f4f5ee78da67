use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::memory::{EntityFilter, MAX_ROWS_PER_CALL, MemoryError, MemoryForgetTarget};

pub(crate) async fn b_me_1_no_query_is_syntax(memory: &MemoryStore) {
    say(memory, &place("waterdeep"), &["a: near the dragon, or not"]).await;
    let long = "dragon ".repeat(150_000);
    for query in [
        "\"",
        "dragon\"",
        "*",
        "drag*",
        "NEAR(dragon",
        "dragon OR",
        "dragon AND NOT",
        "(dragon",
        "words:dragon",
        "-dragon",
        "^dragon",
        "{dragon}",
        "dragon + \"",
        "'; DROP TABLE entries; --",
        "dragon & | ! <-> :*",
        "\\",
        "%",
        "17xdragon",
        "dragon\0",
        &long,
    ] {
        match memory.search_entries(&scope("waterdeep"), &search(query)).await {
            Ok(hits) => assert!(hits.len() <= 1, "{query:.40}"),
            Err(trouble) => {
                assert_eq!(trouble.to_string(), "`query` is empty", "{query:.40}");
                assert!(!query.contains(char::is_alphanumeric), "{query:.40}");
            }
        }
    }
    for query in ["dragon\"", "NEAR(dragon", "'dragon'; DROP TABLE", &long] {
        assert_eq!(found(memory, "waterdeep", query).await.len(), 1, "{query:.40}");
    }
    for query in ["", "   ", "?!"] {
        let refused = memory.search_facts(&scope("waterdeep"), &search(query), None).await;
        assert_eq!(refused.unwrap_err().to_string(), "`query` is empty");
    }
}

pub(crate) async fn b_me_2_as_many_hits_as_there_may_be(memory: &MemoryStore) {
    let lines: Vec<String> = (0..150).map(|at| format!("a: dragon number {at}")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    say(memory, &place("waterdeep"), &lines).await;
    for most in [1, 10, 100] {
        let asked = MemorySearch { most, ..search("dragon") };
        let hits = memory.search_entries(&scope("waterdeep"), &asked).await.unwrap();
        assert_eq!(hits.len(), most);
    }
    for most in [0, 101, usize::MAX] {
        let asked = MemorySearch { most, ..search("dragon") };
        let refused = memory.search_entries(&scope("waterdeep"), &asked).await.unwrap_err();
        assert_eq!(refused.to_string(), format!("`top_k` is {most}; it must be from 1 to 100"));
    }
    let endless = Page { skip: usize::MAX, most: usize::MAX };
    assert_eq!(memory.sessions(&scope("waterdeep"), endless).await.unwrap(), []);
    assert_eq!(memory.facts(&scope("waterdeep"), endless).await.unwrap(), []);
    let all = TranscriptPage { after: Some(EntryId(u64::MAX)), most: usize::MAX };
    let none = memory.entries(&scope("waterdeep"), &session("one"), all).await.unwrap();
    assert_eq!(none, []);
}

pub(crate) async fn b_me_3_ids_are_only_ever_themselves(memory: &MemoryStore) {
    let ids = [
        "npc-elara",
        "npc-\u{435}lara",
        "NPC-ELARA",
        "npc-e\u{301}lara",
        "npc-\u{e9}lara",
        "'; DROP TABLE entities; --",
        "\" OR \"\"=\"",
        "%",
        "npc_elara",
        "../../etc",
        "💥",
    ];
    let here = place("waterdeep");
    for (at, key) in ids.iter().enumerate() {
        let entity = NewEntity::new(id(key), "npc", &format!("name {at}"), super::at(0)).unwrap();
        memory.put_entities(&here, vec![entity]).await.unwrap();
        memory.append(&here, vec![entry(&format!("{key} | a: said {at}"), 0)]).await.unwrap();
    }
    for (at, key) in ids.iter().enumerate() {
        let found = memory.snapshot(&scope("waterdeep"), &id(key), 1).await.unwrap().unwrap();
        assert_eq!(found.entity.name, format!("name {at}"), "{key}");
        let lines = memory.entries(&scope("waterdeep"), &session(key), WHOLE).await.unwrap();
        assert_eq!(texts(&lines), [format!("said {at}")], "{key}");
        let elsewhere = memory.snapshot(&scope("acme/waterdeep"), &id(key), 1).await.unwrap();
        assert_eq!(elsewhere, None, "{key}");
    }
    assert_eq!(memory.sessions(&scope("waterdeep"), ALL).await.unwrap().len(), ids.len());
}

pub(crate) async fn b_me_4_texts_come_back_as_they_were(memory: &MemoryStore) {
    let here = place("waterdeep");
    let texts = [
        "🧙‍♀️ casts 🔥",
        "e\u{301} and é",
        "a\u{202e}b\u{200b}c",
        "line\nline\ttab\r\n.",
        "'quoted' \"twice\" `thrice` \\ ; -- /* */",
        "\u{feff}bom",
        "\u{fffd}",
        "\u{10ffff}",
        "<script>alert(1)</script>",
        "竜",
        "x",
    ];
    for text in texts {
        let entry = NewEntry::new(session("one"), "🎲", text, at(0)).unwrap();
        let ids = memory.append(&here, vec![entry]).await.unwrap();
        let after = TranscriptPage { after: Some(EntryId(ids[0].0 - 1)), most: 1 };
        let entries = memory.entries(&scope("waterdeep"), &session("one"), after).await.unwrap();
        assert_eq!((&*entries[0].text, &*entries[0].speaker), (text, "🎲"));
        remember(memory, &here, &[text]).await;
        let facts = memory.facts(&scope("waterdeep"), ALL).await.unwrap();
        assert!(facts.iter().any(|it| it.text == text), "{text:?}");
    }
    let nul = NewEntry::new(session("one"), "a\0", "drag\0on", at(0)).unwrap();
    memory.append(&here, vec![nul]).await.unwrap();
    assert_eq!(found(memory, "waterdeep", "dragon").await, ["dragon"]);
    let odd = attributes(r#"{"a\u0000b": "c\u0000", "n": [1e300, -0.5, null, {"": "🐉"}]}"#);
    let entry = entity("npc-odd: Odd").with(odd).unwrap();
    memory.put_entities(&here, vec![entry]).await.unwrap();
    let back = memory.snapshot(&scope("waterdeep"), &id("npc-odd"), 1).await.unwrap().unwrap();
    let expected = attributes(r#"{"ab": "c", "n": [1e300, -0.5, null, {"": "🐉"}]}"#);
    assert_eq!(back.entity.attributes, expected);
}

pub(crate) async fn b_me_4_what_is_too_much_is_refused(memory: &MemoryStore) {
    let here = place("waterdeep");
    let mebibyte = "x".repeat(1 << 20);
    let refused = NewEntry::new(session("one"), "a", &mebibyte, at(0)).unwrap_err();
    assert_eq!(refused.to_string(), "`text` has 1048576 bytes; the limit is 65536");
    NewFact::from_statement(&mebibyte, at(0)).unwrap_err();
    let most = "word ".repeat(13_000);
    memory.append(&here, vec![entry(&format!("a: {most}"), 0)]).await.unwrap();
    assert_eq!(found(memory, "waterdeep", "words").await.len(), 1);
    let many = vec![entry("a: b", 0); MAX_ROWS_PER_CALL + 1];
    let refused = memory.append(&here, many).await.unwrap_err();
    assert_eq!(refused.to_string(), "`entries` is 5001; it must be from 0 to 5000");
    assert!(matches!(refused, MemoryError::Invalid(_)));
    assert_eq!(memory.namespaces().await.unwrap()[0].1.entries, 1);
}

/// Several at once: each hears of its own, and all of it is there.
pub(crate) async fn b_me_5_many_writers_lose_nothing(memory: &MemoryStore) {
    let highest = Arc::new(AtomicU64::new(0));
    let mut writers = Vec::new();
    for writer in 0..8 {
        let memory = memory.clone();
        let highest = Arc::clone(&highest);
        #[expect(clippy::disallowed_methods, reason = "a test has no tasks of its own")]
        writers.push(tokio::spawn(async move {
            let mut last = 0;
            for number in 0..500 {
                let text = format!("session {writer} | w{writer}: number {number}");
                let before = highest.load(Ordering::SeqCst);
                let ids = memory.append(&place("waterdeep"), vec![entry(&text, number)]).await;
                let id = ids.unwrap()[0].0;
                assert!(id > last && id > before, "{id} after {last} and {before}");
                highest.fetch_max(id, Ordering::SeqCst);
                last = id;
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(memory.namespaces().await.unwrap()[0].1.entries, 4_000);
    for writer in 0..8 {
        let name = session(&format!("session {writer}"));
        let lines = memory.entries(&scope("waterdeep"), &name, WHOLE).await.unwrap();
        let expected: Vec<String> = (0..500).map(|number| format!("number {number}")).collect();
        assert_eq!(texts(&lines), expected);
    }
}

pub(crate) async fn nothing_at_all_is_fine(memory: &MemoryStore) {
    let here = place("waterdeep");
    let eyes = scope("waterdeep");
    assert_eq!(memory.append(&here, vec![]).await, Ok(vec![]));
    assert_eq!(memory.remember(&here, vec![]).await, Ok(vec![]));
    assert_eq!(memory.keep_vectors("m", vec![]).await, Ok(()));
    assert_eq!(memory.put_entities(&here, vec![]).await, Ok(()));
    assert_eq!(memory.relate(&here, vec![]).await, Ok(()));
    assert_eq!(memory.ping().await, Ok(()));
    assert_eq!(memory.namespaces().await, Ok(vec![]));
    assert_eq!(memory.sessions(&eyes, ALL).await, Ok(vec![]));
    assert_eq!(memory.without_vector("m", 5).await, Ok(vec![]));
    assert_eq!(memory.unread(1, at(0)).await, Ok(vec![]));
    assert_eq!(memory.forget(&eyes, &MemoryForgetTarget::Everything).await, Ok(Default::default()));
    assert_eq!(memory.find_entities(&eyes, &EntityFilter::default(), ALL).await, Ok(vec![]));
    assert_eq!(found(memory, "waterdeep", "dragon").await, [""; 0]);
    assert_eq!(memory.search_history(&eyes, &search("dragon")).await, Ok(vec![]));
}

pub(crate) async fn moments_far_away_are_kept(memory: &MemoryStore) {
    let here = place("waterdeep");
    let day = Duration::from_secs(24 * 3_600);
    let moments = [
        SystemTime::UNIX_EPOCH,
        SystemTime::UNIX_EPOCH - day * 365 * 500,
        SystemTime::UNIX_EPOCH + day * 365 * 10_000,
        SystemTime::UNIX_EPOCH + Duration::from_millis(1),
    ];
    for moment in moments {
        let new = NewEntry { at: moment, ..entry("a: dragon", 0) };
        memory.append(&here, vec![new]).await.unwrap();
    }
    let lines = memory.entries(&scope("waterdeep"), &session("one"), WHOLE).await.unwrap();
    assert_eq!(lines.iter().map(|it| it.at).collect::<Vec<_>>(), moments);
    let told = memory.session(&scope("waterdeep"), &session("one")).await.unwrap().unwrap();
    assert_eq!((told.began, told.last), (moments[1], moments[2]));
    assert!(!found(memory, "waterdeep", "dragon").await.is_empty());
}
