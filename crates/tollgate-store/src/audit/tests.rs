use std::collections::HashSet;
use std::sync::Barrier;
use std::time::{Duration, SystemTime};

use rusqlite::Connection;
use tempfile::TempDir;
use tollgate_core::glob::Glob;

use super::*;

mod anchor;
mod reading;

/// A trail in a directory of its own.
struct Place {
    directory: TempDir,
    store: Store,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("tollgate.db")).unwrap();
        Self { directory, store }
    }

    fn audit(&self) -> Audit {
        self.store.audit().unwrap()
    }

    fn journal(&self) -> AuditJournal {
        self.audit().journal().unwrap()
    }

    fn sql(&self, text: &str) {
        let connection = Connection::open(self.directory.path().join("tollgate.db")).unwrap();
        connection.execute_batch(text).unwrap();
    }

    fn verified(&self) -> VerifiedTrail {
        self.audit().reader().unwrap().verify().unwrap()
    }

    /// What is wrong with it.
    fn damage(&self) -> String {
        self.verified().broken.map_or_else(|| "none".to_owned(), |broken| broken.to_string())
    }

    fn integrity(&self) -> String {
        let check = "PRAGMA integrity_check";
        self.store.read(|it| it.query_row(check, [], |row| row.get(0))).unwrap()
    }

    fn sequences(&self) -> Vec<u64> {
        let page =
            self.audit().reader().unwrap().page(&AuditQuery::all(AuditDirection::OldestFirst));
        page.unwrap().rows.iter().map(|row| row.sequence).collect()
    }
}

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// A call of that name, in second `seconds`.
fn call(name: &str, seconds: u64) -> AuditEntry<&str> {
    AuditEntry {
        agent: Some("sage"),
        method: Some("tools/call"),
        name: Some(name),
        server: Some("files"),
        tool: Some("write"),
        arguments_hash: Some([7; 32]),
        catalog_version: Some(3),
        tier: Some("deep"),
        duration: Some(Duration::from_micros(1_234)),
        bytes: Some(99),
        cached: Some(false),
        call: Some("01"),
        within: Some("00"),
        ..AuditEntry::new(at(seconds), "call", "key:ops", "ok")
    }
}

/// Ten calls, `t1` in second 1 to `t10` in second 10.
fn ten(place: &Place) -> AuditJournal {
    let mut journal = place.journal();
    for number in 1..=10 {
        journal.append([call(&format!("t{number}"), number)]).unwrap();
    }
    journal
}

#[test]
fn rows_come_back_as_they_were_written_and_are_bound_to_each_other() {
    let place = Place::new();
    let mut journal = place.journal();
    assert_eq!(journal.append([]).unwrap(), 0);
    let decision = AuditEntry::new(at(2), "key", "key:ops", "made");
    assert_eq!(journal.append([call("a", 1), decision]).unwrap(), 2);
    let page = place
        .audit()
        .reader()
        .unwrap()
        .page(&AuditQuery::all(AuditDirection::OldestFirst))
        .unwrap();
    let [first, second] = &page.rows[..] else { panic!("{page:?}") };
    assert_eq!((first.entry.name.as_deref(), first.entry.at), (Some("a"), at(1)));
    assert_eq!(first.entry.duration, Some(Duration::from_micros(1_234)));
    assert_eq!(first.entry.arguments_hash, Some([7; 32]));
    assert_eq!((second.entry.kind.as_str(), second.entry.agent.as_deref()), ("key", None));
    let verified = place.verified();
    assert_eq!((verified.rows, verified.broken, verified.head), (2, None, second.hash));
}

#[test]
fn a_journal_waits_for_the_disk_and_the_store_beside_it_does_not() {
    let place = Place::new();
    let mode = "SELECT synchronous FROM pragma_synchronous";
    let journal = place.journal();
    let found: i64 = journal.connection().query_row(mode, [], |row| row.get(0)).unwrap();
    assert_eq!(found, 2, "FULL");
    assert_eq!(place.store.read(|it| it.query_row(mode, [], |row| row.get(0))), Ok(1));
}

#[test]
fn a_row_that_was_changed_removed_moved_or_added_is_found() {
    for (done, expected) in [
        ("SELECT 1", "none"),
        ("UPDATE audit SET outcome = 'error' WHERE sequence = 4", "row 4 was modified or moved"),
        ("UPDATE audit SET at = at + 1 WHERE sequence = 10", "row 10 was modified or moved"),
        ("UPDATE audit SET detail = '' WHERE sequence = 1", "row 1 was modified or moved"),
        ("UPDATE audit SET cached = 1 WHERE sequence = 2", "row 2 was modified or moved"),
        ("UPDATE audit SET hash = zeroblob(32) WHERE sequence = 3", "row 3 was modified or moved"),
        ("UPDATE audit SET hash = zeroblob(3) WHERE sequence = 3", "row 3 cannot be read"),
        ("UPDATE audit SET agent = tool, tool = agent WHERE sequence = 5", "row 5 was modified"),
        ("DELETE FROM audit WHERE sequence = 6", "row 6 is missing"),
        ("DELETE FROM audit WHERE sequence = 1", "row 1 is missing"),
        ("DELETE FROM audit WHERE sequence > 8", "row 9 is missing"),
        ("DELETE FROM audit", "row 1 is missing"),
        (
            "UPDATE audit SET sequence = 99 WHERE sequence = 3;
             UPDATE audit SET sequence = 3 WHERE sequence = 4;
             UPDATE audit SET sequence = 4 WHERE sequence = 99",
            "row 3 was modified or moved",
        ),
        (
            "DELETE FROM audit WHERE sequence = 10;
             UPDATE audit_chain SET last_sequence = 9",
            "row 9 was modified or moved",
        ),
        (
            "INSERT INTO audit (sequence, at, kind, principal, outcome, hash)
             VALUES (11, 0, 'call', 'x', 'ok', zeroblob(32))",
            "row 11 was added after the end",
        ),
    ] {
        let place = Place::new();
        drop(ten(&place));
        place.sql(&format!("DROP TRIGGER audit_is_kept_as_written; {done}"));
        let damage = place.damage();
        assert!(damage.starts_with(expected), "{done}: {damage}");
    }
}

#[test]
fn rows_are_not_changed_by_mistake() {
    let place = Place::new();
    drop(ten(&place));
    let connection = Connection::open(place.directory.path().join("tollgate.db")).unwrap();
    let error = connection.execute("UPDATE audit SET outcome = 'ok'", []).unwrap_err();
    assert!(error.to_string().contains("never changed"), "{error}");
}

#[test]
fn what_is_cut_off_leaves_a_trail_that_can_be_checked() {
    let place = Place::new();
    let mut journal = ten(&place);
    let keep = |since: u64, rows: u64| RetentionBounds { since: at(since), now: at(100), rows };
    assert_eq!(journal.cut(keep(0, 100), 1_000).unwrap(), 0, "nothing is too old or too much");
    assert_eq!(journal.cut(keep(4, 100), 2).unwrap(), 2, "no more at once than was said");
    assert_eq!(journal.cut(keep(4, 100), 2).unwrap(), 1);
    assert_eq!(place.sequences(), [4, 5, 6, 7, 8, 9, 10]);
    assert_eq!(place.damage(), "none");
    assert_eq!(journal.cut(keep(0, 5), 1_000).unwrap(), 2);
    journal.append([call("after", 11)]).unwrap();
    assert_eq!(place.sequences(), [6, 7, 8, 9, 10, 11]);
    assert_eq!((place.damage().as_str(), place.verified().cut), ("none", 5));
    assert_eq!(journal.cut(keep(99, 100), 1_000).unwrap(), 6);
    assert_eq!((place.sequences().len(), place.damage().as_str()), (0, "none"));
    assert_eq!(journal.append([call("again", 12)]).unwrap(), 12, "numbers are never used again");
    assert_eq!(place.damage(), "none");
}

/// neither order nor retention believes a clock that jumped.
#[test]
fn r_30_rows_keep_their_order_whatever_the_clock_says() {
    let place = Place::new();
    let mut journal = place.journal();
    for seconds in [50, 10, 9_999, 10, 51] {
        journal.append([call("a", seconds)]).unwrap();
    }
    assert_eq!(place.sequences(), [1, 2, 3, 4, 5]);
    let keep = RetentionBounds { since: at(40), now: at(60), rows: 100 };
    assert_eq!(journal.cut(keep, 100).unwrap(), 0, "a row in between is never taken out");
    let early = RetentionBounds { since: at(60), now: at(70), rows: 100 };
    let keep = RetentionBounds { since: at(51), ..keep };
    assert_eq!(journal.cut(keep, 100).unwrap(), 4, "one from the future holds nothing up");
    journal.append([call("a", 9_999)]).unwrap();
    assert_eq!(journal.cut(early, 100).unwrap(), 1, "and is not too old itself");
    assert_eq!(place.sequences(), [6]);
    assert_eq!(place.damage(), "none");
}

#[test]
fn processes_that_share_a_file_write_one_chain() {
    let place = Place::new();
    let ready = Barrier::new(4);
    std::thread::scope(|threads| {
        for writer in 0..4 {
            let place = &place;
            let ready = &ready;
            threads.spawn(move || {
                let mut journal = place.journal();
                ready.wait();
                for row in 0..25 {
                    let name = format!("{writer}-{row}");
                    journal.append([call(&name, 1), call(&name, 2)]).unwrap();
                    journal
                        .cut(RetentionBounds { since: at(0), now: at(9), rows: 150 }, 5)
                        .unwrap();
                }
            });
        }
    });
    let verified = place.verified();
    assert_eq!((verified.broken, verified.last), (None, 200));
    assert!((150..=200).contains(&verified.rows), "{verified:?}");
    assert_eq!(place.integrity(), "ok");
}

/// SQLite takes this limit for the end of the disk.
#[test]
fn r_26_a_full_disk_fails_the_write_and_keeps_the_chain() {
    let place = Place::new();
    let mut journal = ten(&place);
    let limit = |pages: u32| {
        journal.connection().pragma_update(None, "max_page_count", pages).unwrap();
    };
    limit(30);
    let many = || (0..2_000).map(|_| call("more", 1));
    assert_eq!(place.journal().append([call("others", 1)]), Ok(11), "the limit is the journal's");
    assert_eq!(journal.append(many()), Err(Error::Full));
    assert_eq!((place.damage().as_str(), place.verified().last), ("none", 11));
    journal.connection().pragma_update(None, "max_page_count", 100_000).unwrap();
    assert_eq!(journal.append(many()), Ok(2_011));
    assert_eq!((place.damage().as_str(), place.integrity().as_str()), ("none", "ok"));
}

#[test]
fn a_lock_that_another_process_keeps_is_an_error_and_reading_goes_on() {
    let place = Place::new();
    let mut journal = ten(&place);
    journal.connection().busy_timeout(Duration::ZERO).unwrap();
    place
        .store
        .write(|_| {
            assert_eq!(journal.append([call("x", 1)]), Err(Error::Busy));
            assert_eq!(place.sequences().len(), 10);
            Ok(())
        })
        .unwrap();
    assert_eq!(journal.append([call("x", 1)]), Ok(11));
}

#[test]
fn a_database_in_memory_has_no_trail() {
    assert!(Store::in_memory().unwrap().audit().is_none());
}
