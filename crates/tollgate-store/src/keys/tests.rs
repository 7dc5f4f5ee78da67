use std::time::Duration;

use super::*;

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn key(name: &str, byte: u8) -> StoredKey {
    StoredKey {
        name: name.to_owned(),
        secret: Secrets { fingerprint: [byte; 32], former: None },
        role: "caller".to_owned(),
        agents: Some(vec!["sage".to_owned(), "barkeep".to_owned()]),
        rights: vec!["execute".to_owned()],
        tools: Some(vec!["roll*".to_owned()]),
        rate_limit: Some("600/min".to_owned()),
        concurrent: Some(4),
        tenant: Some("acme".to_owned()),
        made: at(10),
        expires: Some(at(99)),
        used: None,
        revoked: None,
    }
}

#[test]
fn what_a_key_may_do_is_read_as_it_was_written() {
    let store = Store::in_memory().unwrap();
    let bare = StoredKey {
        agents: None,
        rights: Vec::new(),
        tools: None,
        rate_limit: None,
        concurrent: None,
        tenant: None,
        expires: None,
        ..key("bare", 2)
    };
    let none = StoredKey { agents: Some(Vec::new()), ..key("none", 3) };
    for key in [&bare, &none, &key("whole", 1)] {
        assert_eq!(store.keys().keep(key).unwrap(), Changed::Done);
    }
    assert_eq!(store.keys().load().unwrap(), [bare, none, key("whole", 1)]);
}

#[test]
fn a_name_is_given_again_only_when_its_key_is_revoked() {
    let store = Store::in_memory().unwrap();
    let keys = store.keys();
    assert_eq!(keys.keep(&key("a", 1)).unwrap(), Changed::Done);
    assert_eq!(keys.keep(&key("a", 2)).unwrap(), Changed::Taken);
    assert_eq!(keys.revoke("b", at(20)).unwrap(), Changed::Missing);
    assert_eq!(keys.revoke("a", at(20)).unwrap(), Changed::Done);
    assert_eq!(keys.revoke("a", at(21)).unwrap(), Changed::Missing);
    assert_eq!(keys.load().unwrap()[0].revoked, Some(at(20)));
    assert_eq!(keys.rotate("a", [9; 32], None).unwrap(), Changed::Missing);
    assert_eq!(keys.keep(&key("a", 2)).unwrap(), Changed::Done);
    assert_eq!(keys.load().unwrap(), [key("a", 2)]);
    assert!(keys.keep(&key("other", 2)).is_err(), "a secret has one holder");
    assert_eq!(keys.load().unwrap(), [key("a", 2)]);
}

#[test]
fn the_former_secret_stays_for_as_long_as_was_said() {
    let store = Store::in_memory().unwrap();
    let keys = store.keys();
    keys.keep(&key("a", 1)).unwrap();
    assert_eq!(keys.rotate("a", [2; 32], Some(at(50))).unwrap(), Changed::Done);
    let rotated = Secrets { fingerprint: [2; 32], former: Some(([1; 32], at(50))) };
    assert_eq!(keys.load().unwrap()[0].secret, rotated);
    keys.rotate("a", [3; 32], None).unwrap();
    assert_eq!(keys.load().unwrap()[0].secret, Secrets { fingerprint: [3; 32], former: None });
}

#[test]
fn the_last_use_never_goes_back() {
    let store = Store::in_memory().unwrap();
    let keys = store.keys();
    keys.keep(&key("a", 1)).unwrap();
    keys.used(&[("a".to_owned(), at(30)), ("gone".to_owned(), at(30))]).unwrap();
    keys.used(&[("a".to_owned(), at(20))]).unwrap();
    assert_eq!(keys.load().unwrap()[0].used, Some(at(30)));
}

#[test]
fn what_another_process_writes_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tollgate.db");
    let (ours, theirs) = (Store::open(&file).unwrap(), Store::open(&file).unwrap());
    let before = ours.data_version().unwrap();
    ours.keys().keep(&key("mine", 1)).unwrap();
    assert_eq!(ours.data_version().unwrap(), before, "we know what we write");
    theirs.keys().keep(&key("theirs", 2)).unwrap();
    assert_ne!(ours.data_version().unwrap(), before);
    assert_eq!(ours.keys().load().unwrap().len(), 2);
}

#[test]
fn s_10_names_are_values_and_never_words_of_sql() {
    let store = Store::in_memory().unwrap();
    for name in ["' OR 1=1--", "a'; DROP TABLE keys; --", "\0", "%", "\"\""] {
        assert_eq!(store.keys().keep(&key("victim", 1)).unwrap(), Changed::Done);
        assert_eq!(store.keys().revoke(name, at(5)).unwrap(), Changed::Missing, "{name}");
        assert_eq!(store.keys().rotate(name, [7; 32], None).unwrap(), Changed::Missing);
        let found = store.keys().load().unwrap();
        assert_eq!(found, [key("victim", 1)], "{name}");
        store.keys().revoke("victim", at(6)).unwrap();
    }
}
