//! The reloader's small decisions; the whole of it is tested against the real program.

use std::path::Path;

use tollgate_server::config_service::{ConfigChange, ReloadEffect, ReloadOutcome, ServerSwitch};

use super::{ContentDebounce, MAX_REREADS, audit};

#[test]
fn a_bad_file_is_looked_at_once_more_and_a_restless_one_not_for_ever() {
    let mut content = ContentDebounce::default();
    assert!(content.again("half"));
    assert!(!content.again("half"), "it stayed that way");
    let mut content = ContentDebounce::default();
    let reported = (0..100).find(|round| !content.again(&format!("half {round}")));
    assert_eq!(reported, Some(MAX_REREADS));
}

#[test]
fn what_changes_the_config_has_its_row() {
    let name = || "web".to_owned();
    for (change, expected) in [
        (ConfigChange::Text(String::new()), "Reload edited"),
        (
            ConfigChange::Add { name: name(), server: serde_json::Map::new(), agents: Vec::new() },
            "Server added",
        ),
        (ConfigChange::Remove { name: name() }, "Server removed"),
        (ConfigChange::Switch { name: name(), to: ServerSwitch::On }, "Server enabled"),
        (ConfigChange::Switch { name: name(), to: ServerSwitch::Off }, "Server disabled"),
    ] {
        let row = format!("{:?}", audit::act(&change).by("key:ops"));
        for word in expected.split(' ') {
            assert!(row.contains(word), "{row}");
        }
    }
    let file = Path::new("t.yaml");
    assert_eq!(audit::reload("file", file, &ReloadOutcome::Unchanged), None);
    let refused =
        audit::reload("file", file, &ReloadOutcome::Refused("t.yaml:1:2: wrong".to_owned()));
    assert!(format!("{refused:?}").contains("t.yaml:1:2: wrong"));
    assert!(
        audit::reload("signal", file, &ReloadOutcome::Applied(ReloadEffect::default())).is_some()
    );
}
