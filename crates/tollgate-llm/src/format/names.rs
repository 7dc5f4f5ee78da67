//! Tool name rules of each dialect: readers validate clients' tool names against them, and the
//! gateway's own names are made to fit.

use std::collections::HashSet;

use tollgate_core::text::truncate_chars;

use crate::conversation::ChatTool;
use crate::dialect::Dialect;
use crate::error::{LlmError, MAX_QUOTED_CHARS};

/// Rule for valid names.
#[derive(Debug, Clone, Copy)]
pub struct NameRule {
    /// Maximum number of characters.
    pub most: usize,
    pub first: fn(char) -> bool,
    pub then: fn(char) -> bool,
    /// Description of the allowed characters, for error messages.
    pub letters: &'static str,
}

/// The rule of a dialect's official API. Some compatible servers only accept
/// [`MAX_SAFE_NAME_CHARS`].
pub fn rule(dialect: Dialect) -> NameRule {
    let plain = NameRule {
        most: MAX_SAFE_NAME_CHARS,
        first: is_plain,
        then: is_plain,
        letters: PLAIN_NAME_CHARS,
    };
    match dialect {
        Dialect::OpenAiChat | Dialect::OpenAiResponses => plain,
        Dialect::Anthropic => NameRule { most: 128, ..plain },
        Dialect::Gemini => {
            NameRule { most: 128, first: is_letter, then: is_dotted, letters: DOTTED_NAME_CHARS }
        }
    }
}

/// Name length accepted by every server: the gateway offers no longer names.
pub const MAX_SAFE_NAME_CHARS: usize = 64;

const PLAIN_NAME_CHARS: &str = "letters, digits, _ -";
const DOTTED_NAME_CHARS: &str = "letters, digits, _ - . :, and a letter or _ first";

/// Rejects names that a provider of this dialect would reject, and duplicates.
pub fn check(tools: &[ChatTool], dialect: Dialect) -> Result<(), LlmError> {
    let places: Vec<String> = (0..tools.len()).map(|index| format!("tools[{index}]")).collect();
    check_at(tools, &places, dialect)
}

/// For dialects in which tools are nested: `places` has the location of each tool.
pub fn check_at(tools: &[ChatTool], places: &[String], dialect: Dialect) -> Result<(), LlmError> {
    let rule = rule(dialect);
    let mut seen = HashSet::new();
    for (tool, at) in tools.iter().zip(places) {
        let ChatTool::Function(function) = tool else { continue };
        let name = function.name.as_str();
        if let Some(wrong) = rule.complaint(name) {
            return Err(LlmError::invalid(at, format!("the name of `{at}` {wrong}")));
        }
        if !seen.insert(name) {
            let message =
                format!("`{at}` is called `{name}` like a tool before it; names are unique");
            return Err(LlmError::invalid(at, message));
        }
    }
    Ok(())
}

impl NameRule {
    pub fn fits(self, name: &str) -> bool {
        self.complaint(name).is_none()
    }

    fn complaint(self, name: &str) -> Option<String> {
        let shown = truncate_chars(name, MAX_QUOTED_CHARS);
        let long = name.chars().count();
        if name.is_empty() {
            Some("is empty".to_owned())
        } else if let Some(mark) = self.invalid_char(name) {
            let letters = self.letters;
            Some(format!("is `{shown}`, and {mark:?} is not allowed there: {letters}"))
        } else if long > self.most {
            Some(format!("is `{shown}`, {long} characters; at most {} are allowed", self.most))
        } else {
            None
        }
    }

    /// The first character that is not allowed in its position.
    fn invalid_char(self, name: &str) -> Option<char> {
        let mut letters = name.chars();
        let first = letters.next().filter(|letter| !(self.first)(*letter));
        first.or_else(|| letters.find(|letter| !(self.then)(*letter)))
    }
}

pub fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

pub fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_plain(c: char) -> bool {
    is_word(c) || c == '-'
}

/// Characters in argument names, where a dot is allowed too.
pub fn is_key(c: char) -> bool {
    is_plain(c) || c == '.'
}

fn is_dotted(c: char) -> bool {
    is_key(c) || c == ':'
}

#[cfg(test)]
mod tests;
