//! Validated names: servers, tools, exposed names, agents. Names are joined in `names`, and never
//! split again.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use crate::text::truncate_chars;

/// Why a text is not a valid name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidNameError {
    #[error("a name must not be empty")]
    Empty,
    #[error("`{name}` is longer than {limit} characters")]
    TooLong { name: String, limit: usize },
    #[error("`{name}` has the character {found:?}; {allowed}")]
    Character { name: String, found: char, allowed: &'static str },
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $type(Arc<str>);

        impl $type {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
    };
}

name!(
    /// A server's name in the config. Never the name that the server reports.
    ServerId
);
name!(
    /// A tool's or prompt's name as its server reports it: any text, kept byte for byte.
    ToolName
);
name!(
    /// The provider-safe name under which models see a tool.
    ExposedName
);
name!(
    /// An agent's name in the config.
    AgentId
);

const ID_CHARACTERS: &str = "use letters, digits, `_` and `-`, with a letter first";

impl ServerId {
    pub fn parse(text: &str) -> Result<Self, InvalidNameError> {
        identifier(text).map(Self)
    }
}

impl AgentId {
    pub fn parse(text: &str) -> Result<Self, InvalidNameError> {
        identifier(text).map(Self)
    }
}

impl ToolName {
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }
}

impl ExposedName {
    pub const MAX: usize = 64;

    /// `[a-zA-Z][a-zA-Z0-9_]{0,63}`: accepted by every model provider.
    pub fn parse(text: &str) -> Result<Self, InvalidNameError> {
        let allowed = "use letters, digits and `_`, with a letter first";
        validate_name(text, Self::MAX, allowed, |c| c.is_ascii_alphanumeric() || c == '_')?;
        match text.chars().next() {
            Some(first) if !first.is_ascii_alphabetic() => {
                Err(InvalidNameError::Character { name: text.to_owned(), found: first, allowed })
            }
            _ => Ok(Self(text.into())),
        }
    }

    /// A name passed through from the only upstream: also allows `.`, `-` and `/`, in any position,
    /// and up to 128 characters, which is MCP's rule for tool names.
    pub fn passed_through(text: &str) -> Result<Self, InvalidNameError> {
        let allowed = "MCP allows letters, digits, `_`, `-`, `.` and `/`";
        validate_name(text, 128, allowed, |c| c.is_ascii_alphanumeric() || "_-./".contains(c))?;
        Ok(Self(text.into()))
    }
}

/// Hashes and compares as its text, so that maps can be queried with a `&str`.
impl Borrow<str> for ExposedName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// One tool of one server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolId {
    pub server: ServerId,
    pub tool: ToolName,
}

impl fmt::Display for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.server, self.tool)
    }
}

fn identifier(text: &str) -> Result<Arc<str>, InvalidNameError> {
    validate_name(text, 64, ID_CHARACTERS, |c| c.is_ascii_alphanumeric() || c == '_' || c == '-')?;
    match text.chars().next() {
        Some(first) if !first.is_ascii_alphabetic() => Err(InvalidNameError::Character {
            name: text.to_owned(),
            found: first,
            allowed: ID_CHARACTERS,
        }),
        _ => Ok(text.into()),
    }
}

fn validate_name(
    text: &str,
    limit: usize,
    allowed: &'static str,
    fits: impl Fn(char) -> bool,
) -> Result<(), InvalidNameError> {
    if text.is_empty() {
        return Err(InvalidNameError::Empty);
    }
    if text.len() > limit {
        return Err(InvalidNameError::TooLong { name: truncate_chars(text, 40), limit });
    }
    match text.chars().find(|c| !fits(*c)) {
        Some(found) => Err(InvalidNameError::Character { name: text.to_owned(), found, allowed }),
        None => Ok(()),
    }
}
