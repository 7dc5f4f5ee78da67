//! Why a directory contains no static model that can be used.

use std::io;
use std::path::PathBuf;

use super::table::VectorTableError;
use super::tokenizer::TokenizerError;

/// The directory, and why its model cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("no embedding model in `{}`: {why}", directory.display())]
pub struct OpenStaticModelError {
    pub directory: PathBuf,
    why: StaticModelError,
}

impl OpenStaticModelError {
    pub(super) fn new(directory: PathBuf, why: StaticModelError) -> Self {
        Self { directory, why }
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum StaticModelError {
    #[error("it is not a directory")]
    NotADirectory,
    #[error("there is no `tokenizer.json`")]
    NoTokenizer,
    #[error("there is no `model.safetensors`")]
    NoTensors,
    #[error("`{}` and `{}` both exist: remove one of them", one.display(), two.display())]
    Ambiguous { one: PathBuf, two: PathBuf },
    #[error("`{}` cannot be read: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("`{}` has {size} bytes: it is not a static model", path.display())]
    TooLarge { path: PathBuf, size: u64 },
    #[error(transparent)]
    Table(#[from] VectorTableError),
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}
