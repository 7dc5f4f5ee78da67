//! Detects that files of an open database were removed, replaced or truncated. SQLite goes on
//! writing to a file that has no name any more: what it commits there ends with the process.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{DatabaseFile, Error};

/// A file by device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    pub(crate) fn of(found: &Metadata) -> Self {
        Self { device: found.dev(), inode: found.ino() }
    }
}

/// The files that the first connection opened. SQLite keeps all of them until the last connection is
/// closed, so none of them may change before that.
#[derive(Debug)]
pub(crate) struct FilesInUse {
    database: PathBuf,
    opened: FileIdentity,
    /// Those that there are: not every file system supports the write-ahead log.
    side_files: Vec<SideFile>,
    /// A database that was empty for a moment is not whole when pages are written to it again.
    was_truncated: AtomicBool,
}

#[derive(Debug)]
struct SideFile {
    which: DatabaseFile,
    path: PathBuf,
    opened: FileIdentity,
}

impl FilesInUse {
    /// `opened` is what the path referred to before the connection was made.
    pub(crate) fn of(database: &Path, opened: FileIdentity) -> io::Result<Self> {
        // SQLite follows links: the other files are beside the real one.
        let real = fs::canonicalize(database)?;
        let side_file = |which: DatabaseFile, suffix: &str| {
            let mut path = OsString::from(&real);
            path.push(suffix);
            let path = PathBuf::from(path);
            let opened = FileIdentity::of(&fs::metadata(&path).ok()?);
            Some(SideFile { which, path, opened })
        };
        let side_files =
            [side_file(DatabaseFile::Log, "-wal"), side_file(DatabaseFile::LogIndex, "-shm")];
        Ok(Self {
            database: database.to_owned(),
            opened,
            side_files: side_files.into_iter().flatten().collect(),
            was_truncated: AtomicBool::new(false),
        })
    }

    pub(crate) fn database(&self) -> &Path {
        &self.database
    }

    /// Whether everything is still where the next process will look for it. A few microseconds.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let displaced = |which| Err(Error::Displaced(which));
        let found = fs::metadata(&self.database).ok();
        let Some(found) = found.filter(|found| FileIdentity::of(found) == self.opened) else {
            return displaced(DatabaseFile::Database);
        };
        if found.len() == 0 {
            self.was_truncated.store(true, Ordering::Relaxed);
        }
        if self.was_truncated.load(Ordering::Relaxed) {
            return Err(Error::Truncated);
        }
        for SideFile { which, path, opened } in &self.side_files {
            let found = fs::metadata(path).ok();
            if found.is_none_or(|found| FileIdentity::of(&found) != *opened) {
                return displaced(*which);
            }
        }
        Ok(())
    }
}
