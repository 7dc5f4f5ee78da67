use std::time::SystemTime;

use super::{MAX_CALL_AGE, StoredCall};
use crate::Store;

#[test]
fn a_call_is_known_until_it_ends_or_cannot_run_any_more() {
    let store = Store::in_memory().unwrap();
    let calls = store.live_calls();
    let call = StoredCall { principal: "key:desk".to_owned(), model: "voice".to_owned() };
    let now = SystemTime::UNIX_EPOCH + 2 * MAX_CALL_AGE;
    for id in ["rtc_1", "rtc_2"] {
        calls.keep(id, &call, now).unwrap();
    }
    assert_eq!(calls.load("rtc_1").unwrap(), Some(call.clone()));
    calls.forget("rtc_1").unwrap();
    assert_eq!(calls.load("rtc_1").unwrap(), None);
    calls.keep("rtc_3", &call, now + MAX_CALL_AGE).unwrap();
    assert_eq!(calls.load("rtc_2").unwrap(), None);
    assert_eq!(calls.load("rtc_3").unwrap(), Some(call));
}
