use std::fs;
use std::path::PathBuf;

use super::*;

/// With that many rows, and an anchor at the last one.
fn anchored(rows: u64) -> Place {
    let place = Place::new();
    assert_eq!(place.audit().reconcile(at(1)).unwrap(), None);
    write(&place, rows);
    place.audit().move_anchor().unwrap();
    place
}

fn write(place: &Place, rows: u64) {
    let entries = (0..rows).map(|number| AuditEntry::new(at(number), "call", "local", "ok"));
    place.journal().append(entries).unwrap();
}

impl Place {
    fn anchor(&self) -> PathBuf {
        self.directory.path().join("tollgate-audit.anchor")
    }

    fn database(&self) -> PathBuf {
        self.directory.path().join("tollgate.db")
    }

    /// Puts another database in the place of this one.
    fn replaced(self, change: impl FnOnce(&Self)) -> Self {
        let Self { directory, store } = self;
        drop(store);
        let between = Self { directory, store: Store::in_memory().unwrap() };
        change(&between);
        let store = Store::open(&between.database()).unwrap();
        Self { store, ..between }
    }

    fn empty(&self) {
        for file in ["tollgate.db", "tollgate.db-wal", "tollgate.db-shm"] {
            let _ = fs::remove_file(self.directory.path().join(file));
        }
    }

    fn lost(&self) -> Vec<AuditLossKind> {
        self.verified().losses.iter().map(|loss| loss.kind).collect()
    }
}

#[test]
fn a_trail_that_was_anchored_is_whole_also_after_more_rows_and_after_its_oldest_went() {
    let place = anchored(20);
    write(&place, 5);
    assert!(place.verified().is_whole());
    let keep = RetentionBounds { since: at(0), now: at(99), rows: 10 };
    // More goes than was anchored.
    write(&place, 50);
    assert_eq!(place.journal().cut(keep, 1_000).unwrap(), 65);
    assert!(place.verified().is_whole(), "{:?}", place.verified());
    assert_eq!(place.audit().reconcile(at(2)).unwrap(), None);
    assert!(place.verified().is_whole());
}

#[test]
fn rows_that_are_gone_from_the_end_are_missed_until_that_is_acknowledged() {
    let place = anchored(20);
    place.sql(
        "DELETE FROM audit WHERE sequence > 15;
         UPDATE audit_chain SET last_sequence = 15,
            last_hash = (SELECT hash FROM audit WHERE sequence = 15)",
    );
    assert_eq!(place.damage(), "none", "the rows alone do not show it");
    assert_eq!(place.lost(), [AuditLossKind::Tail]);
    place.audit().move_anchor().unwrap();
    assert_eq!(place.lost(), [AuditLossKind::Tail], "not hidden by the next rows");
    let loss = place.audit().reconcile(at(9)).unwrap().unwrap();
    assert_eq!((loss.found, loss.anchored.sequence, loss.database.sequence), (Some(at(9)), 20, 15));
    assert!(loss.to_string().contains("row 20 was written, but the database ended with row 15"));
    write(&place, 10);
    place.audit().move_anchor().unwrap();
    assert_eq!(place.verified().losses, [loss]);
    assert_eq!(place.audit().acknowledge_losses().unwrap(), [loss]);
    assert!(place.verified().is_whole());
}

#[test]
fn a_database_that_was_removed_emptied_or_put_back_is_missed() {
    for (name, change) in [
        ("removed", (|place| place.empty()) as fn(&Place)),
        ("emptied", |place| {
            place.empty();
            fs::write(place.database(), "").unwrap();
        }),
    ] {
        let place = anchored(20).replaced(change);
        assert_eq!(place.lost(), [AuditLossKind::Tail], "{name}");
        // Another trail that grew beyond the old one.
        let others = (0..30).map(|number| AuditEntry::new(at(number), "call", "other", "ok"));
        place.journal().append(others).unwrap();
        assert_eq!(place.lost(), [AuditLossKind::Replaced], "{name}");
        assert!(place.audit().reconcile(at(3)).unwrap().is_some(), "{name}");
        assert!(!place.verified().is_whole(), "{name}");
    }
    let place = anchored(20);
    place.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    let copy = fs::read(place.database()).unwrap();
    write(&place, 10);
    place.audit().move_anchor().unwrap();
    let place = place.replaced(|place| {
        place.empty();
        fs::write(place.database(), &copy).unwrap();
    });
    assert_eq!(place.lost(), [AuditLossKind::Tail]);
}

#[test]
fn rows_that_are_gone_from_the_beginning_are_missed() {
    let place = anchored(20);
    place.sql(
        "UPDATE audit_chain SET cut_sequence = 5,
            cut_hash = (SELECT hash FROM audit WHERE sequence = 5);
         DELETE FROM audit WHERE sequence <= 5",
    );
    assert_eq!(place.damage(), "none");
    assert_eq!(place.lost(), [AuditLossKind::Head]);
}

#[test]
fn an_anchor_that_is_gone_or_damaged_is_missed_itself() {
    for damage in [None, Some(""), Some("{}"), Some("{\"format\": 1"), Some("\u{0}\u{0}")] {
        let place = anchored(20);
        match damage {
            None => fs::remove_file(place.anchor()).unwrap(),
            Some(text) => fs::write(place.anchor(), text).unwrap(),
        }
        assert_eq!(place.lost(), [AuditLossKind::Anchor], "{damage:?}");
        assert!(place.audit().reconcile(at(3)).unwrap().is_some());
        assert_eq!(place.lost(), [AuditLossKind::Anchor], "{damage:?}: noted in the new one");
    }
}

#[test]
fn a_trail_of_a_version_without_anchors_is_not_suspected() {
    let place = Place::new();
    write(&place, 20);
    assert!(place.verified().is_whole());
    assert_eq!(place.audit().reconcile(at(3)).unwrap(), None);
    assert!(place.verified().is_whole());
}

#[test]
fn without_database_and_anchor_what_else_is_there_tells_that_there_was_a_trail() {
    let place = anchored(20).replaced(|place| {
        place.empty();
        fs::remove_file(place.anchor()).unwrap();
        fs::write(place.directory.path().join("admin.token"), "tga_").unwrap();
    });
    assert_eq!(place.lost(), [AuditLossKind::Database]);
    let place = anchored(20).replaced(|place| {
        place.empty();
        fs::remove_file(place.anchor()).unwrap();
    });
    assert!(place.verified().is_whole(), "a first start looks like this");
}

#[test]
fn several_who_move_the_anchor_never_move_it_back() {
    let place = anchored(1);
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..20 {
                    write(&place, 3);
                    place.audit().move_anchor().unwrap();
                    assert!(place.verified().is_whole());
                }
            });
        }
    });
    place.audit().move_anchor().unwrap();
    let text = fs::read_to_string(place.anchor()).unwrap();
    assert!(text.contains("\"row\": 241"), "{text}");
}
