//! Table of the tool definition formats and their properties. A new format is a variant and its
//! lines in these tables.

use std::fmt;

use tollgate_core::nearest::nearest;
use tollgate_core::text::truncate_chars;

use crate::dialect::Dialect;
use crate::format::names::{self, MAX_SAFE_NAME_CHARS, NameRule, is_key, is_letter, is_word};

/// Format of a tool definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ToolFormat {
    /// As MCP servers list them.
    Mcp,
    /// Chat Completions, and compatible servers.
    OpenAi,
    OpenAiResponses,
    Anthropic,
    /// `generateContent`.
    Gemini,
    OpenAiRealtime,
    /// `BidiGenerateContent`.
    GeminiLive,
}

/// An unknown format name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown format `{given}`; {hint}")]
pub struct UnknownToolFormatError {
    given: String,
    hint: String,
}

impl ToolFormat {
    pub const ALL: [Self; 7] = [
        Self::Mcp,
        Self::OpenAi,
        Self::OpenAiResponses,
        Self::Anthropic,
        Self::Gemini,
        Self::OpenAiRealtime,
        Self::GeminiLive,
    ];

    /// Name for users and URLs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::OpenAi => "openai",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::OpenAiRealtime => "openai-realtime",
            Self::GeminiLive => "gemini-live",
        }
    }

    pub fn parse(text: &str) -> Result<Self, UnknownToolFormatError> {
        let known = || Self::ALL.into_iter().map(Self::as_str);
        Self::ALL.into_iter().find(|form| form.as_str() == text).ok_or_else(|| {
            let hint = match nearest(text, known()).first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    format!("the known ones are `{}`", known().collect::<Vec<_>>().join("`, `"))
                }
            };
            UnknownToolFormatError { given: truncate_chars(text, 40), hint }
        })
    }

    /// Rule for tool names: accepted by every server of the dialect.
    pub(super) fn names(self) -> NameRule {
        let dialect = match self {
            // MCP recommends at most 128; longer names are left to its clients.
            Self::Mcp => return ANY_NAME,
            Self::OpenAi | Self::OpenAiRealtime => Dialect::OpenAiChat,
            Self::OpenAiResponses => Dialect::OpenAiResponses,
            Self::Anthropic => Dialect::Anthropic,
            Self::Gemini | Self::GeminiLive => Dialect::Gemini,
        };
        NameRule { most: MAX_SAFE_NAME_CHARS, ..names::rule(dialect) }
    }

    /// Rule for argument names.
    pub(super) fn keys(self) -> NameRule {
        match self {
            Self::Mcp | Self::OpenAi | Self::OpenAiResponses | Self::OpenAiRealtime => ANY_NAME,
            Self::Anthropic => NameRule {
                most: 64,
                first: is_key,
                then: is_key,
                letters: "letters, digits, _ - .",
            },
            Self::Gemini | Self::GeminiLive => NameRule {
                most: 64,
                first: is_letter,
                then: is_word,
                letters: "letters, digits, _",
            },
        }
    }
}

impl fmt::Display for ToolFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<Dialect> for ToolFormat {
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::OpenAiChat => Self::OpenAi,
            Dialect::OpenAiResponses => Self::OpenAiResponses,
            Dialect::Anthropic => Self::Anthropic,
            Dialect::Gemini => Self::Gemini,
        }
    }
}

const ANY_NAME: NameRule =
    NameRule { most: usize::MAX, first: is_anything, then: is_anything, letters: "anything" };

fn is_anything(_: char) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::ToolFormat;

    #[test]
    fn forms_are_known_by_their_names_and_guessed_from_near_ones() {
        for form in ToolFormat::ALL {
            assert_eq!(ToolFormat::parse(form.as_str()), Ok(form));
        }
        for (given, expected) in [
            ("Gemini_Live", "unknown format `Gemini_Live`; did you mean `gemini-live`?"),
            ("antropic", "unknown format `antropic`; did you mean `anthropic`?"),
        ] {
            assert_eq!(ToolFormat::parse(given).unwrap_err().to_string(), expected);
        }
        let message = ToolFormat::parse(&"x".repeat(10_000)).unwrap_err().to_string();
        assert!(
            message.len() < 250 && message.contains("the known ones are `mcp`, `openai`"),
            "{message}"
        );
    }
}
