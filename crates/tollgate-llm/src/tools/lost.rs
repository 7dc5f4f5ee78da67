//! What a definition says that the form it is written in cannot say.

use std::fmt;

/// One thing that another form has no words for, or has other words for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// JSON pointer into the definition as it came.
    pub at: String,
    pub kind: Kind,
    /// For people.
    pub what: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Something has another name there. Arguments are given their own names back.
    Renamed,
    /// Something that arguments must keep to is in the description only.
    Limit,
    /// Something that says nothing about arguments is left out.
    Field,
}

impl Kind {
    /// Stable, for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Renamed => "renamed",
            Self::Limit => "limit",
            Self::Field => "field",
        }
    }
}

impl Lost {
    pub(super) fn new(kind: Kind, at: impl Into<String>, what: impl Into<String>) -> Self {
        Self { at: at.into(), kind, what: what.into() }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.what)
    }
}

/// A step further into a document.
pub(super) fn step(at: &str, key: &str) -> String {
    format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"))
}
