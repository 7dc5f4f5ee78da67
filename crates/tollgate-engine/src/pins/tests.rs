use tollgate_core::catalog::{
    Catalog, CatalogInputs, ServerListing, ServerOffer, ServerOrigin, ServerRules,
};
use tollgate_core::id::{ServerId, ToolName};
use tollgate_core::json::raw_value;
use tollgate_core::names::{NameOwners, NamePattern};
use tollgate_core::trust::TrustedBy;

use super::*;

fn tools() -> Vec<Arc<Tool>> {
    let text = raw_value(&serde_json::json!({"name": "t", "inputSchema": {"type": "object"}}));
    let rules = ServerRules::new(ServerId::parse("s").unwrap(), ServerOrigin::Upstream);
    let listing = ServerListing { tools: vec![text], ..ServerListing::default() };
    let offers = [ServerOffer { rules: rules.into(), listing: listing.into(), present: true }];
    let pattern = NamePattern::default();
    let pins = ToolPins::default();
    let inputs = CatalogInputs {
        version: 1,
        offers: &offers,
        pattern: &pattern,
        previous: None,
        pins: &pins,
    };
    Catalog::build(&inputs, &mut NameOwners::default()).first_uses
}

fn id() -> ToolId {
    ToolId { server: ServerId::parse("s").unwrap(), tool: ToolName::new("t") }
}

fn decision(state: StoredPinState) -> Decision {
    let hash = tools()[0].hash;
    let definition = "{}".to_owned();
    let by = "ops".to_owned();
    Decision { tool: id(), hash, definition, state, by, at: SystemTime::UNIX_EPOCH }
}

#[test]
fn s_25_pins_outlast_the_process_with_their_definitions() {
    let directory = tempfile::tempdir().unwrap();
    let open = || Store::open(&directory.path().join("tollgate.db")).map(Arc::new).unwrap();
    PinStore::open(Some(open())).unwrap().first_uses(&tools(), SystemTime::UNIX_EPOCH);
    let book = PinStore::open(Some(open())).unwrap();
    assert_eq!(book.pins().get(&id()).unwrap().trusted.unwrap().by, TrustedBy::FirstUse);
    assert!(book.stored_definitions(&id()).unwrap()[0].definition.contains("\"name\":\"t\""));
    book.decide(&decision(StoredPinState::Accepted)).unwrap();
    assert_eq!(book.pins().get(&id()).unwrap().trusted.unwrap().by, TrustedBy::Person);
    let again = PinStore::open(Some(open())).unwrap();
    assert_eq!(again.pins(), book.pins());
}

#[test]
fn without_a_store_pins_live_with_the_process() {
    let book = PinStore::open(None).unwrap();
    book.first_uses(&tools(), SystemTime::UNIX_EPOCH);
    book.decide(&decision(StoredPinState::Rejected)).unwrap();
    let pin = book.pins().get(&id()).cloned().unwrap();
    assert_eq!((pin.trusted, pin.rejected.len()), (None, 1));
    assert_eq!(book.stored_definitions(&id()).unwrap().len(), 1);
    assert!(PinStore::open(None).unwrap().pins().get(&id()).is_none());
}

#[test]
fn s_25_pins_that_cannot_be_read_are_an_error_and_nothing_is_trusted_anew() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tollgate.db");
    let store = Store::open(&file).map(Arc::new).unwrap();
    let book = PinStore::open(Some(Arc::clone(&store))).unwrap();
    book.first_uses(&tools(), SystemTime::UNIX_EPOCH);
    book.decide(&decision(StoredPinState::Rejected)).unwrap();
    let other = rusqlite::Connection::open(&file).unwrap();
    other.execute_batch("ALTER TABLE pins RENAME TO elsewhere").unwrap();
    assert!(PinStore::open(Some(Arc::clone(&store))).is_err());
    other.execute_batch("ALTER TABLE elsewhere RENAME TO pins").unwrap();
    assert_eq!(PinStore::open(Some(store)).unwrap().pins(), book.pins());
}
