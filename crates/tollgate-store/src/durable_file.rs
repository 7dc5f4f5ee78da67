//! Small durable files beside a database that must survive it: atomic replacement, flushed to disk
//! (fsync) before the call returns.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// All of them are much smaller.
const MAX_BYTES: u64 = 1 << 20;
/// Lock attempts, and the pause between them.
const LOCK_TRIES: u32 = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// `None` if it does not exist.
pub(crate) fn read(file: &Path) -> io::Result<Option<String>> {
    let opened = match File::open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut text = String::new();
    opened.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// Atomic: readers see the old or the new content, also after a power loss.
pub(crate) fn replace(file: &Path, text: &str) -> io::Result<()> {
    let beside = with_suffix(file, ".new");
    let mut options = OpenOptions::new();
    let mut written = options.write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    written.write_all(text.as_bytes())?;
    written.sync_all()?;
    let is_new = !file.exists();
    fs::rename(&beside, file)?;
    // A lost rename leaves the older content; losing a new file would be worse.
    if is_new { sync_directory(file) } else { Ok(()) }
}

pub(crate) fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.and_then(|()| sync_directory(file)),
    }
}

/// An exclusive lock between processes until it is dropped. Waits with a time limit.
pub(crate) fn lock(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let path = with_suffix(file, ".lock");
    let lock = options.write(true).create(true).truncate(false).mode(0o600).open(path)?;
    for _ in 0..LOCK_TRIES {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(fs::TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Err(fs::TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::other("another process holds its lock"))
}

fn sync_directory(file: &Path) -> io::Result<()> {
    match file.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => File::open(directory)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    file.with_file_name(name)
}

/// A file beside the database whose name does not start with the database's: deleting `NAME.db*`
/// does not remove it.
pub(crate) fn beside(database: &Path, name: &str) -> PathBuf {
    let stem = database.file_stem().unwrap_or_default().to_string_lossy();
    database.with_file_name(format!("{stem}-{name}"))
}
