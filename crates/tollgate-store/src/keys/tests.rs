use std::time::Duration;

use super::*;

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn key(name: &str, byte: u8) -> StoredKey {
    StoredKey {
        name: name.to_owned(),
        secret: KeySecrets { fingerprint: [byte; 32], former: None },
        role: "caller".to_owned(),
        agents: Some(vec!["sage".to_owned(), "barkeep".to_owned()]),
        rights: vec!["execute".to_owned()],
        tools: Some(vec!["roll*".to_owned()]),
        model_limits: Some(vec!["60 requests/min".to_owned(), "5 USD/day".to_owned()]),
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
        assert_eq!(store.keys().keep(key).unwrap(), KeyChange::Done);
    }
    assert_eq!(store.keys().load().unwrap(), [bare, none, key("whole", 1)]);
}

#[test]
fn a_name_is_given_again_only_when_its_key_is_revoked() {
    let store = Store::in_memory().unwrap();
    let keys = store.keys();
    assert_eq!(keys.keep(&key("a", 1)).unwrap(), KeyChange::Done);
    assert_eq!(keys.keep(&key("a", 2)).unwrap(), KeyChange::Taken);
    assert_eq!(keys.revoke("b", at(20)).unwrap(), KeyChange::Missing);
    assert_eq!(keys.revoke("a", at(20)).unwrap(), KeyChange::Done);
    assert_eq!(keys.revoke("a", at(21)).unwrap(), KeyChange::Missing);
    assert_eq!(keys.load().unwrap()[0].revoked, Some(at(20)));
    assert_eq!(keys.rotate("a", [9; 32], None).unwrap(), KeyChange::Missing);
    assert_eq!(keys.keep(&key("a", 2)).unwrap(), KeyChange::Done);
    assert_eq!(keys.load().unwrap(), [key("a", 2)]);
    assert!(keys.keep(&key("other", 2)).is_err(), "a secret has one holder");
    assert_eq!(keys.load().unwrap(), [key("a", 2)]);
}

#[test]
fn the_former_secret_stays_for_as_long_as_was_said() {
    let store = Store::in_memory().unwrap();
    let keys = store.keys();
    keys.keep(&key("a", 1)).unwrap();
    assert_eq!(keys.rotate("a", [2; 32], Some(at(50))).unwrap(), KeyChange::Done);
    let rotated = KeySecrets { fingerprint: [2; 32], former: Some(([1; 32], at(50))) };
    assert_eq!(keys.load().unwrap()[0].secret, rotated);
    keys.rotate("a", [3; 32], None).unwrap();
    assert_eq!(keys.load().unwrap()[0].secret, KeySecrets { fingerprint: [3; 32], former: None });
}

#[test]
fn the_last_use_never_goes_back() {
    let store = Store::in_memory().unwrap();
    let keys = store.keys();
    keys.keep(&key("a", 1)).unwrap();
    keys.record_uses(&[("a".to_owned(), at(30)), ("gone".to_owned(), at(30))]).unwrap();
    keys.record_uses(&[("a".to_owned(), at(20))]).unwrap();
    assert_eq!(keys.load().unwrap()[0].used, Some(at(30)));
}

#[test]
fn what_another_process_writes_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tollgate.db");
    let ours = Store::open(&file).unwrap();
    let theirs = Store::open(&file).unwrap();
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
        assert_eq!(store.keys().keep(&key("victim", 1)).unwrap(), KeyChange::Done);
        assert_eq!(store.keys().revoke(name, at(5)).unwrap(), KeyChange::Missing, "{name}");
        assert_eq!(store.keys().rotate(name, [7; 32], None).unwrap(), KeyChange::Missing);
        let found = store.keys().load().unwrap();
        assert_eq!(found, [key("victim", 1)], "{name}");
        store.keys().revoke("victim", at(6)).unwrap();
    }
}

#[test]
fn that_there_were_keys_outlasts_the_database() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tollgate.db");
    let open = || Store::open(&file).unwrap();
    let lose = || {
        for name in ["tollgate.db", "tollgate.db-wal", "tollgate.db-shm"] {
            let _ = std::fs::remove_file(directory.path().join(name));
        }
    };
    assert!(!open().keys().is_required().unwrap());
    lose();
    assert!(!open().keys().is_required().unwrap(), "there were none");
    open().keys().keep(&key("phone", 1)).unwrap();
    lose();
    assert!(open().keys().is_required().unwrap());
    std::fs::write(&file, "").unwrap();
    assert!(open().keys().is_required().unwrap());
    assert!(open().keys().forget().unwrap());
    assert!(!open().keys().is_required().unwrap());
}

#[test]
fn keys_are_forgotten_only_when_none_is_in_force() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&directory.path().join("tollgate.db")).unwrap();
    let keys = store.keys();
    keys.keep(&key("phone", 1)).unwrap();
    keys.keep(&key("car", 2)).unwrap();
    keys.revoke("car", at(20)).unwrap();
    assert!(!keys.forget().unwrap());
    assert_eq!(keys.load().unwrap().len(), 2);
    keys.revoke("phone", at(20)).unwrap();
    assert!(keys.is_required().unwrap(), "revoked keys count");
    assert!(keys.forget().unwrap());
    assert!(keys.load().unwrap().is_empty() && !keys.is_required().unwrap());
}

#[test]
fn a_data_directory_of_an_earlier_version_gets_its_marker() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tollgate.db");
    Store::open(&file).unwrap().keys().keep(&key("phone", 1)).unwrap();
    let marker = directory.path().join("tollgate-keys.required");
    std::fs::remove_file(&marker).unwrap();
    drop(Store::open(&file).unwrap());
    assert!(std::fs::read_to_string(&marker).unwrap().contains("tollgate keys open"));
    // The gateway made its token, so this is not the first start.
    std::fs::remove_file(&marker).unwrap();
    std::fs::remove_file(&file).unwrap();
    std::fs::write(directory.path().join("admin.token"), "tga_").unwrap();
    assert!(Store::open(&file).unwrap().keys().is_required().unwrap());
}
