//! The reloader's small decisions; the whole of it is tested against the real program.

use std::path::Path;

use tollgate_server::operator::{Change, Effect, Outcome, Switch};

use super::{Doubts, MOST_DOUBTS, audit};

#[test]
fn a_bad_file_is_looked_at_once_more_and_a_restless_one_not_for_ever() {
    let mut doubts = Doubts::default();
    assert!(doubts.again("half"));
    assert!(!doubts.again("half"), "it stayed that way");
    let mut doubts = Doubts::default();
    let told = (0..100).find(|round| !doubts.again(&format!("half {round}")));
    assert_eq!(told, Some(MOST_DOUBTS));
}

#[test]
fn what_changes_the_config_has_its_row() {
    let name = || "web".to_owned();
    for (change, expected) in [
        (Change::Text(String::new()), "Reload edited"),
        (
            Change::Add { name: name(), server: serde_json::Map::new(), agents: Vec::new() },
            "Server added",
        ),
        (Change::Remove { name: name() }, "Server removed"),
        (Change::Switch { name: name(), to: Switch::On }, "Server enabled"),
        (Change::Switch { name: name(), to: Switch::Off }, "Server disabled"),
    ] {
        let row = format!("{:?}", audit::act(&change).by("key:ops"));
        for word in expected.split(' ') {
            assert!(row.contains(word), "{row}");
        }
    }
    let file = Path::new("t.yaml");
    assert_eq!(audit::reload("file", file, &Outcome::Unchanged), None);
    let refused = audit::reload("file", file, &Outcome::Refused("t.yaml:1:2: wrong".to_owned()));
    assert!(format!("{refused:?}").contains("t.yaml:1:2: wrong"));
    assert!(audit::reload("signal", file, &Outcome::Applied(Effect::default())).is_some());
}
