//! Logins that stay with whom they were given for.

use tollgate_core::secret::Secret;

use super::{LoginHolder, StoredLogin};
use crate::database::Store;

fn holder(server: &str, resource: &str) -> LoginHolder {
    LoginHolder { server: server.to_owned(), resource: resource.to_owned() }
}

#[test]
fn a_login_is_for_one_server_at_one_address() {
    let store = Store::in_memory().unwrap();
    let here = holder("web", "https://a.test");
    let moved = holder("web", "https://b.test");
    let login = |text: &str| StoredLogin {
        issuer: Some("https://idp.test".to_owned()),
        credentials: Secret::new(text),
    };
    assert_eq!(store.logins().load(&here).unwrap(), None);
    store.logins().keep(&here, &login("one")).unwrap();
    store.logins().keep(&here, &login("two")).unwrap();
    assert_eq!(store.logins().load(&here).unwrap(), Some(login("two")));
    assert_eq!(store.logins().load(&moved).unwrap(), None);
    store.logins().forget(&moved).unwrap();
    store.logins().forget(&here).unwrap();
    assert_eq!(store.logins().load(&here).unwrap(), None);
}
