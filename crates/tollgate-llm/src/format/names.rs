//! Which names a dialect takes for tools: every reader holds those of clients against it, and the
//! gateway's own are made to fit.

use std::collections::HashSet;

use tollgate_core::text::truncate_chars;

use crate::conversation::ChatTool;
use crate::dialect::Dialect;
use crate::error::{LlmError, MAX_QUOTED_CHARS};

/// What is taken for a name.
#[derive(Debug, Clone, Copy)]
pub struct NameRule {
    /// Characters.
    pub most: usize,
    pub first: fn(char) -> bool,
    pub then: fn(char) -> bool,
    /// The same in words.
    pub letters: &'static str,
}

/// What the API of a dialect takes. Some who serve it elsewhere still take [`MAX_SAFE_NAME_CHARS`] only.
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

/// Characters of a name that everybody takes: what the gateway offers has no more.
pub const MAX_SAFE_NAME_CHARS: usize = 64;

const PLAIN_NAME_CHARS: &str = "letters, digits, _ -";
const DOTTED_NAME_CHARS: &str = "letters, digits, _ - . :, and a letter or _ first";

/// Names that a provider of this dialect would refuse, and names that stand twice.
pub fn check(tools: &[ChatTool], dialect: Dialect) -> Result<(), LlmError> {
    let places: Vec<String> = (0..tools.len()).map(|index| format!("tools[{index}]")).collect();
    check_at(tools, &places, dialect)
}

/// For dialects in which tools stand deeper: `places` has one for each.
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

    /// The first letter that may not stand where it does.
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

/// Letters in the names of arguments, where a dot is taken too.
pub fn is_key(c: char) -> bool {
    is_plain(c) || c == '.'
}

fn is_dotted(c: char) -> bool {
    is_key(c) || c == ':'
}

#[cfg(test)]
mod tests;
