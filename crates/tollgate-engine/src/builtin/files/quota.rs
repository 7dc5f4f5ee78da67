//! Quota of the sandbox: usage is counted once by walking the directory and then updated by the
//! writer. It is recounted before a refusal, in case files were deleted from outside.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Dir, FileType};

use super::folder::open_folder;
use super::path::MAX_DEPTH;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quota {
    pub(crate) file_bytes: u64,
    pub(crate) all_bytes: u64,
    /// Includes folders.
    pub(crate) files: u64,
}

impl Quota {
    pub(crate) const DEFAULT: Self =
        Self { file_bytes: 1024 * 1024, all_bytes: 64 * 1024 * 1024, files: 10_000 };

    pub(crate) fn allows(&self, usage: SandboxUsage) -> bool {
        usage.bytes <= self.all_bytes && usage.files <= self.files
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SandboxUsage {
    pub(crate) bytes: u64,
    pub(crate) files: u64,
}

impl SandboxUsage {
    /// The usage after `change`.
    pub(crate) fn after(self, change: Change) -> Self {
        Self {
            bytes: self
                .bytes
                .saturating_sub(change.bytes_removed)
                .saturating_add(change.bytes_added),
            files: self.files.saturating_add(change.files_added),
        }
    }

    /// Walks a directory without following links. Stops once `quota` is exceeded, and does not go
    /// deeper than a path can.
    pub(crate) fn count(base: &OwnedFd, quota: Quota) -> io::Result<Self> {
        let mut usage = Self::default();
        let mut open = vec![Dir::read_from(base)?];
        while let Some(directory) = open.last_mut() {
            let Some(entry) = directory.read() else {
                open.pop();
                continue;
            };
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let parent = directory.fd()?;
            // Skip a file that was deleted meanwhile.
            let Ok(stat) = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            usage.files += 1;
            let kind = FileType::from_raw_mode(stat.st_mode);
            if kind == FileType::RegularFile {
                usage.bytes = usage.bytes.saturating_add(u64::try_from(stat.st_size).unwrap_or(0));
            }
            if !quota.allows(usage) {
                return Ok(usage);
            }
            if kind == FileType::Directory {
                // Skip a folder that was deleted or replaced by a link.
                let child = open_folder(parent, name).ok();
                if let Some(child) = child.filter(|_| open.len() < MAX_DEPTH) {
                    open.push(Dir::new(child)?);
                }
            }
        }
        Ok(usage)
    }
}

/// The effect of one write on the usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) bytes_removed: u64,
    pub(crate) bytes_added: u64,
    pub(crate) files_added: u64,
}

impl Change {
    pub(crate) fn grows(self) -> bool {
        self.files_added > 0 || self.bytes_added > self.bytes_removed
    }
}
