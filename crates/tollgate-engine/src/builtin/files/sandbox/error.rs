//! Errors of the file sandbox, worded for the caller of the tool. Never contains the path of the
//! sandbox directory.

use std::io;

use rustix::io::Errno;

use super::super::quota::Quota;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` {problem}")]
pub(crate) struct SandboxError {
    pub(crate) path: String,
    pub(crate) problem: FileAccessError,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FileAccessError {
    #[error("does not exist; `write_file` creates a file")]
    Missing,
    #[error("is a folder, not a file")]
    Folder,
    #[error("has a parent that is not a folder; symbolic links are not followed")]
    NotAFolder,
    #[error("is a symbolic link; symbolic links are not followed")]
    Link,
    #[error("has several hard links and is not used")]
    HardLink,
    #[error("is not a regular file")]
    Special,
    #[error("would be larger than {most} bytes, the limit for reading and writing")]
    TooLarge { most: u64 },
    #[error("is not UTF-8 text: byte {at} is invalid")]
    NotText { at: usize },
    #[error(
        "exceeds the quota: at most {} bytes in all files, and at most {} files and folders; \
         replace a file with a shorter one",
        .0.all_bytes,
        .0.files
    )]
    Full(Quota),
    #[error("could not be written: the disk is full")]
    NoSpace,
    #[error("could not be written: the disk is read-only")]
    ReadOnly,
    #[error("could not be opened: permission denied")]
    Denied,
    #[error("could not be used: {}", io::Error::from(*.0))]
    Other(Errno),
}

impl From<Errno> for FileAccessError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT => Self::Missing,
            Errno::ISDIR => Self::Folder,
            Errno::NOTDIR => Self::NotAFolder,
            Errno::LOOP | Errno::MLINK => Self::Link,
            Errno::NXIO => Self::Special,
            Errno::NOSPC | Errno::DQUOT => Self::NoSpace,
            Errno::ROFS => Self::ReadOnly,
            Errno::ACCESS | Errno::PERM => Self::Denied,
            other => Self::Other(other),
        }
    }
}

impl From<io::Error> for FileAccessError {
    fn from(error: io::Error) -> Self {
        Errno::from_io_error(&error).unwrap_or(Errno::IO).into()
    }
}
