//! Reads random tables from files. `NAME.txt` has one entry per line, blank lines and lines with
//! `#` left out; either no line or every line starts with its range (`1-4: …`, `5: …`).
//! `NAME.json` is a list of texts or of `{"text": …, "weight": …}`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::tables::{Entry, Table};

const MOST_TABLES: usize = 200;
const MOST_ENTRIES: usize = 1_000;
const MOST_FILE_BYTES: u64 = 256 * 1024;
const MOST_TEXT_BYTES: usize = 2_000;
const MOST_NAME_BYTES: usize = 64;

/// A table file, or a whole directory, that was left out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("table file `{}` is left out: {problem}", path.display())]
pub struct Broken {
    pub path: PathBuf,
    pub problem: String,
}

/// All tables of a directory by name, and what could not be used. Other files are ignored.
pub(crate) fn read_directory(directory: &Path) -> (BTreeMap<String, Table>, Vec<Broken>) {
    let (mut tables, mut broken) = (BTreeMap::new(), Vec::new());
    let paths = match table_paths(directory) {
        Ok(paths) => paths,
        Err(error) => {
            broken.push(Broken { path: directory.to_owned(), problem: error.to_string() });
            return (tables, broken);
        }
    };
    for path in paths {
        let read = name(&path).and_then(|name| {
            if tables.contains_key(&name) {
                return Err(format!("there is already a table `{name}`"));
            }
            if tables.len() == MOST_TABLES {
                return Err(format!("there are already {MOST_TABLES} tables"));
            }
            Ok((name, read_file(&path)?))
        });
        match read {
            Ok((name, table)) => {
                tables.insert(name, table);
            }
            Err(problem) => broken.push(Broken { path, problem }),
        }
    }
    (tables, broken)
}

/// In the order of their names, so that it does not depend on the file system which one wins.
fn table_paths(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in directory.read_dir()? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "txt" || ending == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn name(path: &Path) -> Result<String, String> {
    let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if name.is_empty() || name.len() > MOST_NAME_BYTES || !name.bytes().all(plain) {
        return Err(format!(
            "its name must be up to {MOST_NAME_BYTES} of the signs a-z, 0-9 and `_`"
        ));
    }
    Ok(name.to_owned())
}

fn read_file(path: &Path) -> Result<Table, String> {
    if !path.metadata().map_err(|error| error.to_string())?.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    file.take(MOST_FILE_BYTES + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > MOST_FILE_BYTES {
        return Err(format!("it is larger than {MOST_FILE_BYTES} bytes"));
    }
    if path.extension().is_some_and(|ending| ending == "json") {
        read_json(&text)
    } else {
        read_lines(&text)
    }
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "an entry is a text or {\"text\": …, \"weight\": …}")]
enum RawEntry {
    Plain(String),
    Weighted(RawWeighted),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWeighted {
    text: String,
    weight: u32,
}

pub(crate) fn read_json(text: &str) -> Result<Table, String> {
    let entries: Vec<RawEntry> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let entries = entries.into_iter().map(|entry| match entry {
        RawEntry::Plain(text) => Entry { weight: 1, text },
        RawEntry::Weighted(RawWeighted { text, weight }) => Entry { weight, text },
    });
    checked(entries.collect())
}

pub(crate) fn read_lines(text: &str) -> Result<Table, String> {
    let lines: Vec<(usize, &str)> = text
        .lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let ranged = lines.iter().any(|(_, line)| range(line).is_some());
    let mut entries = Vec::new();
    let mut next = 1_u32;
    for (number, line) in lines {
        if !ranged {
            entries.push(Entry { weight: 1, text: line.to_owned() });
            continue;
        }
        let (first, last, text) = range(line)
            .ok_or_else(|| format!("line {number} has no range, though other lines have one"))?;
        if first != next || last < first || last == u32::MAX {
            return Err(format!("line {number}: the range must start at {next}"));
        }
        next = last + 1;
        entries.push(Entry { weight: last - first + 1, text: text.to_owned() });
    }
    checked(entries)
}

/// `3-5: text` or `3: text`.
fn range(line: &str) -> Option<(u32, u32, &str)> {
    let (range, text) = line.split_once(':')?;
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    Some((first.trim().parse().ok()?, last.trim().parse().ok()?, text.trim()))
}

fn checked(entries: Vec<Entry>) -> Result<Table, String> {
    if entries.is_empty() || entries.len() > MOST_ENTRIES {
        return Err(format!("a table has 1 to {MOST_ENTRIES} entries"));
    }
    let unfit = |entry: &Entry| entry.text.trim().is_empty() || entry.text.len() > MOST_TEXT_BYTES;
    if let Some(at) = entries.iter().position(unfit) {
        return Err(format!("entry {} must have 1 to {MOST_TEXT_BYTES} bytes of text", at + 1));
    }
    Table::new(entries).ok_or_else(|| "every weight must be at least 1 and not huge".to_owned())
}

#[cfg(test)]
mod tests;
