//! Change detection for the files that built-in tools are built from. Two stamps differ once a file
//! was written, added or removed; file contents are not read.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::dice::table_file;
use super::document;
use super::rules::pack;
use crate::settings::BuiltinSettings;

/// More files than are read from any directory.
const MAX_FILES: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltinFilesStamp(Vec<(PathBuf, FileStamp)>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum FileStamp {
    /// Size, inode number, and time of the last change (ctime), in nanoseconds.
    File {
        bytes: u64,
        inode: u64,
        changed: (i64, i64),
    },
    Missing(std::io::ErrorKind),
}

impl BuiltinFilesStamp {
    /// Accesses the disk: call on blocking threads.
    pub fn of(settings: &BuiltinSettings) -> Self {
        let mut paths = Vec::new();
        for (directory, endings) in
            [(&settings.tables, table_file::ENDINGS), (&settings.rules, pack::ENDINGS)]
        {
            let Some(directory) = directory else { continue };
            paths.push(directory.clone());
            let files = document::files(directory, endings).unwrap_or_default();
            paths.extend(files.into_iter().take(MAX_FILES));
        }
        paths.extend(settings.music.iter().map(|music| music.library.clone()));
        Self(paths.into_iter().map(|path| (path.clone(), FileStamp::of(&path))).collect())
    }
}

impl FileStamp {
    fn of(path: &Path) -> Self {
        match path.metadata() {
            Ok(found) if found.is_dir() => {
                Self::File { bytes: 0, inode: found.ino(), changed: (0, 0) }
            }
            Ok(found) => Self::File {
                bytes: found.len(),
                inode: found.ino(),
                changed: (found.ctime(), found.ctime_nsec()),
            },
            Err(error) => Self::Missing(error.kind()),
        }
    }
}

#[cfg(test)]
mod tests;
