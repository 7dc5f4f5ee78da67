//! Landlock rules that close the gateway's own files to servers and leave everything else open.
//!
//! Landlock only has allow rules: a closed path must not lie below an allowed one. So each
//! directory that leads to a closed path is opened entry by entry, as of the start of the server.
//! Used by the launcher, and to explain what it will do.

use std::collections::{BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, FileType, Mode, OFlags, access, fstat, open};
use rustix::process::geteuid;

mod mounts;

/// The kernel's limit of symbolic links in one path.
const MAX_LINKS: usize = 40;
const DEVICE_FOLDERS: [&str; 2] = ["/dev", "/dev/mapper"];
/// Directories that programs usually create in a home directory.
const HOME_FOLDERS: [&str; 10] = [
    ".cache",
    ".cache/uv",
    ".config",
    ".local",
    ".local/bin",
    ".local/share",
    ".local/share/pnpm",
    ".local/share/uv",
    ".local/state",
    ".npm",
];

/// Paths are absolute, and their directories contain no symbolic links.
#[derive(Debug, Default)]
pub(super) struct ClosedFiles {
    /// Closed including everything below.
    closed: BTreeSet<PathBuf>,
    /// Directories on the way from `/` to a closed path, also through symbolic links: anyone who
    /// could change an entry in them could replace a closed file.
    leading: BTreeSet<PathBuf>,
    /// Device and inode of all of these: a bind mount shows them under another name.
    identities: HashSet<(u64, u64)>,
}

/// A path that stays open.
pub(super) enum OpenedPath {
    /// May be listed, nothing else.
    LeadingDirectory(OwnedFd),
    Directory(OwnedFd),
    File(OwnedFd),
}

impl ClosedFiles {
    pub(super) fn locate(paths: &[PathBuf]) -> Self {
        let mut found = Self::default();
        for path in paths {
            found.trace(path);
        }
        for alias in mounts::aliases(&found.closed) {
            found.trace(&alias);
        }
        let all = found.closed.iter().chain(&found.leading);
        let about = all.filter_map(|path| fs::symlink_metadata(path).ok());
        found.identities = about.map(|about| (about.dev(), about.ino())).collect();
        found
    }

    /// Also closes the block devices that this user can read: they contain all files.
    pub(super) fn and_disks(mut self) -> Self {
        for folder in DEVICE_FOLDERS {
            for disk in readable_disks(Path::new(folder)) {
                self.trace(&disk);
            }
        }
        self
    }

    /// Walks the path and records every directory and symbolic link on it.
    fn trace(&mut self, path: &Path) {
        let mut here = PathBuf::from("/");
        let mut rest = reversed_parts(path);
        let mut links = 0;
        self.leading.insert(here.clone());
        while let Some(part) = rest.pop() {
            if part == ".." {
                here.pop();
                continue;
            }
            let next = here.join(&part);
            let about = fs::symlink_metadata(&next);
            match about.map(|about| about.file_type()) {
                Ok(kind) if kind.is_symlink() && links < MAX_LINKS => {
                    links += 1;
                    let target = fs::read_link(&next).unwrap_or_default();
                    if target.is_absolute() {
                        here = PathBuf::from("/");
                    }
                    rest.extend(reversed_parts(&target));
                    self.closed.insert(next);
                }
                Ok(kind) if kind.is_dir() && !rest.is_empty() => {
                    self.leading.insert(next.clone());
                    here = next;
                }
                // The end of the path, or a part that does not exist yet.
                _ => {
                    self.closed.insert(next);
                    return;
                }
            }
        }
        self.closed.insert(here);
    }

    /// Whether the open file is a closed one, or a directory that contains one.
    pub(super) fn covers(&self, file: &OwnedFd) -> bool {
        fstat(file).is_ok_and(|about| self.identities.contains(&(about.st_dev, about.st_ino)))
    }

    /// Whether no file can be created directly in this directory. Follows links.
    pub(super) fn is_sealed(&self, directory: &Path) -> bool {
        directory.canonicalize().is_ok_and(|it| self.leading.contains(&it) || self.is_below(&it))
    }

    /// The same, but some of its entries are open.
    fn is_leading(&self, directory: &Path) -> bool {
        let directory = directory.canonicalize();
        directory.is_ok_and(|it| self.leading.contains(&it) && !self.is_below(&it))
    }

    fn is_below(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.closed.contains(above))
    }

    /// Passes everything that stays open to `allow`.
    pub(super) fn open_all_else<E>(
        &self,
        mut allow: impl FnMut(OpenedPath) -> Result<(), E>,
    ) -> Result<(), E> {
        for directory in self.leading.iter().filter(|it| !self.is_below(it)) {
            if let Ok(file) = open_path(directory) {
                allow(OpenedPath::LeadingDirectory(file))?;
            }
            // Entries that cannot be listed, or disappear meanwhile, stay closed.
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let path = directory.join(entry.file_name());
                if self.leading.contains(&path) || self.is_closed_entry(&path) {
                    continue;
                }
                let Ok(file) = open_path(&path) else { continue };
                // A rule for a link would open its target.
                let kind = fstat(&file).map(|about| FileType::from_raw_mode(about.st_mode));
                match kind {
                    Err(_) | Ok(FileType::Symlink) => {}
                    Ok(_) if self.covers(&file) => {}
                    Ok(FileType::Directory) => allow(OpenedPath::Directory(file))?,
                    Ok(_) => allow(OpenedPath::File(file))?,
                }
            }
        }
        Ok(())
    }

    /// A closed path, or an editor's copy of it in the same directory.
    fn is_closed_entry(&self, path: &Path) -> bool {
        let Some(name) = path.file_name() else { return true };
        self.closed.contains(path)
            || self.closed.iter().any(|closed| {
                closed.parent() == path.parent()
                    && closed.file_name().is_some_and(|original| is_copy(name, original))
            })
    }

    /// A directory for temporary files, if none can be created in the usual one.
    pub(super) fn replace_temporary_directory(&self) -> io::Result<Option<PathBuf>> {
        let usual = std::env::temp_dir();
        if !self.is_leading(&usual) {
            return Ok(None);
        }
        let own = usual.canonicalize()?.join(format!("tollgate-{}", geteuid().as_raw()));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&own)?;
        let about = fs::symlink_metadata(&own)?;
        if !about.is_dir() || about.uid() != geteuid().as_raw() || about.mode() & 0o077 != 0 {
            return Err(io::Error::other(format!(
                "`{}` is accessible to other users",
                own.display()
            )));
        }
        Ok(Some(own))
    }

    /// Creates the usual directories of programs that they could not create themselves.
    pub(super) fn make_home_folders(&self) {
        let Some(home) = std::env::home_dir() else { return };
        if !fs::metadata(&home).is_ok_and(|about| about.uid() == geteuid().as_raw()) {
            return;
        }
        let folders = HOME_FOLDERS.map(|folder| home.join(folder));
        for folder in folders.iter().filter(|it| it.parent().is_some_and(|it| self.is_leading(it)))
        {
            // Best effort: a server that needs one reports the error itself.
            let _ = fs::DirBuilder::new().mode(0o700).create(folder);
        }
    }
}

fn open_path(path: &Path) -> rustix::io::Result<OwnedFd> {
    open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// From last to first.
fn reversed_parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    parts.collect()
}

fn readable_disks(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_disk = |entry: &fs::DirEntry| {
        entry.file_type().is_ok_and(|kind| kind.is_block_device())
            && access(entry.path(), Access::READ_OK).is_ok()
    };
    entries.filter(is_disk).map(|entry| entry.path()).collect()
}

/// Copies that editors and this gateway leave beside a file that they change.
fn is_copy(name: &OsStr, original: &OsStr) -> bool {
    const ENDINGS: [&str; 9] = ["~", "#", ".sw", ".bak", ".old", ".orig", ".save", ".tmp", ".new"];
    let (Some(name), Some(original)) = (name.to_str(), original.to_str()) else { return false };
    let Some((before, after)) = name.split_once(original) else { return false };
    let is_numbered =
        after.strip_prefix('.').is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()));
    matches!(before, "" | "." | "#" | ".#")
        && (before == ".#" || is_numbered || ENDINGS.iter().any(|ending| after.starts_with(ending)))
}

#[cfg(test)]
mod tests;
