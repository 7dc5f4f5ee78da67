//! What the built-in tools work with.

use std::path::PathBuf;

use tollgate_core::secret::Secret;

use super::{ImageSettings, WebSettings};

/// Where the built-in tools may work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltinSettings {
    /// The directory that `read_file` and `write_file` cannot leave.
    pub files: PathBuf,
    /// A directory of tables for `roll_table`, beside the ones built in.
    pub tables: Option<PathBuf>,
    /// A directory of rule packs, beside the rules built in.
    pub rules: Option<PathBuf>,
    /// `None`: there are no such tools.
    pub web: Option<WebSettings>,
    /// `None`: there are no such tools.
    pub images: Option<ImageSettings>,
    /// `None`: there are no tools for music.
    pub music: Option<MusicSettings>,
}

/// Music that others play.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MusicSettings {
    /// The file that lists the tracks.
    pub library: PathBuf,
    /// Where events are sent by POST, beside those who listen. Such URLs often hold a token.
    pub webhook: Option<Secret>,
}

impl BuiltinSettings {
    /// What needs nothing but a directory for files.
    pub fn new(files: PathBuf) -> Self {
        Self { files, tables: None, rules: None, web: None, images: None, music: None }
    }
}
