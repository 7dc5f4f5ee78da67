use super::*;
use crate::memory::{EntityFilter, MemoryError};

async fn names(
    memory: &MemoryStore,
    eyes: &str,
    name: Option<&str>,
    kind: Option<&str>,
) -> Vec<String> {
    let filter = EntityFilter { name: name.map(str::to_owned), kind: kind.map(str::to_owned) };
    let found = memory.find_entities(&scope(eyes), &filter, ALL).await.unwrap();
    found.into_iter().map(|entity| entity.name).collect()
}

async fn links(memory: &MemoryStore, eyes: &str, of: &str) -> Vec<String> {
    let snapshot = memory.snapshot(&scope(eyes), &id(of), 10).await.unwrap().unwrap();
    let render = |link: &tollgate_core::memory::EntityLink| {
        let relation = &link.relation;
        format!("{} {} {}: {}", relation.source, relation.kind, relation.target, link.neighbour.id)
    };
    snapshot.links.iter().map(render).collect()
}

pub(crate) async fn entities_are_replaced_by_their_id(memory: &MemoryStore) {
    let here = place("waterdeep");
    put(memory, &here, &["npc-elara: Elara", "npc-tom: Tom"]).await;
    let changed = entity("npc-elara: Elara the Grey");
    let changed = changed.with(attributes(r#"{"class": "druid", "levels": [1, 2.5]}"#)).unwrap();
    let changed = NewEntity { at: at(9), ..changed };
    memory.put_entities(&by("bob", here), vec![changed]).await.unwrap();
    let snapshot = memory.snapshot(&scope("waterdeep"), &id("npc-elara"), 5).await.unwrap();
    let snapshot = snapshot.unwrap();
    let entity = &snapshot.entity;
    assert_eq!((&*entity.name, &*entity.kind), ("Elara the Grey", "npc"));
    assert_eq!(entity.attributes, attributes(r#"{"class": "druid", "levels": [1, 2.5]}"#));
    assert_eq!((&entity.author, entity.changed), (&author("bob"), at(9)));
    assert_eq!(
        (entity.audience.clone(), snapshot.links, snapshot.left_out),
        (Audience::Shared, vec![], 0)
    );
    assert_eq!(names(memory, "waterdeep", None, None).await, ["Elara the Grey", "Tom"]);
    assert_eq!(names(memory, "waterdeep", Some("grey"), None).await, ["Elara the Grey"]);
    assert_eq!(memory.namespaces().await.unwrap()[0].1.entities, 2);
    let none = memory.snapshot(&scope("waterdeep"), &id("npc-nobody"), 5).await.unwrap();
    assert_eq!(none, None);
}

pub(crate) async fn names_are_found_the_same_then_beginning_then_by_words(memory: &MemoryStore) {
    let all = [
        "npc-1: Élara of the Vale",
        "npc-2: Elara",
        "npc-3: Lady Elara Moon",
        "npc-4: Elarandil",
        "npc-5: Tom",
        "npc-6: 🐉",
        "npc-7: ???",
    ];
    put(memory, &place("waterdeep"), &all).await;
    for (name, expected) in [
        ("ELARA", &["Elara", "Élara of the Vale", "Elarandil", "Lady Elara Moon"][..]),
        ("elara of the vale", &["Élara of the Vale"]),
        ("moon lady", &["Lady Elara Moon"]),
        ("tom the smith", &["Tom"]),
        ("🐉", &["🐉"]),
        ("???", &["???"]),
        ("nobody", &[]),
        ("%", &[]),
        ("_lara", &[]),
    ] {
        let found = names(memory, "waterdeep", Some(name), None).await;
        let of_all: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(of_all, expected, "{name}");
    }
}

pub(crate) async fn names_that_many_have_are_all_found(memory: &MemoryStore) {
    let all: Vec<String> = (0..30).map(|at| format!("npc-guard-{at:02}: Guard")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    put(memory, &place("waterdeep"), &all).await;
    assert_eq!(names(memory, "waterdeep", Some("guard"), None).await.len(), 30);
    let filter = EntityFilter { name: Some("guard".to_owned()), kind: None };
    let mut ids = Vec::new();
    for skip in [0, 10, 20, 30] {
        let page = Page { skip, most: 10 };
        let found = memory.find_entities(&scope("waterdeep"), &filter, page).await.unwrap();
        ids.extend(found.into_iter().map(|entity| entity.id.to_string()));
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 30);
}

async fn close(
    memory: &MemoryStore,
    eyes: &str,
    name: &str,
    kind: Option<&str>,
    most: usize,
) -> Vec<String> {
    let filter = EntityFilter { name: Some(name.to_owned()), kind: kind.map(str::to_owned) };
    let found = memory.find_close_entities(&scope(eyes), &filter, most).await.unwrap();
    found.into_iter().map(|entity| entity.name).collect()
}

pub(crate) async fn names_that_are_misspelt_or_misheard_are_found(memory: &MemoryStore) {
    let all = [
        "npc-1: Oswin Pell",
        "location-2: Oswyn Bell",
        "npc-3: Katherine the Grey",
        "npc-4: Élara of the Vale",
        "npc-5: 🐉",
    ];
    put(memory, &place("acme/town"), &all).await;
    put(memory, &place("acme/town:sage"), &["npc-6: Oswin Pells"]).await;
    put(memory, &place("evil/town"), &["npc-7: Oswyn Pel"]).await;
    for (eyes, name, kind, expected) in [
        ("acme/town:bard", "Oswyn Pel", None, &["Oswin Pell", "Oswyn Bell"][..]),
        ("acme/town:bard", "Oswyn Pel", Some(" NPC "), &["Oswin Pell"]),
        ("acme/town:sage", "Oswyn Pel", Some("npc"), &["Oswin Pell", "Oswin Pells"]),
        ("acme/town:bard", "Catherine", None, &["Katherine the Grey"]),
        ("acme/town:bard", "elarra", None, &["Élara of the Vale"]),
        ("acme/town:bard", "Somebody else", None, &[]),
        ("acme/town:bard", "🐉", None, &["🐉"]),
        ("acme/town:bard", "???", None, &[]),
        ("acme/town:bard", "", None, &[]),
        ("acme/nowhere", "Oswyn Pel", None, &[]),
    ] {
        assert_eq!(close(memory, eyes, name, kind, 5).await, expected, "{eyes} {name}");
    }
    assert_eq!(close(memory, "acme/town", "Oswyn Pel", None, 1).await, ["Oswin Pell"]);
    assert_eq!(close(memory, "acme/town", "Oswyn Pel", None, 0).await, [""; 0]);
    let nameless = EntityFilter::default();
    let found = memory.find_close_entities(&scope("acme/town"), &nameless, 5).await;
    assert_eq!(found, Ok(vec![]));
}

/// More names than are compared in one search: those with the same first letter go first.
pub(crate) async fn a_close_name_is_found_among_very_many(memory: &MemoryStore) {
    let here = place("waterdeep");
    put(memory, &here, &["npc-oswin: Oswin Pell"]).await;
    for thousands in 0..5 {
        let names = (0..4_500).map(|at| format!("npc-a{thousands}-{at}: Abe {thousands} {at}"));
        let names: Vec<String> = names.collect();
        put(memory, &here, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }
    assert_eq!(close(memory, "waterdeep", "Oswyn Pel", None, 3).await, ["Oswin Pell"]);
}

pub(crate) async fn kinds_narrow_what_is_found(memory: &MemoryStore) {
    let all = ["npc-1: Vale Warden", "location-1: The Vale", "npc-2: Tom", "location-2: Tom"];
    put(memory, &place("waterdeep"), &all).await;
    for (name, kind, expected) in [
        (None, Some("npc"), &["Tom", "Vale Warden"][..]),
        (None, Some("NPC "), &["Tom", "Vale Warden"]),
        (Some("vale"), Some("location"), &["The Vale"]),
        (Some("vale"), Some("npc"), &["Vale Warden"]),
        (Some("vale"), Some("item"), &[]),
        (Some("tom"), Some("npc"), &["Tom"]),
        (None, Some("' OR 1=1 --"), &[]),
    ] {
        let found = names(memory, "waterdeep", name, kind).await;
        let of_all: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(of_all, expected, "{name:?} {kind:?}");
    }
}

pub(crate) async fn a_snapshot_has_the_surest_links_first(memory: &MemoryStore) {
    let here = place("waterdeep");
    put(memory, &here, &["npc-a: A", "npc-b: B", "npc-c: C", "item-d: D"]).await;
    let all = ["npc-a knows npc-b 0.2", "npc-c hates npc-a 0.9", "npc-a owns item-d 0.5"];
    relate(memory, &here, &all).await;
    let expected =
        ["npc-c hates npc-a: npc-c", "npc-a owns item-d: item-d", "npc-a knows npc-b: npc-b"];
    assert_eq!(links(memory, "waterdeep", "npc-a").await, expected);
    let short = memory.snapshot(&scope("waterdeep"), &id("npc-a"), 2).await.unwrap().unwrap();
    assert_eq!((short.links.len(), short.left_out), (2, 1));
    let provenance = Provenance { session: Some(session("one")), confidence: 0.9 };
    assert_eq!(short.links[0].relation.provenance, provenance);
    // The same relation once more takes its place.
    relate(memory, &here, &["npc-a knows npc-b 1"]).await;
    assert_eq!(links(memory, "waterdeep", "npc-a").await[0], "npc-a knows npc-b: npc-b");
    assert_eq!(links(memory, "waterdeep", "npc-a").await.len(), 3);
    assert_eq!(memory.namespaces().await.unwrap()[0].1.relations, 3);
}

pub(crate) async fn cycles_and_relations_to_itself_are_fine(memory: &MemoryStore) {
    let here = place("waterdeep");
    put(memory, &here, &["npc-a: A", "npc-b: B", "npc-c: C"]).await;
    let all = ["npc-a knows npc-b", "npc-b knows npc-c", "npc-c knows npc-a", "npc-a knows npc-a"];
    relate(memory, &here, &all).await;
    let expected =
        ["npc-a knows npc-a: npc-a", "npc-a knows npc-b: npc-b", "npc-c knows npc-a: npc-c"];
    assert_eq!(links(memory, "waterdeep", "npc-a").await, expected);
    let short = memory.snapshot(&scope("waterdeep"), &id("npc-a"), 0).await.unwrap().unwrap();
    assert_eq!((short.links.len(), short.left_out), (0, 3));
}

pub(crate) async fn relations_need_both_ends(memory: &MemoryStore) {
    put(memory, &place("waterdeep"), &["npc-a: A", "npc-b: B"]).await;
    put(memory, &place("waterdeep:sage"), &["npc-own: Own"]).await;
    put(memory, &place("elsewhere"), &["npc-far: Far"]).await;
    for (where_to, text, missing) in [
        ("waterdeep", "npc-a knows npc-b", None),
        ("waterdeep:sage", "npc-own knows npc-b", None),
        ("waterdeep:sage", "npc-a fears npc-b", None),
        ("waterdeep", "npc-own knows npc-b", Some("npc-own")),
        ("waterdeep:bard", "npc-a knows npc-own", Some("npc-own")),
        ("waterdeep", "npc-a knows npc-far", Some("npc-far")),
        ("waterdeep", "npc-x knows npc-a", Some("npc-x")),
    ] {
        let done = memory.relate(&place(where_to), vec![relation(text)]).await;
        let expected = missing.map_or(Ok(()), |it| Err(MemoryError::NoEntity(id(it))));
        assert_eq!(done, expected, "{where_to} {text}");
    }
    // All or none.
    let both = vec![relation("npc-b knows npc-a"), relation("npc-a knows npc-x")];
    memory.relate(&place("waterdeep"), both).await.unwrap_err();
    assert_eq!(links(memory, "waterdeep:bard", "npc-a").await, ["npc-a knows npc-b: npc-b"]);
    let own = ["npc-a fears npc-b: npc-b", "npc-a knows npc-b: npc-b"];
    assert_eq!(links(memory, "waterdeep:sage", "npc-a").await, own);
}

pub(crate) async fn relations_are_listed(memory: &MemoryStore) {
    let here = place("waterdeep");
    put(memory, &here, &["npc-a: A", "npc-b: B", "npc-c: C"]).await;
    relate(memory, &here, &["npc-b knows npc-c", "npc-a knows npc-b"]).await;
    let eyes = scope("waterdeep");
    let told = async |of: Option<&str>, page: Page| {
        let of = of.map(id);
        let found = memory.relations(&eyes, of.as_ref(), page).await.unwrap();
        found.iter().map(|it| format!("{} {}", it.source, it.target)).collect::<Vec<_>>()
    };
    assert_eq!(told(None, ALL).await, ["npc-a npc-b", "npc-b npc-c"]);
    assert_eq!(told(None, Page { skip: 1, most: 5 }).await, ["npc-b npc-c"]);
    assert_eq!(told(Some("npc-c"), ALL).await, ["npc-b npc-c"]);
    assert_eq!(told(Some("npc-b"), ALL).await, ["npc-a npc-b", "npc-b npc-c"]);
    assert_eq!(told(Some("npc-x"), ALL).await, [""; 0]);
}
