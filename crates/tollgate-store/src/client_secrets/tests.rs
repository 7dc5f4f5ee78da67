use std::time::{Duration, SystemTime};

use super::{MEMORY_OF_EXPIRED, StoredClientSecret};
use crate::Store;

const NOW: SystemTime = SystemTime::UNIX_EPOCH;

fn secret(number: u8, max_uses: Option<u32>) -> StoredClientSecret {
    StoredClientSecret {
        fingerprint: [number; 32],
        binding: [9; 32],
        terms: "{}".to_owned(),
        until: NOW + Duration::from_secs(60),
        max_uses,
    }
}

#[test]
fn a_secret_is_found_by_its_fingerprint_only() {
    let store = Store::in_memory().unwrap();
    let kept = secret(1, Some(3));
    store.client_secrets().keep(&kept, NOW).unwrap();
    assert_eq!(store.client_secrets().load([1; 32]).unwrap(), Some(kept));
    assert_eq!(store.client_secrets().load([2; 32]).unwrap(), None);
}

#[test]
fn uses_are_counted() {
    let store = Store::in_memory().unwrap();
    let table = store.client_secrets();
    table.keep(&secret(1, Some(1)), NOW).unwrap();
    table.keep(&secret(2, None), NOW).unwrap();
    assert!(table.take_use([1; 32]).unwrap());
    assert!(!table.take_use([1; 32]).unwrap());
    for _ in 0..3 {
        assert!(table.take_use([2; 32]).unwrap());
    }
    assert!(!table.take_use([3; 32]).unwrap(), "an unknown one has no use");
}

#[test]
fn secrets_that_expired_long_ago_are_removed() {
    let store = Store::in_memory().unwrap();
    let table = store.client_secrets();
    let old = secret(1, None);
    table.keep(&old, NOW).unwrap();
    table.keep(&secret(2, None), old.until + MEMORY_OF_EXPIRED / 2).unwrap();
    assert!(table.load([1; 32]).unwrap().is_some(), "its refusal can say why");
    table.keep(&secret(3, None), old.until + MEMORY_OF_EXPIRED).unwrap();
    assert_eq!(table.load([1; 32]).unwrap(), None);
}
