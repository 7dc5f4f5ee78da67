use std::time::Duration;

use tollgate_core::trust::TrustedBy;

use super::*;

const A: ContentHash = ContentHash([0xa; 32]);
const B: ContentHash = ContentHash([0xb; 32]);

fn id(tool: &str) -> ToolId {
    ToolId { server: ServerId::parse("files").unwrap(), tool: ToolName::new(tool) }
}

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn seen(tool: &str, hash: ContentHash) -> FirstUsePin {
    FirstUsePin { tool: id(tool), hash, definition: format!("{{\"is\":\"{hash}\"}}") }
}

fn decide(tool: &str, hash: ContentHash, state: StoredPinState, seconds: u64) -> Decision {
    let by = "ops".to_owned();
    let definition = "{}".to_owned();
    Decision { tool: id(tool), hash, definition, state, by, at: at(seconds) }
}

/// Which hash is trusted, by whom, and how many are rejected.
fn check(store: &Store, tool: &str, trusted: Option<(ContentHash, TrustedBy)>, rejected: usize) {
    let pins = store.pins().load().unwrap();
    let pin = pins.get(&id(tool)).cloned().unwrap_or_default();
    assert_eq!(pin.trusted.map(|it| (it.hash, it.by)), trusted);
    assert_eq!(pin.rejected.len(), rejected);
}

#[test]
fn what_was_pinned_is_there_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tollgate.db");
    let store = Store::open(&file).unwrap();
    store.pins().first_uses(&[seen("a", A), seen("wetter / Köln\0", B)], at(7)).unwrap();
    drop(store);
    let store = Store::open(&file).unwrap();
    check(&store, "a", Some((A, TrustedBy::FirstUse)), 0);
    check(&store, "wetter / Köln\0", Some((B, TrustedBy::FirstUse)), 0);
    let retained = store.pins().of(&id("a")).unwrap();
    assert_eq!(retained[0].definition, seen("a", A).definition);
    assert_eq!((retained[0].first_seen, retained[0].decided.clone()), (at(7), None));
}

#[test]
fn s_25_a_first_use_never_takes_the_place_of_what_is_known() {
    let store = Store::in_memory().unwrap();
    store.pins().first_uses(&[seen("a", A)], at(1)).unwrap();
    store.pins().first_uses(&[seen("a", B)], at(2)).unwrap();
    check(&store, "a", Some((A, TrustedBy::FirstUse)), 0);
    store.pins().decide(&decide("b", A, StoredPinState::Rejected, 3)).unwrap();
    store.pins().first_uses(&[seen("b", B)], at(4)).unwrap();
    check(&store, "b", None, 1);
}

#[test]
fn an_accepted_definition_takes_the_place_of_the_one_before() {
    let store = Store::in_memory().unwrap();
    store.pins().first_uses(&[seen("a", A)], at(1)).unwrap();
    store.pins().decide(&decide("a", B, StoredPinState::Accepted, 2)).unwrap();
    check(&store, "a", Some((B, TrustedBy::Person)), 0);
    assert_eq!(store.pins().of(&id("a")).unwrap().len(), 1);
    store.pins().decide(&decide("a", A, StoredPinState::Rejected, 3)).unwrap();
    check(&store, "a", Some((B, TrustedBy::Person)), 1);
    store.pins().decide(&decide("a", A, StoredPinState::Accepted, 4)).unwrap();
    check(&store, "a", Some((A, TrustedBy::Person)), 0);
    store.pins().decide(&decide("a", A, StoredPinState::Rejected, 5)).unwrap();
    check(&store, "a", None, 1);
    let retained = store.pins().of(&id("a")).unwrap();
    assert_eq!(
        (retained[0].first_seen, retained[0].decided.clone()),
        (at(3), Some((at(5), "ops".to_owned())))
    );
}

#[test]
fn what_a_person_confirms_of_a_first_use_stays_the_same_definition() {
    let store = Store::in_memory().unwrap();
    store.pins().first_uses(&[seen("a", A)], at(1)).unwrap();
    store.pins().decide(&decide("a", A, StoredPinState::Accepted, 9)).unwrap();
    check(&store, "a", Some((A, TrustedBy::Person)), 0);
    assert_eq!(store.pins().of(&id("a")).unwrap()[0].first_seen, at(1));
}

#[test]
fn a_row_that_makes_no_sense_still_says_that_the_tool_is_known() {
    let store = Store::in_memory().unwrap();
    store.pins().first_uses(&[seen("a", A)], at(1)).unwrap();
    store.write(|it| it.execute("UPDATE pins SET hash = 'nonsense'", [])).unwrap();
    let pins = store.pins().load().unwrap();
    assert_eq!(pins.get(&id("a")), Some(&trust::Pin::default()));
    assert!(store.pins().of(&id("a")).unwrap().is_empty());
}

#[test]
fn rejections_of_one_tool_are_bounded() {
    let store = Store::in_memory().unwrap();
    for round in 0..100_u8 {
        let hash = ContentHash([round; 32]);
        store
            .pins()
            .decide(&decide("a", hash, StoredPinState::Rejected, u64::from(round)))
            .unwrap();
    }
    let retained = store.pins().of(&id("a")).unwrap();
    assert_eq!(retained.len(), 64);
    assert_eq!(retained.last().unwrap().hash, ContentHash([99; 32]));
}
