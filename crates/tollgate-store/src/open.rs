//! Opens the store together with the files beside its database, which survive its loss: they tell a
//! database that was lost from one that is new.

use std::path::Path;
use std::{fs, io};

use crate::audit::AnchorFile;
use crate::database::Store;
use crate::error::OpenError;
use crate::keys::KeyMarker;

/// What the gateway keeps beside its database from its first start on.
const ADMIN_TOKEN: &str = "admin.token";

impl Store {
    /// Opens the file, or makes it. What is there is never replaced: a file that cannot be used is
    /// refused with the reason.
    pub fn open(file: &Path) -> Result<Self, OpenError> {
        let is_lost = is_missing(file) && was_used(file);
        let store = Self::open_database(file)?;
        let unusable = |why| OpenError::Unusable { file: file.to_owned(), why };
        store.keys().require_if_made(is_lost).map_err(unusable)?;
        if is_lost {
            store.expect_anchor().map_err(unusable)?;
        }
        Ok(store)
    }
}

/// No database, or one that was truncated to nothing.
fn is_missing(file: &Path) -> bool {
    fs::metadata(file).map_or_else(
        |error| error.kind() == io::ErrorKind::NotFound,
        |found| found.is_file() && found.len() == 0,
    )
}

/// What stands beside a database that was in use. The admin's token is made after the database.
fn was_used(file: &Path) -> bool {
    KeyMarker::of(file).exists()
        || AnchorFile::of(file).exists()
        || file.with_file_name(ADMIN_TOKEN).exists()
}
