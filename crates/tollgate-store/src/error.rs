//! Database errors, worded so that they say what to do.

use std::io;
use std::path::PathBuf;

use rusqlite::ErrorCode;

/// Why a database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "`{}` was written by a newer version of Tollgate (its format is {found}, this version \
         knows up to {known}); run that version, or move the file away to start with an empty \
         database",
        .file.display()
    )]
    Newer { file: PathBuf, found: u32, known: u32 },
    #[error(
        "`{}` is the database of another program; move it away, or set another `data` directory",
        .file.display()
    )]
    Foreign { file: PathBuf },
    #[error("cannot use the database `{}`: {why}; {}", .file.display(), .why.remedy())]
    Unusable { file: PathBuf, why: Error },
}

/// Errors of a database in use. Equal values mean that the same problem persists.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("it is not a database, or it is damaged ({0})")]
    Damaged(String),
    #[error("it is not writable ({0})")]
    Denied(String),
    #[error("no space is left on the disk")]
    Full,
    #[error("another process has it locked")]
    Busy,
    /// An I/O error for which SQLite gives no reason.
    #[error("disk I/O failed ({0}); the file system may have become read-only")]
    Disk(String),
    /// What is written would not be found by the next process.
    #[error("{0} was removed or replaced while in use")]
    Displaced(DatabaseFile),
    #[error("its file was truncated while in use")]
    Truncated,
    #[error("{0}")]
    Failed(String),
}

/// One of the files of a SQLite database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseFile {
    Database,
    Log,
    LogIndex,
}

impl std::fmt::Display for DatabaseFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Database => "its file",
            Self::Log => "its write-ahead log (`-wal`)",
            Self::LogIndex => "the index of its write-ahead log (`-shm`)",
        })
    }
}

impl Error {
    /// What an operator can do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Damaged(_) => {
                "restore it from a backup, or move it away together with its `-wal` and `-shm` \
                 files to start with an empty database"
            }
            Self::Denied(_) => {
                "grant this user write access to the file and its directory, or set another `data` \
                 directory"
            }
            Self::Full => "free disk space, or set another `data` directory",
            Self::Busy => "stop the other process, or try again later",
            Self::Disk(_) => {
                "check the kernel log (`dmesg`), repair the file system and restart the gateway, \
                 or set another `data` directory"
            }
            Self::Displaced(_) => {
                "move the same file back, or stop the gateway, restore a backup and start it again"
            }
            Self::Truncated => "stop the gateway, restore a backup and start it again",
            Self::Failed(_) => "fix that, or set another `data` directory",
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        let text = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(text),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::Denied(text),
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::SystemIoFailure) => Self::Disk(text),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            _ => Self::Failed(text),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::Denied(error.to_string())
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::Failed(error.to_string()),
        }
    }
}
