//! Reads random tables from files.
//!
//! `NAME.txt` has one entry per line; blank lines and lines starting with `#` are skipped. Either
//! no line or every line starts with its range (`1-4: …`, `5: …`, `96-00: …`). `NAME.yaml` and
//! `NAME.json` are lists of texts or of `{text, weight}`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::entry::{TableEntry, is_table_name_byte};
use super::random_table::RandomTable;
use crate::builtin::document::{
    self, DocumentData, DocumentError, DocumentLineError, DocumentNode,
};

/// Extensions of the files that are read; other files are ignored.
pub(crate) const ENDINGS: &[&str] = &["txt", "yaml", "yml", "json"];
const MAX_TABLES: usize = 200;
const MAX_ENTRIES: usize = 1_000;
const MAX_FILE_BYTES: u64 = 256 * 1024;
const MAX_TEXT_BYTES: usize = 2_000;
const MAX_NAME_BYTES: usize = 64;

/// A parsed table, and the line of each entry.
pub(super) struct TableFile {
    pub path: PathBuf,
    pub table: RandomTable,
    pub lines: Vec<usize>,
}

/// All tables of a directory by name, and the errors. Other files are ignored.
pub(super) fn read_directory(
    directory: &Path,
) -> (BTreeMap<String, TableFile>, Vec<DocumentError>) {
    let mut tables = BTreeMap::new();
    let mut flaws = Vec::new();
    let paths = match document::files(directory, ENDINGS) {
        Ok(paths) => paths,
        Err(flaw) => return (tables, vec![flaw]),
    };
    for path in paths {
        let read = name(&path).and_then(|name| {
            if tables.contains_key(&name) {
                return Err(DocumentLineError::all(format!("there is already a table `{name}`")));
            }
            if tables.len() == MAX_TABLES {
                return Err(DocumentLineError::all(format!(
                    "there are already {MAX_TABLES} tables"
                )));
            }
            let (table, lines) = read_file(&path)?;
            Ok((name, TableFile { path: path.clone(), table, lines }))
        });
        match read {
            Ok((name, table)) => {
                tables.insert(name, table);
            }
            Err(wrong) => flaws.push(wrong.of(&path)),
        }
    }
    (tables, flaws)
}

fn name(path: &Path) -> Result<String, DocumentLineError> {
    let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_table_name_byte) {
        let problem =
            format!("its name must be at most {MAX_NAME_BYTES} characters out of a-z, 0-9 and `_`");
        return Err(DocumentLineError::all(problem));
    }
    Ok(name.to_owned())
}

type TableWithLines = (RandomTable, Vec<usize>);

fn read_file(path: &Path) -> Result<TableWithLines, DocumentLineError> {
    if path.extension().is_some_and(|ending| ending == "txt") {
        return read_lines(&document::text(path, MAX_FILE_BYTES)?);
    }
    read_list(&document::read(path, MAX_FILE_BYTES)?)
}

pub(super) fn read_list(node: &DocumentNode) -> Result<TableWithLines, DocumentLineError> {
    let DocumentData::List(items) = &node.data else {
        return Err(DocumentLineError::at(node.line, "a table is a list of entries"));
    };
    let mut entries = Vec::new();
    for item in items {
        let (text, weight) = match &item.data {
            DocumentData::Map(_) => {
                let fields = item.fields(&["text", "weight"])?;
                (fields.require_text("text", MAX_TEXT_BYTES)?, fields.whole("weight")?.unwrap_or(1))
            }
            DocumentData::Nothing | DocumentData::Scalar(_) | DocumentData::List(_) => {
                (item.text("text", MAX_TEXT_BYTES)?, 1)
            }
        };
        entries.push((item.line, weight, text));
    }
    table(&entries)
}

pub(super) fn read_lines(text: &str) -> Result<TableWithLines, DocumentLineError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<(usize, &str)> = text
        .lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let ranged = lines.iter().any(|(_, line)| parse_range(line).is_some());
    let mut entries = Vec::new();
    let mut next = 1_u32;
    for (number, line) in lines {
        if !ranged {
            entries.push((number, 1, line));
            continue;
        }
        let missing =
            || DocumentLineError::at(number, "the range is missing, but other lines have one");
        let RangeLine { first, last, text } = parse_range(line).ok_or_else(missing)?;
        if first != next || last < first || last == u32::MAX {
            return Err(DocumentLineError::at(number, format!("the range must start at {next}")));
        }
        next = last + 1;
        entries.push((number, last - first + 1, text));
    }
    table(&entries)
}

/// An entry with the results of the roll that select it.
struct RangeLine<'t> {
    first: u32,
    last: u32,
    text: &'t str,
}

/// `3-5: text` or `3: text`; on percentile dice `00` is the hundred.
fn parse_range(line: &str) -> Option<RangeLine<'_>> {
    let (range, text) = line.split_once(':')?;
    let (first, last) = range.split_once(['-', '–']).unwrap_or((range, range));
    let number = |text: &str| match text.trim() {
        "00" => Some(100),
        digits => digits.parse().ok(),
    };
    Some(RangeLine { first: number(first)?, last: number(last)?, text: text.trim() })
}

fn table(entries: &[(usize, u32, &str)]) -> Result<TableWithLines, DocumentLineError> {
    if entries.is_empty() || entries.len() > MAX_ENTRIES {
        return Err(DocumentLineError::all(format!("a table has 1 to {MAX_ENTRIES} entries")));
    }
    let unfit =
        |(_, _, text): &&(usize, u32, &str)| text.trim().is_empty() || text.len() > MAX_TEXT_BYTES;
    if let Some((line, ..)) = entries.iter().find(unfit) {
        let problem = format!("an entry must have 1 to {MAX_TEXT_BYTES} bytes of text");
        return Err(DocumentLineError::at(*line, problem));
    }
    let lines = entries.iter().map(|(line, ..)| *line).collect();
    let entries = entries.iter().map(|(_, weight, text)| TableEntry::new(*weight, text)).collect();
    let table = RandomTable::new(entries).ok_or_else(|| {
        DocumentLineError::all("every weight must be at least 1 and within limits")
    })?;
    Ok((table, lines))
}

#[cfg(test)]
mod tests;
