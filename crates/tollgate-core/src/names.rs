//! Exposed names: joins server and tool names into the names that models see, and tracks their
//! owners. Used by the catalogue. Exposed names are looked up, never split again.

use unicode_normalization::UnicodeNormalization;

use crate::confusables;
use crate::digest;
use crate::id::{ExposedName, ServerId, ToolName};

mod owners;
pub(crate) use owners::shape;
pub use owners::{NameKind, NameOwners, OwnedName};

/// Where the tools of a server run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerOrigin {
    /// In-process; tools keep their bare names and take precedence for new names.
    Builtin,
    Upstream,
}

/// How an exposed name is formed from server and tool name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamePattern {
    /// `{tool}`: for a single upstream, whose names are kept.
    PassThrough,
    Joined(JoinedPattern),
}

/// Invariant: contains `{tool}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinedPattern(Vec<NamePatternPiece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum NamePatternPiece {
    Text(String),
    Server,
    Tool,
}

/// Why a text is not a valid pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NamePatternError {
    #[error("the pattern needs `{{tool}}`, or all tools would have one name")]
    NoTool,
    #[error("the pattern has the unknown placeholder `{0}`; use `{{server}}` and `{{tool}}`")]
    Placeholder(String),
    #[error("the pattern has the character {0:?}; use letters, digits and `_`")]
    Character(char),
    #[error("the pattern must start with a letter or a placeholder")]
    Start,
}

impl NamePattern {
    pub fn parse(text: &str) -> Result<Self, NamePatternError> {
        if text == "{tool}" {
            return Ok(Self::PassThrough);
        }
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = piece(rest)?;
            pieces.push(piece);
            rest = after;
        }
        if !pieces.contains(&NamePatternPiece::Tool) {
            return Err(NamePatternError::NoTool);
        }
        match pieces.first() {
            Some(NamePatternPiece::Text(text))
                if !text.starts_with(|c: char| c.is_ascii_alphabetic()) =>
            {
                Err(NamePatternError::Start)
            }
            _ => Ok(Self::Joined(JoinedPattern(pieces))),
        }
    }
}

impl NamePattern {
    /// What the exposed names of a server's tools begin with. `None`: the pattern does not put the
    /// server before the tool.
    pub fn prefix(&self, server: &ServerId) -> Option<String> {
        let Self::Joined(JoinedPattern(pieces)) = self else { return None };
        let before = pieces.iter().take_while(|piece| **piece != NamePatternPiece::Tool);
        before.clone().any(|piece| *piece == NamePatternPiece::Server).then(|| {
            let text = before.map(|piece| match piece {
                NamePatternPiece::Text(text) => text,
                NamePatternPiece::Server | NamePatternPiece::Tool => server.as_str(),
            });
            text.collect::<String>().nfkc().map(fold).collect()
        })
    }
}

impl Default for NamePattern {
    /// `{server}_{tool}`
    fn default() -> Self {
        Self::Joined(JoinedPattern(vec![
            NamePatternPiece::Server,
            NamePatternPiece::Text("_".to_owned()),
            NamePatternPiece::Tool,
        ]))
    }
}

fn piece(rest: &str) -> Result<(NamePatternPiece, &str), NamePatternError> {
    if let Some(inside) = rest.strip_prefix('{') {
        let (name, after) =
            inside.split_once('}').ok_or_else(|| NamePatternError::Placeholder(rest.to_owned()))?;
        return match name {
            "server" => Ok((NamePatternPiece::Server, after)),
            "tool" => Ok((NamePatternPiece::Tool, after)),
            _ => Err(NamePatternError::Placeholder(format!("{{{name}}}"))),
        };
    }
    let (text, after) = rest.split_at(rest.find('{').unwrap_or(rest.len()));
    match text.chars().find(|c| !c.is_ascii_alphanumeric() && *c != '_') {
        Some(found) => Err(NamePatternError::Character(found)),
        None => Ok((NamePatternPiece::Text(text.to_owned()), after)),
    }
}

/// The name under which models see a tool. Deterministic. Two inputs may give the same name, which
/// [`NameOwners`] then denies to the second.
pub fn expose(
    pattern: &NamePattern,
    origin: ServerOrigin,
    server: &ServerId,
    tool: &ToolName,
) -> ExposedName {
    let joined = match (origin, pattern) {
        (ServerOrigin::Builtin, _) => tool.as_str().to_owned(),
        (ServerOrigin::Upstream, NamePattern::PassThrough) => {
            if let Ok(name) = ExposedName::passed_through(tool.as_str()) {
                return name;
            }
            tool.as_str().to_owned()
        }
        (ServerOrigin::Upstream, NamePattern::Joined(JoinedPattern(pieces))) => pieces
            .iter()
            .map(|piece| match piece {
                NamePatternPiece::Text(text) => text,
                NamePatternPiece::Server => server.as_str(),
                NamePatternPiece::Tool => tool.as_str(),
            })
            .collect(),
    };
    // NFKC, so that different encodings of a letter give one name.
    let mut name: String = joined.nfkc().map(fold).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert_str(0, "t_");
    }
    if name.len() > ExposedName::MAX {
        name.truncate(ExposedName::MAX - 9);
        name.push_str(&mark(server, tool));
    }
    ExposedName::parse(&name).expect("folded to letters, digits and `_`, with a letter first")
}

/// A suffix that distinguishes long names with a common prefix.
fn mark(server: &ServerId, tool: &ToolName) -> String {
    let sum = digest::DigestBuilder::default().with(server.as_str()).with([0]).with(tool.as_str());
    format!("_{}", digest::hex(&sum.finish()[..4]))
}

/// The ASCII letter that a character is or resembles, else `_`.
fn fold(c: char) -> char {
    confusables::latin(c).filter(|c| c.is_ascii_alphanumeric() || *c == '_').unwrap_or('_')
}

#[cfg(test)]
mod tests;
