use std::path::PathBuf;
use std::sync::Barrier;

use tempfile::TempDir;

use super::*;

/// A directory with a place for a database in it.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("tollgate.db")
    }

    fn open(&self) -> Result<Store, OpenError> {
        Store::open(&self.file())
    }

    /// Why it cannot be opened; the file must be as it was, byte for byte.
    fn refused(&self) -> String {
        let before = fs::read(self.file()).unwrap();
        let refused = self.open().expect_err(&format!("of {} bytes", before.len())).to_string();
        assert_eq!(fs::read(self.file()).unwrap(), before);
        let said = refused.replace('`', "");
        let file = self.file().display().to_string();
        assert!(said.contains(&file), "{refused}");
        refused.replace(&file, "FILE")
    }
}

fn count(store: &Store) -> u32 {
    let count = "SELECT count(*) FROM measurements";
    store.read(|it| it.query_row(count, [], |row| row.get(0))).unwrap()
}

fn insert(to: &Connection, tool: &str) -> rusqlite::Result<usize> {
    let row = "INSERT INTO measurements VALUES (
        'test', 's', ?1, 1, zeroblob(800), NULL, NULL, 'healthy', 0, 0, 0, 0)";
    to.execute(row, [tool])
}

#[test]
fn a_new_file_is_private_and_keeps_what_was_written() {
    let place = Place::new();
    let store = place.open().unwrap();
    store.write(|it| insert(it, "a")).unwrap();
    for name in ["tollgate.db", "tollgate.db-wal", "tollgate.db-shm"] {
        let found = fs::metadata(place.directory.path().join(name)).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, 0o600, "{name}");
    }
    drop(store);
    assert_eq!(count(&place.open().unwrap()), 1);
}

#[test]
fn a_file_that_others_could_read_becomes_private() {
    let place = Place::new();
    fs::write(place.file(), "").unwrap();
    fs::set_permissions(place.file(), fs::Permissions::from_mode(0o644)).unwrap();
    let store = place.open().unwrap();
    assert_eq!(fs::metadata(place.file()).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(count(&store), 0);
}

#[test]
fn connections_are_set_up_alike() {
    let place = Place::new();
    let check = |store: &Store, name: &str, expected: &str| {
        let query = format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}");
        let found: String = store.read(|it| it.query_row(&query, [], |row| row.get(0))).unwrap();
        assert_eq!(found, expected, "{name}");
    };
    for store in [place.open().unwrap(), place.open().unwrap()] {
        check(&store, "journal_mode", "wal");
        check(&store, "synchronous", "1");
        check(&store, "foreign_keys", "1");
    }
    check(&Store::in_memory().unwrap(), "journal_mode", "memory");
}

#[test]
fn a_file_of_a_newer_version_is_refused_with_both_versions() {
    let place = Place::new();
    let store = place.open().unwrap();
    store.write(|it| it.pragma_update(None, "user_version", 9_000)).unwrap();
    drop(store);
    let known = STORE.steps.len();
    assert_eq!(
        place.refused(),
        format!(
            "`FILE` was written by a newer version of Tollgate (its format is 9000, this version \
             knows up to {known}); run that version, or move the file away to start with an empty \
             database"
        )
    );
}

#[test]
fn the_database_of_another_program_is_refused_and_left_alone() {
    let place = Place::new();
    let other = Connection::open(place.file()).unwrap();
    other.execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
    other.close().unwrap();
    assert_eq!(
        place.refused(),
        "`FILE` is the database of another program; move it away, or set another `data` directory"
    );
}

#[test]
fn a_file_that_is_no_database_is_refused_with_what_to_do() {
    let place = Place::new();
    for garbage in ["# measurements\n", "x", "SQLite format 3\0 and then nothing"] {
        fs::write(place.file(), garbage.repeat(60)).unwrap();
        assert_eq!(
            place.refused(),
            "cannot use the database `FILE`: it is not a database, or it is damaged (file is not a \
             database); restore it from a backup, or move it away together with its `-wal` and \
             `-shm` files to start with an empty database",
        );
    }
}

#[test]
fn a_file_cut_anywhere_is_refused_or_whole() {
    let place = Place::new();
    let store = place.open().unwrap();
    let rows =
        |it: &Transaction<'_>| (0..200).try_for_each(|at| insert(it, &at.to_string()).map(drop));
    store.write(rows).unwrap();
    drop(store);
    let whole = fs::read(place.file()).unwrap();
    assert!(whole.len() > 100_000);
    // SQLite takes a file of one byte for an empty one.
    for retained in (2..whole.len()).step_by(3_111) {
        fs::write(place.file(), &whole[..retained]).unwrap();
        let refused = place.refused();
        assert!(
            refused.contains("it is not a database, or it is damaged"),
            "{retained}: {refused}"
        );
    }
    fs::write(place.file(), &whole).unwrap();
    assert_eq!(count(&place.open().unwrap()), 200);
}

#[test]
fn a_file_with_a_page_overwritten_is_refused() {
    let place = Place::new();
    let store = place.open().unwrap();
    let rows =
        |it: &Transaction<'_>| (0..200).try_for_each(|at| insert(it, &at.to_string()).map(drop));
    store.write(rows).unwrap();
    drop(store);
    let mut damaged = fs::read(place.file()).unwrap();
    damaged[5 * 4096..6 * 4096].fill(0xa5);
    fs::write(place.file(), damaged).unwrap();
    assert!(place.refused().contains("it is damaged"), "{}", place.refused());
}

#[test]
fn places_where_no_file_can_be_are_told_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let check = |file: &Path, expected: &str| {
        let said = Store::open(file).unwrap_err().to_string();
        assert!(said.contains(&*file.to_string_lossy()), "{said}");
        assert!(said.contains(expected), "{said}");
    };
    check(&directory.path().join("missing/tollgate.db"), "No such file or directory");
    check(directory.path(), "Is a directory");
    check(Path::new("/dev/null"), "it is not a regular file");
    check(Path::new("/dev/null/tollgate.db"), "Not a directory");
}

#[test]
fn errors_of_the_disk_say_what_can_be_done() {
    let check = |kind: io::ErrorKind, expected: &str| {
        let why = Error::from(io::Error::from(kind));
        let error = OpenError::Unusable { file: "t.db".into(), why };
        assert_eq!(error.to_string(), format!("cannot use the database `t.db`: {expected}"));
    };
    let rights = "grant this user write access to the file and its directory, or set another \
                  `data` directory";
    let kind = io::ErrorKind::ReadOnlyFilesystem;
    check(kind, &format!("it is not writable (read-only filesystem or storage medium); {rights}"));
    let kind = io::ErrorKind::PermissionDenied;
    check(kind, &format!("it is not writable (permission denied); {rights}"));
    let room = "no space is left on the disk; free disk space, or set another `data` directory";
    check(io::ErrorKind::StorageFull, room);
}

#[test]
fn a_full_disk_fails_the_write_and_keeps_what_was_there() {
    let place = Place::new();
    let store = place.open().unwrap();
    store.write(|it| insert(it, "before")).unwrap();
    // SQLite takes this limit for the end of the disk.
    store.read(|it| it.pragma_update(None, "max_page_count", 20)).unwrap();
    let rows =
        |it: &Transaction<'_>| (0..200).try_for_each(|at| insert(it, &at.to_string()).map(drop));
    assert_eq!(store.write(rows), Err(Error::Full));
    assert_eq!(count(&store), 1);
    store.read(|it| it.pragma_update(None, "max_page_count", 2_000)).unwrap();
    store.write(rows).unwrap();
    assert_eq!(count(&store), 201);
}

#[test]
fn a_lock_that_another_process_keeps_is_an_error_and_not_a_hang() {
    let place = Place::new();
    let one = place.open().unwrap();
    let other = place.open().unwrap();
    other.read(|it| it.busy_timeout(Duration::ZERO)).unwrap();
    one.write(|it| {
        insert(it, "one")?;
        assert_eq!(other.write(|it| insert(it, "other")), Err(Error::Busy));
        // Reading goes on, and sees nothing half done.
        assert_eq!(count(&other), 0);
        Ok(())
    })
    .unwrap();
    other.write(|it| insert(it, "other")).unwrap();
    assert_eq!(count(&one), 2);
}

#[test]
fn many_that_open_one_new_file_at_once_share_it() {
    let place = Place::new();
    let ready = Barrier::new(8);
    std::thread::scope(|threads| {
        for at in 0..8 {
            let place = &place;
            let ready = &ready;
            threads.spawn(move || {
                ready.wait();
                let store = place.open().unwrap();
                for row in 0..50 {
                    store.write(|it| insert(it, &format!("{at}-{row}"))).unwrap();
                }
            });
        }
    });
    assert_eq!(count(&place.open().unwrap()), 400);
}

/// The files as a killed process leaves them, opened anew.
fn after_a_kill(place: &Place, log: &[u8]) -> Store {
    let left = Place::new();
    fs::copy(place.file(), left.file()).unwrap();
    fs::write(left.directory.path().join("tollgate.db-wal"), log).unwrap();
    let store = left.open().unwrap();
    let found = count(&store);
    drop(store);
    let again = left.open().unwrap();
    assert_eq!(count(&again), found);
    again
}

#[test]
fn what_was_not_committed_when_the_process_was_killed_never_was() {
    let place = Place::new();
    let store = place.open().unwrap();
    store.write(|it| insert(it, "before")).unwrap();
    let log = place.directory.path().join("tollgate.db-wal");
    // Little memory, so that much of the transaction is on disk before its end.
    store.read(|it| it.pragma_update(None, "cache_size", 5)).unwrap();
    let before = fs::read(&log).unwrap();
    store
        .write(|it| {
            for at in 0..300 {
                insert(it, &at.to_string())?;
            }
            let left = fs::read(&log).unwrap();
            assert!(left.len() > before.len() + 50_000, "{}", left.len());
            assert_eq!(count(&after_a_kill(&place, &left)), 1);
            Ok(())
        })
        .unwrap();
    let after = fs::read(&log).unwrap();
    assert_eq!(count(&after_a_kill(&place, &after)), 301);
    for retained in (before.len()..after.len()).step_by(10_007) {
        assert_eq!(count(&after_a_kill(&place, &after[..retained])), 1, "{retained}");
    }
}
