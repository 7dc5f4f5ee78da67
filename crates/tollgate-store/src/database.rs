//! SQLite database files: open, check, migrate. Knows no tables by name; the sibling modules read
//! and write theirs. Other processes may use the same file.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::error::{Error, OpenError};
use crate::migrations::{self, FileFormat, STORE};

mod files_in_use;

use files_in_use::FileIdentity;
pub(crate) use files_in_use::FilesInUse;

/// Persistent storage. Every method may block; calls are serialized.
#[derive(Debug)]
pub struct Store {
    connection: Arc<Mutex<Connection>>,
    /// `None` in memory.
    files: Option<Arc<FilesInUse>>,
}

/// A database and its files, as the first connection found them.
pub(crate) struct OpenedDatabase {
    pub(crate) connection: Connection,
    pub(crate) files: Arc<FilesInUse>,
}

/// How long to wait for the write lock of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Files up to this size are checked when opened, which takes a few milliseconds.
const CHECKED_BYTES: i64 = 8 << 20;
/// Switching to the write-ahead log does not wait for locks: number of attempts, with a pause.
const WAL_ATTEMPTS: u32 = 100;
const WAL_RETRY_PAUSE: Duration = Duration::from_millis(50);

impl Store {
    /// The tables alone, without the files beside them.
    pub(crate) fn open_database(file: &Path) -> Result<Self, OpenError> {
        let OpenedDatabase { connection, files } = open(file, &STORE)?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)), files: Some(files) })
    }

    /// A private in-memory database, dropped with this value.
    pub fn in_memory() -> Result<Self, Error> {
        let mut connection = Connection::open_in_memory()?;
        prepare(&mut connection, &STORE)?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)), files: None })
    }

    /// Holding it keeps the files of the database in use.
    pub(crate) fn first_connection(&self) -> Arc<Mutex<Connection>> {
        Arc::clone(&self.connection)
    }

    /// `None` in memory.
    pub(crate) fn files(&self) -> Option<&Arc<FilesInUse>> {
        self.files.as_ref()
    }

    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        Ok(work(&self.connection.lock())?)
    }

    /// Runs `work` in a transaction: commits all of it or nothing.
    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let mut connection = self.connection.lock();
        // Take the write lock at once: a later upgrade may be refused without waiting.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = work(&transaction)?;
        self.files.as_ref().map_or(Ok(()), |files| files.check())?;
        transaction.commit()?;
        Ok(done)
    }
}

/// The first connection to a file of this format, created if missing.
pub(crate) fn open(file: &Path, format: &FileFormat<'_>) -> Result<OpenedDatabase, OpenError> {
    let unusable = |why| OpenError::Unusable { file: file.to_owned(), why };
    let opened = make_private(file).map_err(|error| unusable(error.into()))?;
    let mut connection = connect(file).map_err(|error| unusable(error.into()))?;
    let known = u32::try_from(format.steps.len()).unwrap_or(u32::MAX);
    match migrations::version(&connection, format).map_err(|error| unusable(error.into()))? {
        None => return Err(OpenError::Foreign { file: file.to_owned() }),
        Some(found) if found > known => {
            return Err(OpenError::Newer { file: file.to_owned(), found, known });
        }
        Some(_) => {}
    }
    prepare(&mut connection, format).map_err(unusable)?;
    let files = FilesInUse::of(file, opened).map_err(|error| unusable(error.into()))?;
    // It may have been replaced before the connection was made.
    files.check().map_err(unusable)?;
    Ok(OpenedDatabase { connection, files: Arc::new(files) })
}

/// Another connection to an existing file.
pub(crate) fn connect(file: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

/// Another connection to the very file that the first one opened.
pub(crate) fn connect_again(files: &FilesInUse) -> Result<Connection, Error> {
    files.check()?;
    let connection = connect(files.database())?;
    files.check()?;
    Ok(connection)
}

/// Ensures that the file exists, is a regular file, and is readable by this user only. SQLite
/// creates its side files with the same mode.
fn make_private(file: &Path) -> io::Result<FileIdentity> {
    let mut options = OpenOptions::new();
    let opened = options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let found = opened.open(file)?.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if found.permissions().mode() & 0o077 != 0 {
        // May fail for a file of another owner: write access to it was then given on purpose.
        let _ = fs::set_permissions(file, fs::Permissions::from_mode(0o600));
    }
    Ok(FileIdentity::of(&found))
}

fn prepare(connection: &mut Connection, format: &FileFormat<'_>) -> Result<(), Error> {
    enter_log(connection)?;
    // Safe with the write-ahead log: a power loss can cost the last writes, but not corrupt the
    // file.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "foreign_keys", "ON")?;
    migrations::take(connection, format)?;
    check(connection)
}

/// Detects damage at startup instead of when a page is read later.
fn check(connection: &Connection) -> Result<(), Error> {
    let size = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
    let bytes: i64 = connection.query_row(size, [], |row| row.get(0))?;
    if bytes > CHECKED_BYTES {
        return Ok(());
    }
    if is_cut_within_page(connection)? {
        return Err(Error::Damaged("the last page is not whole".to_owned()));
    }
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    match found.as_str() {
        "ok" => Ok(()),
        _ => Err(Error::Damaged(found)),
    }
}

/// Whether the end of the file is missing, which SQLite would read as zeros. A page that was being
/// written when the machine stopped is in the log.
fn is_cut_within_page(connection: &Connection) -> Result<bool, Error> {
    let Some(path) = connection.path().filter(|path| !path.is_empty()) else { return Ok(false) };
    let length = |path: &str| fs::metadata(path).map_or(0, |found| found.len());
    let page: u32 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    Ok(length(&format!("{path}-wal")) == 0 && !length(path).is_multiple_of(u64::from(page)))
}

/// Allows concurrent readers beside one writer. File systems without shared memory keep the
/// rollback journal, which is only slower.
fn enter_log(connection: &Connection) -> Result<(), Error> {
    for _ in 1..WAL_ATTEMPTS {
        match connection.pragma_update(None, "journal_mode", "WAL").map_err(Error::from) {
            Err(Error::Busy) => std::thread::sleep(WAL_RETRY_PAUSE),
            entered => return entered,
        }
    }
    Ok(connection.pragma_update(None, "journal_mode", "WAL")?)
}

#[cfg(test)]
mod tests;
