//! Locates the two files of a model in a directory: the tokenizer and the tensors.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::StaticModelError;

/// Larger files are rejected.
const MAX_FILE_BYTES: u64 = 2 << 30;

pub(super) struct StaticModelFiles {
    pub(super) tokenizer: PathBuf,
    pub(super) tensors: PathBuf,
}

/// Searches the directory itself, and the folders that WordLlama and sentence-transformers use in
/// it.
pub(super) fn find(directory: &Path) -> Result<StaticModelFiles, StaticModelError> {
    if !directory.is_dir() {
        return Err(StaticModelError::NotADirectory);
    }
    let is_tokenizer =
        |name: &str| name == "tokenizer.json" || name.ends_with("_tokenizer_config.json");
    let is_tensors = |name: &str| name.ends_with(".safetensors");
    let within = |folder: &'static str| ["", folder, "0_StaticEmbedding"];
    let tokenizer = only(directory, &within("tokenizers"), is_tokenizer);
    let tokenizer = tokenizer?.ok_or(StaticModelError::NoTokenizer)?;
    let tensors = only(directory, &within("weights"), is_tensors);
    let tensors = tensors?.ok_or(StaticModelError::NoTensors)?;
    Ok(StaticModelFiles { tokenizer, tensors })
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, StaticModelError> {
    let unreadable = |error| StaticModelError::Unreadable { path: path.to_owned(), error };
    let size = fs::metadata(path).map_err(unreadable)?.len();
    if size > MAX_FILE_BYTES {
        return Err(StaticModelError::TooLarge { path: path.to_owned(), size });
    }
    fs::read(path).map_err(unreadable)
}

/// The file in the first folder that has one; it must be the only one there.
fn only(
    directory: &Path,
    folders: &[&str],
    fits: impl Fn(&str) -> bool,
) -> Result<Option<PathBuf>, StaticModelError> {
    for folder in folders {
        let Ok(entries) = fs::read_dir(directory.join(folder)) else { continue };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut found: Vec<PathBuf> = paths
            .filter(|path| path.file_name().and_then(|it| it.to_str()).is_some_and(&fits))
            .collect();
        found.sort();
        match &found[..] {
            [] => {}
            [one] => return Ok(Some(one.clone())),
            [one, two, ..] => {
                let one = one.clone();
                let two = two.clone();
                return Err(StaticModelError::Ambiguous { one, two });
            }
        }
    }
    Ok(None)
}
