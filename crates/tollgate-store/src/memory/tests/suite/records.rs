use super::*;
use crate::memory::{MemoryCounts, MemoryImport, MemoryRecord, RecordContent};

async fn exported(memory: &MemoryStore, eyes: &str) -> Vec<MemoryRecord> {
    let mut all = Vec::new();
    let mut from = None;
    loop {
        let (records, next) = memory.export(&scope(eyes), from).await.unwrap();
        all.extend(records);
        if next.is_none() {
            return all;
        }
        from = next;
    }
}

async fn fill(memory: &MemoryStore, name: &str) {
    let here = place(name);
    let lines = ["one | a: first", "one | b: second", "one | b: second", "two | a: third"];
    say(memory, &here, &lines).await;
    say(memory, &by("bob", here.clone()), &["one | c: fourth"]).await;
    memory.summarise(&by("bob", here.clone()), &session("one"), "They talked.").await.unwrap();
    let topical = fact("Elara fears the sea.", 7).on("fears").unwrap();
    memory.remember(&here, vec![topical, fact("Tom is a smith.", 8)]).await.unwrap();
    put(memory, &here, &["npc-elara: Elara", "npc-tom: Tom"]).await;
    let changed = entity("npc-tom: Tom").with(attributes(r#"{"age": 40}"#)).unwrap();
    memory.put_entities(&here, vec![NewEntity { at: at(55), ..changed }]).await.unwrap();
    relate(memory, &here, &["npc-elara knows npc-tom 0.5"]).await;
}

pub(crate) async fn all_that_is_kept_can_be_moved(memory: &MemoryStore) {
    for name in ["waterdeep", "waterdeep:sage"] {
        fill(memory, name).await;
    }
    let records = exported(memory, "waterdeep").await;
    let kinds = |is_match: fn(&RecordContent) -> bool| {
        records.iter().filter(|it| is_match(&it.content)).count()
    };
    assert_eq!(kinds(|it| matches!(it, RecordContent::Utterance(_))), 10);
    assert_eq!(kinds(|it| matches!(it, RecordContent::Summary { .. })), 2);
    assert_eq!(records.len(), 10 + 2 + 4 + 4 + 2);
    let mut import = MemoryImport::new(memory, namespace("acme/moved"));
    let counts = import.take(records.clone()).await.unwrap();
    let expected = MemoryCounts { sessions: 0, entries: 10, facts: 4, entities: 4, relations: 2 };
    assert_eq!(counts, expected);
    assert_eq!(exported(memory, "acme/moved").await, records);
    let one = memory.session(&scope("acme/moved:sage"), &session("one")).await.unwrap().unwrap();
    assert_eq!((one.summary.as_deref(), one.entries), (Some("They talked."), 4));
    assert_eq!(found(memory, "acme/moved", "fourth").await.len(), 1);
    let named: Vec<_> = memory.namespaces().await.unwrap().into_iter().map(|it| it.1).collect();
    assert_eq!(named[0], named[1]);
}

pub(crate) async fn a_second_import_changes_nothing(memory: &MemoryStore) {
    fill(memory, "waterdeep").await;
    let records = exported(memory, "waterdeep").await;
    for round in 0..3 {
        let mut import = MemoryImport::new(memory, namespace("moved"));
        let mut counts = MemoryCounts::default();
        for part in records.chunks(3) {
            counts.entries += import.take(part.to_vec()).await.unwrap().entries;
        }
        assert_eq!(counts.entries, if round == 0 { 5 } else { 0 });
        assert_eq!(exported(memory, "moved").await, records);
    }
    // Into where it came from, too.
    let mut import = MemoryImport::new(memory, namespace("waterdeep"));
    import.take(records.clone()).await.unwrap();
    assert_eq!(exported(memory, "waterdeep").await, records);
}

pub(crate) async fn only_what_a_scope_sees_is_exported(memory: &MemoryStore) {
    for name in ["waterdeep", "waterdeep:sage", "acme/waterdeep"] {
        fill(memory, name).await;
    }
    let all = exported(memory, "waterdeep").await.len();
    assert_eq!(exported(memory, "waterdeep:bard").await.len(), all / 2);
    let sage = exported(memory, "waterdeep:sage").await;
    assert_eq!(sage.len(), all);
    assert!(sage.iter().any(|it| it.audience == Audience::Only(agent("sage"))));
    assert_eq!(exported(memory, "evil/waterdeep").await, []);
}

pub(crate) async fn many_entries_are_exported_in_parts(memory: &MemoryStore) {
    let here = place("waterdeep");
    let entries: Vec<NewEntry> = (0..1_300).map(|at| entry(&format!("a: {at}"), at)).collect();
    memory.append(&here, entries.clone()).await.unwrap();
    let records = exported(memory, "waterdeep").await;
    let lines: Vec<NewEntry> = records
        .into_iter()
        .filter_map(|it| match it.content {
            RecordContent::Utterance(entry) => Some(entry),
            _ => None,
        })
        .collect();
    assert_eq!(lines, entries);
}
