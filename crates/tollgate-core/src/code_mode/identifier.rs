//! Identifiers for programs: letters, digits and `_`, no keyword, unique. Stable: the same name
//! gets the same identifier, regardless of other names, unless two collide.

use std::collections::HashSet;

use unicode_normalization::UnicodeNormalization;

use crate::confusables;
use crate::digest::{DigestBuilder, hex};

/// The role of an identifier, which determines the reserved words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdentifierRole {
    /// A global of the program: must not shadow a builtin.
    Server,
    /// An attribute, after a dot.
    Tool,
    /// A keyword argument.
    Parameter,
}

const MAX_IDENTIFIER_LEN: usize = 64;

/// One unique identifier per name, in order. A name that is already an identifier is kept. If
/// others collide, the first gets the plain identifier and the rest a suffix derived from their
/// text.
pub(super) fn identifiers<'n>(names: &[&'n str], role: IdentifierRole) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::new();
    let requested: Vec<IdentifierCandidate<'n>> =
        names.iter().map(|name| IdentifierCandidate::of(name, role)).collect();
    taken.extend(requested.iter().filter(|it| it.is_own()).map(|it| it.identifier.clone()));
    let each = requested.into_iter().map(|it| {
        if it.is_own() {
            it.identifier
        } else {
            let found = it.spellings().find(|spelling| !taken.contains(spelling));
            let found = found.expect("there are more numbers than names");
            taken.insert(found.clone());
            found
        }
    });
    each.collect()
}

/// Whether it is valid as an attribute or keyword argument.
pub(super) fn is_identifier(text: &str) -> bool {
    let first = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    first
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !KEYWORDS.contains(&text)
}

struct IdentifierCandidate<'n> {
    name: &'n str,
    identifier: String,
    /// So little of the name is left that it always gets a suffix.
    is_lossy: bool,
}

impl<'n> IdentifierCandidate<'n> {
    fn of(name: &'n str, role: IdentifierRole) -> Self {
        let mut identifier: String =
            name.nfkd().filter_map(letter).take(MAX_IDENTIFIER_LEN + 1).collect();
        let is_empty = identifier.bytes().all(|byte| byte == b'_');
        if is_empty {
            identifier = match role {
                IdentifierRole::Server => "server",
                IdentifierRole::Tool => "tool",
                IdentifierRole::Parameter => "argument",
            }
            .to_owned();
        }
        let is_long = identifier.len() > MAX_IDENTIFIER_LEN;
        identifier.truncate(MAX_IDENTIFIER_LEN);
        if identifier.starts_with(|c: char| c.is_ascii_digit()) {
            identifier.insert(0, '_');
        }
        let is_reserved = KEYWORDS.contains(&&*identifier)
            || (role == IdentifierRole::Server && GLOBALS.contains(&&*identifier));
        if is_reserved {
            identifier.push('_');
        }
        Self { name, identifier, is_lossy: is_empty || is_long }
    }

    fn is_own(&self) -> bool {
        self.identifier == self.name
    }

    /// The identifier, then with suffixes of increasing length.
    fn spellings(&self) -> impl Iterator<Item = String> {
        let sum = hex(&DigestBuilder::default().with(self.name).finish());
        let plain = (!self.is_lossy).then(|| self.identifier.clone());
        let marked = [4, 8, 16].map(|digits| format!("{}_{}", self.identifier, &sum[..digits]));
        let numbered = (2_u64..).map(|number| format!("{}_{number}", self.identifier));
        plain.into_iter().chain(marked).chain(numbered)
    }
}

/// The replacement of a character; `None`: it is dropped.
fn letter(c: char) -> Option<char> {
    match confusables::latin(c)? {
        c if c.is_ascii_alphanumeric() => Some(c),
        '_' | '-' | '.' | ' ' | '/' | ':' => Some('_'),
        _ => None,
    }
}

/// Of Python and Starlark, sorted.
const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "load", "nonlocal", "not", "or", "pass", "raise", "return", "try",
    "while", "with", "yield",
];

/// Builtins, and names with a conventional meaning.
const GLOBALS: &[&str] = &[
    "abs",
    "all",
    "any",
    "bool",
    "breakpoint",
    "bytes",
    "call_stack",
    "catch",
    "chr",
    "debug",
    "dict",
    "dir",
    "enum",
    "enumerate",
    "eval_type",
    "fail",
    "field",
    "filter",
    "float",
    "format",
    "getattr",
    "hasattr",
    "hash",
    "int",
    "isinstance",
    "json",
    "len",
    "list",
    "map",
    "max",
    "min",
    "namespace",
    "open",
    "ord",
    "parallel",
    "partial",
    "pprint",
    "prepr",
    "print",
    "pstr",
    "range",
    "record",
    "repr",
    "result",
    "reversed",
    "round",
    "set",
    "sorted",
    "str",
    "struct",
    "sum",
    "try_call",
    "tuple",
    "type",
    "typing",
    "zip",
];

#[cfg(test)]
mod tests;
