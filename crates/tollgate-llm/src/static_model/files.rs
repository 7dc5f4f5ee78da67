//! Locates the two files of a model in a directory: the tokenizer and the tensors.

use std::fs;
use std::path::{Path, PathBuf};

/// Larger files are rejected.
const MAX_FILE_BYTES: u64 = 2 << 30;

pub(super) struct StaticModelFiles {
    pub(super) tokenizer: PathBuf,
    pub(super) tensors: PathBuf,
}

/// Searches the directory itself, and the folders that WordLlama and sentence-transformers use in
/// it.
pub(super) fn find(directory: &Path) -> Result<StaticModelFiles, String> {
    if !directory.is_dir() {
        return Err("it is not a directory".to_owned());
    }
    let is_tokenizer =
        |name: &str| name == "tokenizer.json" || name.ends_with("_tokenizer_config.json");
    let is_tensors = |name: &str| name.ends_with(".safetensors");
    let within = |folder: &'static str| ["", folder, "0_StaticEmbedding"];
    let tokenizer = only(directory, &within("tokenizers"), is_tokenizer);
    let tokenizer = tokenizer?.ok_or("there is no `tokenizer.json`")?;
    let tensors = only(directory, &within("weights"), is_tensors);
    let tensors = tensors?.ok_or("there is no `model.safetensors`")?;
    Ok(StaticModelFiles { tokenizer, tensors })
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let said = |error| format!("`{}` cannot be read: {error}", path.display());
    let size = fs::metadata(path).map_err(said)?.len();
    if size > MAX_FILE_BYTES {
        return Err(format!("`{}` has {size} bytes: it is not a static model", path.display()));
    }
    fs::read(path).map_err(said)
}

/// The file in the first folder that has one; it must be the only one there.
fn only(
    directory: &Path,
    folders: &[&str],
    fits: impl Fn(&str) -> bool,
) -> Result<Option<PathBuf>, String> {
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
                let one = one.display();
                let two = two.display();
                return Err(format!("`{one}` and `{two}` both exist: remove one of them"));
            }
        }
    }
    Ok(None)
}
