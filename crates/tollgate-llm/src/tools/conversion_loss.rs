//! Conversion losses: what a definition expresses that its target format cannot.

use std::fmt;

/// One loss: something that the target format cannot express, or expresses differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversionLoss {
    /// JSON pointer into the original definition.
    pub at: String,
    pub kind: ConversionLossKind,
    /// For people.
    pub what: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConversionLossKind {
    /// Something has another name in the target format. Arguments are mapped back.
    Renamed,
    /// A constraint on arguments is in the description only.
    Limit,
    /// A field that does not concern arguments was omitted.
    Field,
}

impl ConversionLossKind {
    /// Stable name for programs.
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

/// Appends a key to a JSON pointer.
pub(super) fn step(at: &str, key: &str) -> String {
    format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"))
}
