//! Reads the text of a config file, and refuses devices, huge files and other encodings.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::path::Path;

use super::diagnostic::{DiagnosticLocation, Problems};

/// Far more than a config for a thousand servers.
const MAX_CONFIG_BYTES: u64 = 1024 * 1024;

/// Reads at most one byte more than the limit.
pub(super) fn bytes_of(path: &Path, problems: &mut Problems) -> Option<Vec<u8>> {
    match bytes(path, problems) {
        Ok(bytes) => Some(bytes),
        Err(why) => {
            let found = problems.error(
                DiagnosticLocation::File,
                "",
                format!("cannot read the config: {why}"),
            );
            if why.kind() == std::io::ErrorKind::NotFound {
                found.help("`tollgate serve` without `--config` uses the built-in config");
            }
            None
        }
    }
}

/// UTF-8, with or without a byte order mark.
pub(super) fn decode(bytes: &[u8], problems: &mut Problems) -> Option<String> {
    if bytes.len() as u64 > MAX_CONFIG_BYTES {
        problems
            .error(DiagnosticLocation::File, "", "the config is larger than 1 MiB")
            .help("is this the right file?");
        return None;
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let looks_wide = bytes.starts_with(b"\xff\xfe")
        || bytes.starts_with(b"\xfe\xff")
        || bytes.get(..2).is_some_and(|start| start.contains(&0));
    if looks_wide {
        problems
            .error(DiagnosticLocation::File, "", "the config is UTF-16 or UTF-32, not UTF-8")
            .help("save it as UTF-8; on Windows, editors call that `UTF-8` or `UTF-8 without BOM`");
        return None;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text.to_owned()),
        Err(error) => {
            let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
            let message = format!("the config is not UTF-8 (line {})", line + 1);
            problems.error(DiagnosticLocation::File, "", message).help("save it as UTF-8");
            None
        }
    }
}

fn bytes(path: &Path, problems: &mut Problems) -> std::io::Result<Vec<u8>> {
    let about = std::fs::metadata(path)?;
    if about.is_dir() {
        return Err(std::io::Error::other("it is a directory"));
    }
    if !about.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    warn_of_writers(&about, problems);
    let file = open_nonblocking(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_CONFIG_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens without blocking: the file may have been replaced by a FIFO meanwhile.
#[cfg(unix)]
fn open_nonblocking(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let at_once = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(at_once).open(path)
}

#[cfg(not(unix))]
fn open_file(path: &Path) -> std::io::Result<File> {
    File::open(path)
}

/// Warns if others can write the config: they could run commands as us.
#[cfg(unix)]
fn warn_of_writers(about: &std::fs::Metadata, problems: &mut Problems) {
    use std::os::unix::fs::PermissionsExt as _;
    if about.permissions().mode() & 0o002 != 0 {
        problems
            .warning(
                DiagnosticLocation::File,
                "",
                "every user of this machine can change the config",
            )
            .help("it contains commands that run as you: `chmod 600` it");
    }
}

#[cfg(not(unix))]
fn warn_of_writers(_about: &std::fs::Metadata, _problems: &mut Problems) {}
