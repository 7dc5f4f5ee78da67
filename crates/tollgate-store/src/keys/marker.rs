//! Marker file beside the database: keys were created. It survives the database, so that losing the
//! database does not open the gateway.

use std::path::{Path, PathBuf};

use crate::durable_file;
use crate::error::Error;

#[derive(Debug, Clone)]
pub(crate) struct KeyMarker(PathBuf);

const TEXT: &str = "\
This gateway has keys: access without a key is denied, even if the database is lost.
To allow access from this machine without a key again: tollgate keys open
";

impl KeyMarker {
    pub(crate) fn of(database: &Path) -> Self {
        Self(durable_file::beside(database, "keys.required"))
    }

    /// Fails closed: a marker that cannot be read counts as present.
    pub(crate) fn exists(&self) -> bool {
        self.0.try_exists().unwrap_or(true)
    }

    pub(crate) fn set(&self) -> Result<(), Error> {
        if self.exists() {
            return Ok(());
        }
        Ok(durable_file::replace(&self.0, TEXT)?)
    }

    pub(crate) fn remove(&self) -> Result<(), Error> {
        Ok(durable_file::remove(&self.0)?)
    }
}
