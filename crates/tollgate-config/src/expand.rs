//! Expands `${NAME}`, `${NAME:-default}` and `${file:/path}` in texts of the config. Nothing nests,
//! and the result is never expanded again. `$${` stands for `${`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::PathBuf;

use tollgate_core::secret_values;

/// Source of variables and secret files: the process, or a table in tests.
pub trait Environment {
    fn variable(&self, name: &str) -> Option<String>;

    fn file(&self, path: &str) -> io::Result<String>;
}

/// The environment of this process.
#[derive(Debug, Clone, Copy)]
pub struct ProcessEnvironment;

/// A secret is one line. Larger files are refused.
const LARGEST_FILE: u64 = 64 * 1024;

impl Environment for ProcessEnvironment {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn file(&self, path: &str) -> io::Result<String> {
        let about = std::fs::metadata(path)?;
        if !about.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        if about.len() > LARGEST_FILE {
            return Err(io::Error::other("larger than 64 KiB"));
        }
        std::fs::read_to_string(path)
    }
}

/// Records the files that are read: they contain secrets of the gateway.
pub(super) struct RecordingEnvironment<'a> {
    from: &'a dyn Environment,
    files: RefCell<BTreeSet<PathBuf>>,
}

impl<'a> RecordingEnvironment<'a> {
    pub(super) fn of(from: &'a dyn Environment) -> Self {
        Self { from, files: RefCell::default() }
    }

    pub(super) fn into_files(self) -> Vec<PathBuf> {
        self.files.into_inner().into_iter().collect()
    }
}

impl Environment for RecordingEnvironment<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        self.from.variable(name)
    }

    fn file(&self, path: &str) -> io::Result<String> {
        self.files.borrow_mut().insert(PathBuf::from(path));
        self.from.file(path)
    }
}

/// Why a text cannot be expanded.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ExpandError {
    Unset { name: String },
    Unclosed,
    Name { found: String },
    Nested,
    File { path: String, why: String },
}

impl fmt::Display for ExpandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unset { name } => write!(f, "the variable `{name}` is not set"),
            Self::Unclosed => f.write_str("`${` without `}`"),
            Self::Name { found } => write!(f, "`{found}` is not the name of a variable"),
            Self::Nested => f.write_str("nested `${…}` is not supported"),
            Self::File { path, why } => write!(f, "cannot read the file `{path}`: {why}"),
        }
    }
}

impl ExpandError {
    /// Advice for the user.
    pub(super) fn help(&self) -> String {
        match self {
            Self::Unset { name } => {
                format!("set it, or give a default: `${{{name}:-something}}`")
            }
            Self::Unclosed => "close it, or write `$${` for a literal `${`".to_owned(),
            Self::Name { .. } => {
                "write `${NAME}`, `${NAME:-default}` or `${file:/path}`".to_owned()
            }
            Self::Nested => "defaults are literal; use one variable".to_owned(),
            Self::File { .. } => "the file must contain only the value".to_owned(),
        }
    }
}

/// Whether `text` contains anything that [`expand`] would change.
pub(super) fn has_variable(text: &str) -> bool {
    text.contains("${")
}

pub(super) fn expand(text: &str, environment: &dyn Environment) -> Result<String, ExpandError> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            out.push_str(&rest[..at - 1]);
            out.push_str("${");
            rest = &rest[at + 2..];
            continue;
        }
        out.push_str(&rest[..at]);
        let inside = &rest[at + 2..];
        let end = inside.find('}').ok_or(ExpandError::Unclosed)?;
        out.push_str(&value(&inside[..end], environment)?);
        rest = &inside[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

fn value(inside: &str, environment: &dyn Environment) -> Result<String, ExpandError> {
    if inside.contains("${") {
        return Err(ExpandError::Nested);
    }
    if let Some(path) = inside.strip_prefix("file:") {
        let text = environment
            .file(path)
            .map_err(|error| ExpandError::File { path: path.to_owned(), why: error.to_string() })?;
        let line = text.strip_suffix('\n').unwrap_or(&text);
        return Ok(line.strip_suffix('\r').unwrap_or(line).to_owned());
    }
    let (name, default) = with_default(inside);
    if !is_name(name) {
        return Err(ExpandError::Name { found: name.to_owned() });
    }
    let set = environment.variable(name);
    match (set, default) {
        (Some(text), None) => Ok(text),
        (Some(text), Some(_)) if !text.is_empty() => Ok(text),
        (_, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(ExpandError::Unset { name: name.to_owned() }),
    }
}

/// `${NAME}` alone is a reference to a secret and does not reveal it.
pub fn is_reference(text: &str) -> bool {
    let inside = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    inside.is_some_and(|name| is_name(name) || name.starts_with("file:/"))
}

/// The name of the secret, if a text is nothing but a reference to it. The content of a secret file
/// counts as a secret, whatever the file is called.
pub(super) fn secret_reference(text: &str) -> Option<&str> {
    let inside = text.strip_prefix("${")?.strip_suffix('}')?;
    if inside.starts_with("file:") {
        return Some("secret file");
    }
    let (name, _) = with_default(inside);
    (is_name(name) && secret_values::sounds_secret(name)).then_some(name)
}

/// The variables that a text refers to, with their defaults. Includes escaped ones (`$${`).
pub fn references(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let inside = text.split("${").skip(1).filter_map(|part| part.split('}').next());
    inside.map(with_default).filter(|(name, _)| is_name(name))
}

fn with_default(inside: &str) -> (&str, Option<&str>) {
    match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    }
}

/// A valid name of a shell variable.
pub fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
