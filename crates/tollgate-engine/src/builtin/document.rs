//! Reader for YAML and JSON files that users write for built-in tools: a tree in which every value
//! has its line, and field access with clear errors.
//!
//! Used by rule packs, tables and the music library; independent of them. Bounded in size and
//! depth.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

mod json;
mod yaml;

pub(crate) use yaml::read as yaml;

/// Nesting of lists and maps; the formats read here need four levels.
const MAX_NESTING_DEPTH: usize = 16;
/// Keys are compared pairwise; no valid file has nearly as many.
const MAX_KEYS: usize = 1_000;

/// An error for which a file, or a part of it, was skipped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}`{}: {problem}", path.display(), line.map(|line| format!(", line {line}")).unwrap_or_default())]
pub struct DocumentError {
    pub path: PathBuf,
    pub line: Option<usize>,
    pub problem: String,
}

/// An error in a text, with its line; `None`: the whole text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocumentLineError {
    pub line: Option<usize>,
    pub problem: String,
}

impl DocumentLineError {
    pub(crate) fn at(line: usize, problem: impl Into<String>) -> Self {
        Self { line: Some(line), problem: problem.into() }
    }

    pub(crate) fn all(problem: impl Into<String>) -> Self {
        Self { line: None, problem: problem.into() }
    }

    pub(crate) fn of(self, path: &Path) -> DocumentError {
        DocumentError { path: path.to_owned(), line: self.line, problem: self.problem }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocumentNode {
    pub line: usize,
    pub data: DocumentData,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DocumentData {
    /// `null`, or a key without a value.
    Nothing,
    /// A string, a number or a word such as `true`: its type is up to the reader.
    Scalar(String),
    List(Vec<DocumentNode>),
    Map(Vec<(String, DocumentNode)>),
}

/// The regular files of a directory with one of these extensions, sorted by name, so that
/// precedence does not depend on the file system.
pub(crate) fn files(directory: &Path, endings: &[&str]) -> Result<Vec<PathBuf>, DocumentError> {
    let failed = |error: std::io::Error| DocumentLineError::all(error.to_string()).of(directory);
    let mut paths = Vec::new();
    for entry in directory.read_dir().map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if ending.is_some_and(|ending| endings.contains(&ending)) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// The text of a regular file of at most `most_bytes` bytes.
pub(crate) fn text(path: &Path, most_bytes: u64) -> Result<String, DocumentLineError> {
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::InvalidData => DocumentLineError::all("it is not text in UTF-8"),
        _ => DocumentLineError::all(error.to_string()),
    };
    if !path.metadata().map_err(failed)?.is_file() {
        return Err(DocumentLineError::all("it is not a regular file"));
    }
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    file.take(most_bytes + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > most_bytes {
        return Err(DocumentLineError::all(format!("it is larger than {most_bytes} bytes")));
    }
    Ok(text)
}

/// Reads a file by its extension: `.json`, otherwise YAML.
pub(crate) fn read(path: &Path, most_bytes: u64) -> Result<DocumentNode, DocumentLineError> {
    let text = text(path, most_bytes)?;
    if path.extension().is_some_and(|ending| ending == "json") {
        json::read(&text)
    } else {
        yaml::read(&text)
    }
}

impl DocumentNode {
    /// The keys of a map, all of which must be among `known`.
    pub(crate) fn fields(&self, known: &[&str]) -> Result<DocumentFields<'_>, DocumentLineError> {
        let DocumentData::Map(pairs) = &self.data else {
            let keys = known.join("`, `");
            return Err(DocumentLineError::at(
                self.line,
                format!("a map is expected here, with the keys `{keys}`"),
            ));
        };
        if let Some((key, node)) = pairs.iter().find(|(key, _)| !known.contains(&key.as_str())) {
            let near = tollgate_core::nearest::nearest(key, known.iter().copied());
            let meant = match near.first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are `{}`", known.join("`, `")),
            };
            let shown = quote_excerpt(key);
            return Err(DocumentLineError::at(
                node.line,
                format!("unknown key `{shown}`; {meant}"),
            ));
        }
        Ok(DocumentFields { line: self.line, pairs })
    }

    /// The entries of a map whose keys the user chooses.
    pub(crate) fn entries(&self, key: &str) -> Result<&[(String, Self)], DocumentLineError> {
        match &self.data {
            DocumentData::Map(pairs) => Ok(pairs),
            DocumentData::Nothing | DocumentData::Scalar(_) | DocumentData::List(_) => {
                Err(DocumentLineError::at(self.line, format!("`{key}` must be a map")))
            }
        }
    }

    pub(crate) fn list(&self, key: &str) -> Result<&[Self], DocumentLineError> {
        match &self.data {
            DocumentData::List(items) => Ok(items),
            DocumentData::Nothing => Ok(&[]),
            DocumentData::Scalar(_) | DocumentData::Map(_) => {
                Err(DocumentLineError::at(self.line, format!("`{key}` must be a list")))
            }
        }
    }

    /// One or more lines of text; no other control characters.
    pub(crate) fn text(&self, key: &str, most_bytes: usize) -> Result<&str, DocumentLineError> {
        let DocumentData::Scalar(text) = &self.data else {
            return Err(DocumentLineError::at(self.line, format!("`{key}` must be a text")));
        };
        let text = text.trim();
        if text.is_empty() || text.len() > most_bytes {
            let problem = format!("`{key}` must have 1 to {most_bytes} bytes");
            return Err(DocumentLineError::at(self.line, problem));
        }
        if text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
            return Err(DocumentLineError::at(
                self.line,
                format!("`{key}` has control characters in it"),
            ));
        }
        Ok(text)
    }
}

/// The fields of one map, with errors that name key and line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DocumentFields<'n> {
    pub(crate) line: usize,
    pairs: &'n [(String, DocumentNode)],
}

impl<'n> DocumentFields<'n> {
    pub(crate) fn get(&self, key: &str) -> Option<&'n DocumentNode> {
        let node = self.pairs.iter().find(|(name, _)| name == key).map(|(_, node)| node)?;
        (node.data != DocumentData::Nothing).then_some(node)
    }

    /// Empty if the key is absent.
    pub(crate) fn list(&self, key: &str) -> Result<&'n [DocumentNode], DocumentLineError> {
        self.get(key).map_or(Ok(&[]), |node| node.list(key))
    }

    pub(crate) fn text(
        &self,
        key: &str,
        most_bytes: usize,
    ) -> Result<Option<&'n str>, DocumentLineError> {
        self.get(key).map(|node| node.text(key, most_bytes)).transpose()
    }

    pub(crate) fn require_text(
        &self,
        key: &str,
        most_bytes: usize,
    ) -> Result<&'n str, DocumentLineError> {
        let missing = || DocumentLineError::at(self.line, format!("`{key}` is missing"));
        self.text(key, most_bytes)?.ok_or_else(missing)
    }

    pub(crate) fn whole(&self, key: &str) -> Result<Option<u32>, DocumentLineError> {
        let Some(node) = self.get(key) else { return Ok(None) };
        let number = node.text(key, 16)?.parse().ok();
        let wrong = || DocumentLineError::at(node.line, format!("`{key}` must be a whole number"));
        number.map(Some).ok_or_else(wrong)
    }
}

/// An excerpt of user text, short enough for an error message.
pub(crate) fn quote_excerpt(text: &str) -> String {
    const MAX_SHOWN_CHARS: usize = 64;
    let shown: String = text.chars().take(MAX_SHOWN_CHARS).collect();
    shown.escape_debug().to_string()
}

#[cfg(test)]
mod tests;
