//! Admin token: a file in the data directory that only this user can read. Created at the first
//! start. Anybody who can read it could change all our other files as well.

use std::io;
use std::path::{Path, PathBuf};

use tollgate_core::secret::Secret;
use tollgate_server::secret::{self, SecretCheck, SecretKind};

use crate::command_error::CommandError;
use crate::private_file;

/// The admin token of this data directory, created if it is missing.
pub fn obtain(data: &Path) -> Result<Secret, CommandError> {
    let unusable = |error: io::Error| {
        let file = file(data);
        CommandError::new(format!("cannot use the admin token in `{}`: {error}", file.display()))
    };
    if let Some(token) = read(data).map_err(unusable)? {
        return Ok(token);
    }
    make(data).map_err(unusable)?;
    // Another process may have created it first. The content of the file wins.
    let gone = || io::Error::other("it disappears as soon as it is created");
    read(data).and_then(|token| token.ok_or_else(gone)).map_err(unusable)
}

/// `None`: not created yet.
pub fn read(data: &Path) -> io::Result<Option<Secret>> {
    let Some(text) = private_file::read(&file(data))? else { return Ok(None) };
    match secret::check(text.trim()) {
        SecretCheck::Sound => Ok(Some(Secret::new(text.trim()))),
        SecretCheck::Mistyped | SecretCheck::Foreign => Err(io::Error::other(
            "it contains no complete token; delete it, and a new one is created",
        )),
    }
}

fn make(data: &Path) -> io::Result<()> {
    let none = || io::Error::other("the system has no randomness");
    let token = secret::make(SecretKind::Admin).ok_or_else(none)?;
    private_file::make(&file(data), &format!("{}\n", token.reveal()))
}

/// Path of the token file.
pub fn file(data: &Path) -> PathBuf {
    data.join("admin.token")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use tempfile::TempDir;

    use super::{file, make, obtain, read};

    #[test]
    fn the_token_is_made_once_and_only_for_this_user() {
        let data = TempDir::new().unwrap();
        assert_eq!(read(data.path()).unwrap(), None);
        let made = obtain(data.path()).unwrap();
        assert!(made.reveal().starts_with("tga_"));
        assert_eq!(obtain(data.path()).unwrap(), made);
        let mode = || fs::metadata(file(data.path())).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        fs::set_permissions(file(data.path()), fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(read(data.path()).unwrap(), Some(made));
        assert_eq!(mode(), 0o600, "closed to others again");
        assert_eq!(fs::read_dir(data.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn whoever_comes_second_keeps_the_token_of_the_first() {
        let data = TempDir::new().unwrap();
        let first = obtain(data.path()).unwrap();
        make(data.path()).unwrap();
        assert_eq!(read(data.path()).unwrap(), Some(first));
    }

    #[test]
    fn what_is_no_token_is_refused_and_left_alone() {
        let data = TempDir::new().unwrap();
        for text in ["", "tga_short", "secret", "\u{0}"] {
            fs::write(file(data.path()), text).unwrap();
            let refused = obtain(data.path()).unwrap_err().to_string();
            assert!(refused.contains("delete it, and a new one is created"), "{refused}");
            assert_eq!(fs::read_to_string(file(data.path())).unwrap(), text);
        }
        fs::remove_file(file(data.path())).unwrap();
        symlink("/etc/hostname", file(data.path())).unwrap();
        obtain(data.path()).unwrap_err();
    }
}
