//! Small files with secrets in the data directory: readable only by this user and created
//! atomically. Of two concurrent creators, the second gets the content of the first.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

/// All of these files are much shorter.
const MAX_PRIVATE_FILE_BYTES: u64 = 16 << 10;

/// `None`: it does not exist yet. Permissions for other users are removed.
pub fn read(file: &Path) -> io::Result<Option<String>> {
    let mut options = OpenOptions::new();
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let opened = match options.read(true).custom_flags(flags).open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let found = opened.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if found.permissions().mode() & 0o077 != 0 {
        opened.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    let mut text = String::new();
    opened.take(MAX_PRIVATE_FILE_BYTES).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// Written to a temporary file and then hard-linked: the file is created atomically and never
/// replaced.
pub fn make(file: &Path, text: &str) -> io::Result<()> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside = file.with_file_name(format!("{name}.{}", std::process::id()));
    // A file left behind by a crash may have another content.
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut written = options.write(true).create_new(true).mode(0o600).open(&beside)?;
    written.write_all(text.as_bytes())?;
    written.sync_all()?;
    let linked = fs::hard_link(&beside, file);
    fs::remove_file(&beside)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}
