//! Reads rule packs: files with a `system`, and `rules` with an id, a name and a text each. The
//! shipped rules have the same format.
//!
//! An unreadable file is skipped, and so is an invalid rule; both are reported.

use std::path::Path;
use std::sync::Arc;

use crate::builtin::document::{
    self, DocumentError, DocumentFields, DocumentLineError, DocumentNode,
};

/// Extensions of the files that are read; other files are ignored.
pub(crate) const ENDINGS: &[&str] = &["yaml", "yml", "json"];
const MAX_FILES: usize = 200;
const MAX_FILE_BYTES: u64 = 1024 * 1024;
const MAX_TEXT_BYTES: usize = 8_000;
const MAX_NAME_BYTES: usize = 200;
const MAX_ID_BYTES: usize = 64;
const MAX_OTHER_NAMES: usize = 32;
const USUAL_CATEGORY: &str = "general";

/// One rule of a game.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GameRule {
    pub id: String,
    pub name: String,
    /// Other names to search for.
    pub also: Vec<String>,
    pub category: String,
    pub text: String,
    pub pack: Arc<RulePack>,
}

/// What all rules of a file share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RulePack {
    pub system: String,
    pub license: Option<String>,
    /// Attribution, short.
    pub source: String,
}

/// A rule and the line where it begins.
pub(super) type RuleAtLine = (usize, GameRule);

/// All rules of a directory, file by file, and the errors.
pub(super) fn read_directory(
    directory: &Path,
) -> (Vec<(std::path::PathBuf, RuleAtLine)>, Vec<DocumentError>) {
    let paths = match document::files(directory, ENDINGS) {
        Ok(paths) => paths,
        Err(flaw) => return (Vec::new(), vec![flaw]),
    };
    let mut rules = Vec::new();
    let mut flaws = Vec::new();
    for path in paths.iter().skip(MAX_FILES) {
        flaws.push(DocumentLineError::all(format!("the limit is {MAX_FILES} files")).of(path));
    }
    for path in paths.into_iter().take(MAX_FILES) {
        let fallback = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let read = document::read(&path, MAX_FILE_BYTES).and_then(|node| pack(&node, &fallback));
        match read {
            Ok((found, wrong)) => {
                rules.extend(found.into_iter().map(|placed| (path.clone(), placed)));
                flaws.extend(wrong.into_iter().map(|wrong| wrong.of(&path)));
            }
            Err(wrong) => flaws.push(wrong.of(&path)),
        }
    }
    (rules, flaws)
}

/// The rules of one file. `fallback` is the source if the file names none.
pub(super) fn pack(
    node: &DocumentNode,
    fallback: &str,
) -> Result<(Vec<RuleAtLine>, Vec<DocumentLineError>), DocumentLineError> {
    let fields = node.fields(&["system", "license", "source", "category", "rules"])?;
    let system = word(&fields, "system")?.ok_or_else(|| {
        DocumentLineError::all("`system` is missing: the game whose rules these are")
    })?;
    let license = fields.text("license", MAX_NAME_BYTES)?;
    let source = fields.text("source", MAX_NAME_BYTES)?.or(license).unwrap_or(fallback);
    let usual = word(&fields, "category")?.unwrap_or_else(|| USUAL_CATEGORY.to_owned());
    let pack = Arc::new(RulePack {
        system,
        license: license.map(str::to_owned),
        source: source.to_owned(),
    });
    let mut rules = Vec::new();
    let mut wrong = Vec::new();
    for node in fields.list("rules")? {
        match rule(node, &usual, &pack) {
            Ok(rule) => rules.push((node.line, rule)),
            Err(found) => wrong.push(found),
        }
    }
    if rules.is_empty() && wrong.is_empty() {
        wrong.push(DocumentLineError::all("it has no `rules`"));
    }
    Ok((rules, wrong))
}

fn rule(
    node: &DocumentNode,
    usual: &str,
    pack: &Arc<RulePack>,
) -> Result<GameRule, DocumentLineError> {
    let fields = node.fields(&["id", "name", "also", "category", "text"])?;
    let missing = || DocumentLineError::at(node.line, "`id` is missing");
    let others = fields.list("also")?;
    if others.len() > MAX_OTHER_NAMES {
        let problem = format!("`also` has more than {MAX_OTHER_NAMES} names");
        return Err(DocumentLineError::at(node.line, problem));
    }
    let others = others.iter().map(|node| node.text("also", MAX_NAME_BYTES).map(str::to_owned));
    Ok(GameRule {
        id: word(&fields, "id")?.ok_or_else(missing)?,
        name: fields.require_text("name", MAX_NAME_BYTES)?.to_owned(),
        also: others.collect::<Result<_, _>>()?,
        category: word(&fields, "category")?.unwrap_or_else(|| usual.to_owned()),
        text: fields.require_text("text", MAX_TEXT_BYTES)?.to_owned(),
        pack: Arc::clone(pack),
    })
}

/// A string that can be typed again: an id, a system, a category.
fn word(fields: &DocumentFields<'_>, key: &str) -> Result<Option<String>, DocumentLineError> {
    let Some(text) = fields.text(key, MAX_ID_BYTES)? else { return Ok(None) };
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    if text.chars().all(plain) {
        return Ok(Some(text.to_owned()));
    }
    let line = fields.get(key).map_or(fields.line, |node| node.line);
    let problem = format!("`{key}` may only have the characters a-z, 0-9, `-` and `_`");
    Err(DocumentLineError::at(line, problem))
}

#[cfg(test)]
mod tests;
