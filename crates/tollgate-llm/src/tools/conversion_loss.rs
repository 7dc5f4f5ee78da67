//! What a definition says that the form it is written in cannot say.

use std::fmt;

/// One thing that another form has no words for, or has other words for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversionLoss {
    /// JSON pointer into the definition as it came.
    pub at: String,
    pub kind: ConversionLossKind,
    /// For people.
    pub what: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConversionLossKind {
    /// Something has another name there. Arguments are given their own names back.
    Renamed,
    /// Something that arguments must keep to is in the description only.
    Limit,
    /// Something that says nothing about arguments is left out.
    Field,
}

impl ConversionLossKind {
    /// Stable, for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Renamed => "renamed",
            Self::Limit => "limit",
            Self::Field => "field",
        }
    }
}

impl ConversionLoss {
    pub(super) fn new(
        kind: ConversionLossKind,
        at: impl Into<String>,
        what: impl Into<String>,
    ) -> Self {
        Self { at: at.into(), kind, what: what.into() }
    }
}

impl fmt::Display for ConversionLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.what)
    }
}

/// A step further into a document.
pub(super) fn step(at: &str, key: &str) -> String {
    format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"))
}
