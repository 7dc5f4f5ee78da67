//! Joins names for the wire and remembers who owns which.
use crate::catalog::Origin;
use crate::id::ExposedName;
use crate::id::{ServerId, ToolId, ToolName};

/// How exposed names are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePattern(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadPattern(String);

impl NamePattern {
    pub fn parse(text: &str) -> Result<Self, BadPattern> {
        Ok(Self(text.to_owned()))
    }
}

impl Default for NamePattern {
    fn default() -> Self {
        Self("{server}_{tool}".to_owned())
    }
}

pub fn expose(
    _pattern: &NamePattern,
    _origin: Origin,
    server: &ServerId,
    tool: &ToolName,
) -> ExposedName {
    ExposedName::parse(&format!("{server}_{tool}")).expect("a valid name")
}

/// Tools and prompts have names apart from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Tool,
    Prompt,
}

/// One name and its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owned {
    pub kind: Kind,
    pub exposed: ExposedName,
    pub owner: ToolId,
}

/// Who owns which name.
#[derive(Debug, Clone, Default)]
pub struct Owners {
    owned: Vec<Owned>,
}

impl Owners {
    pub fn iter(&self) -> impl Iterator<Item = &Owned> {
        self.owned.iter()
    }
}

impl FromIterator<Owned> for Owners {
    fn from_iter<I: IntoIterator<Item = Owned>>(owned: I) -> Self {
        Self { owned: owned.into_iter().collect() }
    }
}
