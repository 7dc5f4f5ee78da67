//! The file sandbox: a directory whose files can be read and replaced, and which no path can leave.
//!
//! Every name is opened relative to its open parent folder, and no link is followed, so a folder
//! cannot be swapped for an escape in between (TOCTOU). Blocking; called on blocking threads.

use std::fs::{DirBuilder, File};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use parking_lot::Mutex;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::folder::{SAFE, open_folder};
use super::path::{RelativePath, TEMPORARY};
use super::quota::{Change, Quota, SandboxUsage};

mod error;

pub(crate) use error::{FileAccessError, SandboxError};

pub(crate) struct FileSandbox {
    base: PathBuf,
    quota: Quota,
    /// Locked while writing, to keep it exact. `None`: not counted yet, or unreliable.
    usage: Mutex<Option<SandboxUsage>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileWriteOutcome {
    Created,
    Replaced,
}

impl FileSandbox {
    pub(crate) fn new(base: PathBuf, quota: Quota) -> Self {
        Self { base, quota, usage: Mutex::new(None) }
    }

    pub(crate) fn read(&self, path: &RelativePath) -> Result<String, SandboxError> {
        self.read_text(path).map_err(|problem| SandboxError { path: path.to_string(), problem })
    }

    /// The same for any content, with another size limit.
    pub(crate) fn read_up_to(
        &self,
        path: &RelativePath,
        most_bytes: u64,
    ) -> Result<Vec<u8>, SandboxError> {
        self.read_bytes(path, most_bytes)
            .map_err(|problem| SandboxError { path: path.to_string(), problem })
    }

    /// Replaces the whole file atomically, or leaves it unchanged.
    pub(crate) fn write(
        &self,
        path: &RelativePath,
        content: &[u8],
    ) -> Result<FileWriteOutcome, SandboxError> {
        self.write_up_to(path, content, self.quota.file_bytes)
    }

    /// The same with another size limit for this file.
    pub(crate) fn write_up_to(
        &self,
        path: &RelativePath,
        content: &[u8],
        most_bytes: u64,
    ) -> Result<FileWriteOutcome, SandboxError> {
        let written = if content.len() as u64 <= most_bytes {
            self.replace(path, content)
        } else {
            Err(FileAccessError::TooLarge { most: most_bytes })
        };
        written.map_err(|problem| SandboxError { path: path.to_string(), problem })
    }

    fn read_text(&self, path: &RelativePath) -> Result<String, FileAccessError> {
        let content = self.read_bytes(path, self.quota.file_bytes)?;
        String::from_utf8(content)
            .map_err(|error| FileAccessError::NotText { at: error.utf8_error().valid_up_to() })
    }

    fn read_bytes(&self, path: &RelativePath, most: u64) -> Result<Vec<u8>, FileAccessError> {
        let (folders, name) = path.split();
        let (folder, missing) = descend(self.open_base()?, folders)?;
        if !missing.is_empty() {
            return Err(FileAccessError::Missing);
        }
        // Also checked before opening, because opening a device can have side effects.
        self.check(&rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | SAFE;
        let file = rustix::fs::openat(&folder, name, flags, Mode::empty())?;
        let size = self.check(&rustix::fs::fstat(&file)?)?;
        if size > most {
            return Err(FileAccessError::TooLarge { most });
        }
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        // The file may grow while it is read.
        File::from(file).take(most + 1).read_to_end(&mut content)?;
        if content.len() as u64 > most {
            return Err(FileAccessError::TooLarge { most });
        }
        Ok(content)
    }

    fn replace(
        &self,
        path: &RelativePath,
        content: &[u8],
    ) -> Result<FileWriteOutcome, FileAccessError> {
        let mut usage = self.usage.lock();
        DirBuilder::new().recursive(true).mode(0o700).create(&self.base)?;
        let base = self.open_base()?;
        let (folders, name) = path.split();
        let (folder, missing) = descend(base.try_clone()?, folders)?;
        let old_size = match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(old) if missing.is_empty() => Some(self.check(&old)?),
            Err(error) if missing.is_empty() && error != Errno::NOENT => return Err(error.into()),
            _ => None,
        };
        let change = Change {
            bytes_removed: old_size.unwrap_or(0),
            bytes_added: content.len() as u64,
            files_added: missing.len() as u64 + u64::from(old_size.is_none()),
        };
        let after = self.admit(&mut usage, &base, change)?;
        let folder = make_folders(folder, missing)?;
        TemporaryFile::create(&folder)?.fill(content)?.rename(name)?;
        *usage = Some(after);
        Ok(if old_size.is_some() { FileWriteOutcome::Replaced } else { FileWriteOutcome::Created })
    }

    /// The usage after the write. Leaves `usage` unset until the write has succeeded.
    fn admit(
        &self,
        usage: &mut Option<SandboxUsage>,
        base: &OwnedFd,
        change: Change,
    ) -> Result<SandboxUsage, FileAccessError> {
        let known = usage.take().filter(|known| self.quota.allows(known.after(change)));
        let before = match known {
            Some(known) => known,
            None => SandboxUsage::count(base, self.quota)?,
        };
        let after = before.after(change);
        if change.grows() && !self.quota.allows(after) {
            return Err(FileAccessError::Full(self.quota));
        }
        Ok(after)
    }

    fn open_base(&self) -> Result<OwnedFd, FileAccessError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(CWD, &self.base, flags, Mode::empty())?)
    }

    /// The size of a regular file without further hard links; anything else is an error.
    fn check(&self, stat: &Stat) -> Result<u64, FileAccessError> {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile if stat.st_nlink > 1 => Err(FileAccessError::HardLink),
            FileType::RegularFile => u64::try_from(stat.st_size).map_err(|_| self.too_large()),
            FileType::Symlink => Err(FileAccessError::Link),
            FileType::Directory => Err(FileAccessError::Folder),
            _ => Err(FileAccessError::Special),
        }
    }

    fn too_large(&self) -> FileAccessError {
        FileAccessError::TooLarge { most: self.quota.file_bytes }
    }
}

/// Descends as far as folders exist; returns the last one and the missing names.
fn descend(base: OwnedFd, folders: &[String]) -> Result<(OwnedFd, &[String]), FileAccessError> {
    let mut folder = base;
    for (at, name) in folders.iter().enumerate() {
        match open_folder(&folder, name.as_str()) {
            Ok(next) => folder = next,
            Err(Errno::NOENT) => return Ok((folder, &folders[at..])),
            Err(Errno::NOTDIR | Errno::LOOP) => return Err(FileAccessError::NotAFolder),
            Err(error) => return Err(error.into()),
        }
    }
    Ok((folder, &[]))
}

fn make_folders(parent: OwnedFd, names: &[String]) -> Result<OwnedFd, FileAccessError> {
    let mut folder = parent;
    for name in names {
        match rustix::fs::mkdirat(&folder, name.as_str(), Mode::RWXU) {
            // Another writer may have created it; opening it shows whether it is a folder.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        folder = match open_folder(&folder, name.as_str()) {
            Err(Errno::NOTDIR | Errno::LOOP) => return Err(FileAccessError::NotAFolder),
            opened => opened?,
        };
    }
    Ok(folder)
}

/// A temporary file. Removed on drop unless it was renamed.
struct TemporaryFile<'a> {
    folder: &'a OwnedFd,
    name: Option<String>,
    file: File,
}

impl<'a> TemporaryFile<'a> {
    fn create(folder: &'a OwnedFd) -> Result<Self, FileAccessError> {
        let name = format!("{TEMPORARY}{:016x}.tmp", rand::random::<u64>());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | SAFE;
        let private = Mode::RUSR | Mode::WUSR;
        let file = rustix::fs::openat(folder, name.as_str(), flags, private)?;
        let temporary = Self { folder, name: Some(name), file: File::from(file) };
        // The umask may have cleared a bit.
        rustix::fs::fchmod(&temporary.file, private)?;
        Ok(temporary)
    }

    fn fill(mut self, content: &[u8]) -> Result<Self, FileAccessError> {
        self.file.write_all(content)?;
        self.file.sync_all()?;
        Ok(self)
    }

    fn rename(mut self, name: &str) -> Result<(), FileAccessError> {
        if let Some(own) = &self.name {
            rustix::fs::renameat(self.folder, own.as_str(), self.folder, name)?;
            self.name = None;
        }
        rustix::fs::fsync(self.folder)?;
        Ok(())
    }
}

impl Drop for TemporaryFile<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // Best effort: the write has already failed, and that error matters more.
            let _ = rustix::fs::unlinkat(self.folder, name.as_str(), AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests;
