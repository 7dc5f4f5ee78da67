//! What only a file can come to: other processes, a full disk, a kill. What the memory does is in
//! the suite of all databases.

use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;

use super::*;
use crate::memory::MemoryStore;
use crate::memory::tests::suite::{
    WHOLE, entry, found, id, place, put, relation, remember, say, scope, session, vector,
};

mod crash;
mod disk;
mod files;
mod processes;
mod threads;

/// A directory with a memory in it.
struct Folder {
    directory: TempDir,
}

impl Folder {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("memory.db")
    }

    fn open(&self) -> MemoryStore {
        MemoryStore::open_sqlite(&self.file()).unwrap()
    }

    /// The memory, and the database below it.
    fn both(&self) -> (MemoryStore, Arc<SqliteMemory>) {
        let sqlite = Arc::new(SqliteMemory::open(&self.file()).unwrap());
        (MemoryStore::over(Arc::clone(&sqlite) as Arc<dyn MemoryDatabase>), sqlite)
    }

    /// Another process, as far as SQLite can tell.
    fn connect(&self) -> Connection {
        database::connect(&self.file()).unwrap()
    }
}

/// What must be so in every file, whatever happened to it.
fn check(connection: &Connection) {
    let one = |select: &str| connection.query_row(select, [], |row| row.get::<_, i64>(0)).unwrap();
    let found: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(found, "ok");
    for (table, words) in
        [("entries", "entry_words"), ("facts", "fact_words"), ("entities", "entity_words")]
    {
        let command = format!("INSERT INTO {words} ({words}) VALUES ('integrity-check')");
        connection.execute(&command, []).unwrap();
        let rows = one(&format!("SELECT count(*) FROM {table}"));
        assert_eq!(one(&format!("SELECT count(*) FROM {words}_docsize")), rows, "{words}");
        let counted = one(&format!("SELECT coalesce(sum({table}), 0) FROM shelves"));
        assert_eq!(counted, rows, "{table} on shelves");
    }
    assert_eq!(
        one("SELECT coalesce(sum(entries), 0) FROM sessions"),
        one("SELECT count(*) FROM entries")
    );
    assert_eq!(
        one("SELECT coalesce(sum(sessions), 0) FROM shelves"),
        one("SELECT count(*) FROM sessions")
    );
    assert_eq!(one("SELECT count(*) FROM vectors"), one("SELECT count(*) FROM sketches"));
    let orphans = "SELECT count(*) FROM vectors WHERE fact NOT IN (SELECT id FROM facts)";
    assert_eq!(one(orphans), 0);
}
