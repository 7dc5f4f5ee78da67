//! The config file on disk: read with a content hash, and written atomically, only if the content
//! is still the one that was read. Blocks, so it must not run on async threads.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use ring::digest::{SHA256, digest};
use rustix::fs::{Access, access};

use super::diagnostic::Problems;
use super::{ConfigReport, source};

/// How often to retry while another program holds the lock on the file.
const LOCK_ATTEMPTS: u32 = 100;
const LOCK_RETRY_PAUSE: Duration = Duration::from_millis(20);
/// The file contains commands and keys, so only the owner may read it.
const PRIVATE: u32 = 0o600;

/// Snapshot of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFileSnapshot {
    pub path: PathBuf,
    /// Without the byte order mark.
    pub text: String,
    pub version: ConfigVersion,
    has_mark: bool,
}

/// Content hash: SHA-256, in hex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigVersion(String);

impl ConfigVersion {
    pub fn of(bytes: &[u8]) -> Self {
        let digest = digest(&SHA256, bytes);
        Self(digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum ConfigWriteError {
    #[error("`{0}` was changed in the meantime; check it and try again")]
    Changed(String),
    #[error("`{file}` cannot be written: {why}")]
    ReadOnly { file: String, why: String },
    #[error("writing `{file}` failed and it is unchanged: {why}")]
    Failed { file: String, why: String },
}

impl ConfigFileSnapshot {
    /// Reads the file, whatever its content.
    pub fn read(path: &Path) -> Result<Self, ConfigReport> {
        let name = path.display().to_string();
        let mut problems = Problems::default();
        let Some(bytes) = source::bytes_of(path, &mut problems) else {
            return Err(problems.into_report(&name, ""));
        };
        match source::decode(&bytes, &mut problems) {
            Some(text) => Ok(Self {
                path: path.to_owned(),
                has_mark: bytes.len() > text.len(),
                version: ConfigVersion::of(&bytes),
                text,
            }),
            None => Err(problems.into_report(&name, "")),
        }
    }

    /// Replaces the content if it is still the one that was read. A symlink stays a symlink.
    pub fn write(&self, text: &str) -> Result<Self, ConfigWriteError> {
        let target = fs::canonicalize(&self.path).map_err(|error| self.write_error(&error))?;
        let held = File::open(&target).map_err(|error| self.write_error(&error))?;
        let about = held.metadata().map_err(|error| self.write_error(&error))?;
        if about.permissions().mode() & 0o222 == 0 {
            return Err(self.read_only("it is read-only"));
        }
        self.lock(&held)?;
        let now = Self::read(&self.path).map_err(|_| self.changed_error())?;
        if now.version != self.version {
            return Err(self.changed_error());
        }
        let bytes = self.bytes_with(text);
        let beside = beside(&target);
        let written = put(&beside, &bytes, &about).and_then(|()| fs::rename(&beside, &target));
        if let Err(error) = written {
            let _ = fs::remove_file(&beside);
            return Err(self.write_error(&error));
        }
        sync_directory(&target);
        let version = ConfigVersion::of(&bytes);
        Ok(Self {
            path: self.path.clone(),
            text: text.to_owned(),
            version,
            has_mark: self.has_mark,
        })
    }

    /// The version of the file with this text.
    pub fn version_with(&self, text: &str) -> ConfigVersion {
        ConfigVersion::of(&self.bytes_with(text))
    }

    fn bytes_with(&self, text: &str) -> Vec<u8> {
        let mark = if self.has_mark { "\u{feff}" } else { "" };
        format!("{mark}{text}").into_bytes()
    }

    /// With two concurrent writers, the second finds the file changed, instead of a mixture.
    fn lock(&self, held: &File) -> Result<(), ConfigWriteError> {
        for _ in 0..LOCK_ATTEMPTS {
            match held.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_RETRY_PAUSE),
                // The file system has no locks. The comparison alone has to suffice.
                Err(TryLockError::Error(_)) => return Ok(()),
            }
        }
        Err(self.read_only("another program has locked it"))
    }

    fn changed_error(&self) -> ConfigWriteError {
        ConfigWriteError::Changed(self.path.display().to_string())
    }

    fn read_only(&self, why: &str) -> ConfigWriteError {
        ConfigWriteError::ReadOnly { file: self.path.display().to_string(), why: why.to_owned() }
    }

    fn write_error(&self, error: &io::Error) -> ConfigWriteError {
        classify_io_error(&self.path, error)
    }
}

/// Whether the file can be replaced or created, as far as that is known without trying.
pub fn is_writable(path: &Path) -> bool {
    let may = |path: &Path| access(path, Access::WRITE_OK).is_ok();
    let Ok(target) = fs::canonicalize(path) else { return may(folder(path)) };
    let is_open = fs::metadata(&target).is_ok_and(|it| it.permissions().mode() & 0o222 != 0);
    is_open && may(&target) && may(folder(&target)) && !is_mounted(&target)
}

/// A bind-mounted file cannot be replaced.
fn is_mounted(target: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts.lines().filter_map(|line| line.split(' ').nth(4)).any(|at| Path::new(at) == target)
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Creates a new file.
pub fn create(path: &Path, text: &str) -> Result<ConfigFileSnapshot, ConfigWriteError> {
    let made = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(path);
    let written = made.and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    match written {
        Ok(()) => {
            sync_directory(path);
            let version = ConfigVersion::of(text.as_bytes());
            Ok(ConfigFileSnapshot {
                path: path.to_owned(),
                text: text.to_owned(),
                version,
                has_mark: false,
            })
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(ConfigWriteError::Changed(path.display().to_string()))
        }
        Err(error) => Err(classify_io_error(path, &error)),
    }
}

fn classify_io_error(path: &Path, error: &io::Error) -> ConfigWriteError {
    let file = path.display().to_string();
    match error.kind() {
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        // A bind-mounted file cannot be replaced.
        | io::ErrorKind::ResourceBusy => ConfigWriteError::ReadOnly { file, why: error.to_string() },
        _ => ConfigWriteError::Failed { file, why: error.to_string() },
    }
}

/// In the same directory, because a rename must stay within the file system.
fn beside(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    target.with_file_name(format!(".{name}.{}.new", std::process::id()))
}

/// Writes and syncs the file, with the mode and the owner of the one it replaces.
fn put(path: &Path, bytes: &[u8], like: &fs::Metadata) -> io::Result<()> {
    // Left behind by a process that crashed.
    let _ = fs::remove_file(path);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(path)?;
    file.write_all(bytes)?;
    let made = file.metadata()?;
    if (made.uid(), made.gid()) != (like.uid(), like.gid()) {
        std::os::unix::fs::fchown(&file, Some(like.uid()), Some(like.gid()))?;
    }
    file.set_permissions(fs::Permissions::from_mode(like.permissions().mode() & 0o7777))?;
    file.sync_all()
}

/// Also syncs the directory entry. If that fails, the system writes it later.
fn sync_directory(path: &Path) {
    let _ = File::open(folder(path)).and_then(|folder| folder.sync_all());
}

#[cfg(test)]
mod tests;
