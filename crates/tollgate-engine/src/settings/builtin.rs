//! Settings of the built-in tools.

use std::path::PathBuf;

use tollgate_core::secret::Secret;

use super::{ImageSettings, WebSettings};

/// Settings of the built-in tools, and their directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltinSettings {
    /// Sandbox directory of `read_file` and `write_file`.
    pub files: PathBuf,
    /// A directory of tables for `roll_table`, in addition to the shipped ones.
    pub tables: Option<PathBuf>,
    /// A directory of rule packs, in addition to the shipped rules.
    pub rules: Option<PathBuf>,
    /// `None`: no web tools.
    pub web: Option<WebSettings>,
    /// `None`: no image tools.
    pub images: Option<ImageSettings>,
    /// `None`: no music tools.
    pub music: Option<MusicSettings>,
}

/// Music, played by external players.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MusicSettings {
    /// The file that lists the tracks.
    pub library: PathBuf,
    /// Events are also sent there by POST. Such URLs often contain a token.
    pub webhook: Option<Secret>,
}

impl BuiltinSettings {
    /// Only the tools that need nothing but a directory.
    pub fn new(files: PathBuf) -> Self {
        Self { files, tables: None, rules: None, web: None, images: None, music: None }
    }
}
