//! A path within the sandbox, validated as text. Nothing is decoded or resolved: a name means its
//! bytes as written. Independent of the file system.

use std::fmt;

pub(crate) const MAX_PATH_BYTES: usize = 1_024;
pub(crate) const MAX_NAME_BYTES: usize = 255;
/// Maximum depth: folders plus the file itself.
pub(crate) const MAX_DEPTH: usize = 32;
/// Prefix of temporary files.
pub(crate) const TEMPORARY: &str = ".tollgate-";

/// Invariant: at least one name; no name is empty, `.`, `..` or holds a `/` or a NUL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RelativePath {
    names: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RelativePathError {
    #[error("`path` must name a file, for example `notes/today.md`")]
    Empty,
    #[error("`path` is longer than {MAX_PATH_BYTES} bytes")]
    TooLong,
    #[error("`path` has more than {MAX_DEPTH} parts")]
    TooDeep,
    #[error("a name in `path` is longer than {MAX_NAME_BYTES} bytes")]
    NameTooLong,
    #[error("`path` must be relative, for example `notes/today.md`")]
    Absolute,
    #[error("`path` must not contain `..`: files outside the folder cannot be reached")]
    Parent,
    #[error("`path` must not contain `.` or nothing between two `/`, nor end with `/`")]
    EmptyName,
    #[error("`path` must use `/` between folders, not `\\`")]
    Backslash,
    #[error("`path` must not contain line breaks or other invisible characters")]
    Invisible,
    #[error("a name in `path` must not end with a dot or start or end with a space")]
    Edge,
    #[error("a name in `path` must not begin with `{TEMPORARY}`")]
    Reserved,
}

impl RelativePath {
    pub(crate) fn parse(text: &str) -> Result<Self, RelativePathError> {
        if text.len() > MAX_PATH_BYTES {
            return Err(RelativePathError::TooLong);
        }
        if text.chars().any(is_invisible) {
            return Err(RelativePathError::Invisible);
        }
        if text.contains('\\') {
            return Err(RelativePathError::Backslash);
        }
        // Before the check below, or `./C:` would pass as a name.
        let text = text.strip_prefix("./").unwrap_or(text);
        if text.starts_with('/') || starts_with_drive(text) {
            return Err(RelativePathError::Absolute);
        }
        if matches!(text, "" | ".") {
            return Err(RelativePathError::Empty);
        }
        let names: Vec<String> = text.split('/').map(str::to_owned).collect();
        names.iter().try_for_each(|name| check_name(name))?;
        if names.len() > MAX_DEPTH {
            return Err(RelativePathError::TooDeep);
        }
        Ok(Self { names })
    }

    /// The parent folders and the file name.
    pub(crate) fn split(&self) -> (&[String], &str) {
        let (file, folders) = self.names.split_last().expect("a path has a name");
        (folders, file)
    }
}

impl fmt::Display for RelativePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names.join("/"))
    }
}

fn check_name(name: &str) -> Result<(), RelativePathError> {
    match name {
        ".." => Err(RelativePathError::Parent),
        "" | "." => Err(RelativePathError::EmptyName),
        _ if name.len() > MAX_NAME_BYTES => Err(RelativePathError::NameTooLong),
        _ if name.ends_with('.') => Err(RelativePathError::Edge),
        _ if name.starts_with(char::is_whitespace) => Err(RelativePathError::Edge),
        _ if name.ends_with(char::is_whitespace) => Err(RelativePathError::Edge),
        _ if name.starts_with(TEMPORARY) => Err(RelativePathError::Reserved),
        _ => Ok(()),
    }
}

/// Control characters, and characters that make a name look like another.
fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        )
}

/// `C:` and the like: a mistake from another system, never an intended name.
fn starts_with_drive(text: &str) -> bool {
    matches!(text.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests;
