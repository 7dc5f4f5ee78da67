//! One SQLite file: opened, checked, brought to this version's tables. Knows no table by name;
//! the modules beside it read and write theirs. Other processes may use the same file.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::error::{Error, OpenError};
use crate::migrations::{self, FileFormat, STORE};

/// What outlasts the process. Every method may block; calls wait for each other.
#[derive(Debug)]
pub struct Store {
    connection: Mutex<Connection>,
    /// `None` in memory.
    file: Option<PathBuf>,
}

/// How long we wait for another process to finish what it writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// A file up to this size is looked through when it is opened; that takes a few milliseconds.
const CHECKED_BYTES: i64 = 8 << 20;
/// Entering the write-ahead log does not wait by itself: so often, with a pause, is it tried.
const WAL_ATTEMPTS: u32 = 100;
const WAL_RETRY_PAUSE: Duration = Duration::from_millis(50);

impl Store {
    /// The tables alone, without the files beside them.
    pub(crate) fn open_database(file: &Path) -> Result<Self, OpenError> {
        let connection = Mutex::new(open(file, &STORE)?);
        Ok(Self { connection, file: Some(file.to_owned()) })
    }

    /// A database that nobody else sees and that ends with this value.
    pub fn in_memory() -> Result<Self, Error> {
        let mut connection = Connection::open_in_memory()?;
        prepare(&mut connection, &STORE)?;
        Ok(Self { connection: Mutex::new(connection), file: None })
    }

    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        Ok(work(&self.connection.lock())?)
    }

    /// All that `work` writes, or nothing of it.
    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let mut connection = self.connection.lock();
        // The lock is taken at once: one that is wanted later may be refused without waiting.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = work(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }
}

/// The first connection to a file of that kind, which is made if it is not there.
pub(crate) fn open(file: &Path, format: &FileFormat<'_>) -> Result<Connection, OpenError> {
    let unusable = |why| OpenError::Unusable { file: file.to_owned(), why };
    make_private(file).map_err(|error| unusable(error.into()))?;
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
    Ok(connection)
}

/// One more connection to a file that is there.
pub(crate) fn connect(file: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

/// The file is there, is one, and only this user can read it. SQLite gives the files that it makes
/// beside it the same mode.
fn make_private(file: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let opened = options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let found = opened.open(file)?.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if found.permissions().mode() & 0o077 != 0 {
        // One who may write a file that belongs to someone else was given that on purpose.
        let _ = fs::set_permissions(file, fs::Permissions::from_mode(0o600));
    }
    Ok(())
}

fn prepare(connection: &mut Connection, format: &FileFormat<'_>) -> Result<(), Error> {
    enter_log(connection)?;
    // Safe with the log: a loss of power can cost the last writes, never the file.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "foreign_keys", "ON")?;
    migrations::take(connection, format)?;
    check(connection)
}

/// Damage shows now, while someone looks, and not when a page of the file is read some day.
fn check(connection: &Connection) -> Result<(), Error> {
    let size = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
    let bytes: i64 = connection.query_row(size, [], |row| row.get(0))?;
    if bytes > CHECKED_BYTES {
        return Ok(());
    }
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    match found.as_str() {
        "ok" => Ok(()),
        _ => Err(Error::Damaged(found)),
    }
}

/// Readers and one writer then work side by side. File systems without shared memory stay with the
/// old journal, which only is slower.
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
