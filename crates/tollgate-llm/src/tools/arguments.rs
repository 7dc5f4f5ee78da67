//! Parses the arguments that a model wrote.
//!
//! Unambiguous input is accepted, however it is wrapped; anything else becomes an error that tells
//! the model where it is wrong and what to send. Nothing is guessed: a tool must not run with
//! arguments that were not intended.

use serde_json::{Map, Value};
use tollgate_core::json::{self, MalformedJsonError};
use tollgate_core::text::truncate_chars;

/// Size limit of one call's arguments.
pub const MAX_BYTES: usize = 1 << 20;
/// Characters quoted before and after a mistake.
const CONTEXT_CHARS: usize = 24;

/// Invalid or ambiguous arguments. The message is for the model that wrote them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentsError {
    #[error(
        "the arguments have {size} bytes; the limit is {MAX_BYTES}; send less, or split it into \
         several calls"
    )]
    TooLong { size: usize },
    #[error("the arguments are not valid JSON: {problem}; send one JSON object")]
    Syntax { problem: String },
    #[error(
        "duplicate key `{}` in the arguments; send one JSON object with each key once",
        truncate_chars(.key, 80)
    )]
    Twice { key: String },
    #[error("the arguments are {found}; send one JSON object, such as {{\"name\": \"value\"}}")]
    NotAnObject { found: &'static str },
}

/// Empty arguments count as `{}`.
pub fn parse(text: &str) -> Result<Map<String, Value>, ArgumentsError> {
    if text.len() > MAX_BYTES {
        return Err(ArgumentsError::TooLong { size: text.len() });
    }
    let inside = strip_code_fence(text.trim());
    if inside.is_empty() {
        return Ok(Map::new());
    }
    match read(inside)? {
        Value::Object(arguments) => Ok(arguments),
        Value::Null => Ok(Map::new()),
        // Double-encoded: there is only one way to read it.
        Value::String(again) => match json::value(again.trim()) {
            Ok(Value::Object(arguments)) => Ok(arguments),
            _ => Err(ArgumentsError::NotAnObject { found: "a text" }),
        },
        Value::Array(_) => Err(ArgumentsError::NotAnObject { found: "a list" }),
        Value::Number(_) => Err(ArgumentsError::NotAnObject { found: "a number" }),
        Value::Bool(_) => Err(ArgumentsError::NotAnObject { found: "true or false" }),
    }
}

fn read(text: &str) -> Result<Value, ArgumentsError> {
    let malformed = match json::value(text) {
        Ok(value) => return Ok(value),
        Err(malformed) => malformed,
    };
    if let Some(shorter) = without_last_commas(text)
        && let Ok(value) = json::value(&shorter)
    {
        return Ok(value);
    }
    Err(match malformed {
        MalformedJsonError::Duplicate { key } => ArgumentsError::Twice { key },
        MalformedJsonError::Syntax(problem) | MalformedJsonError::NotThis(problem) => {
            ArgumentsError::Syntax { problem: locate_problem(text, &problem) }
        }
        MalformedJsonError::NotUtf8 { .. } | MalformedJsonError::OutOfBounds(_) => {
            ArgumentsError::Syntax { problem: malformed.to_string() }
        }
    })
}

/// Content of a code fence that encloses the whole text.
fn strip_code_fence(text: &str) -> &str {
    let Some(inside) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else {
        return text;
    };
    let inside = inside.trim();
    let inside = inside.strip_prefix("json").or(inside.strip_prefix("JSON")).unwrap_or(inside);
    inside.trim()
}

/// Removes trailing commas before a closing bracket; `None` if there are none.
fn without_last_commas(text: &str) -> Option<String> {
    let mut kept = String::with_capacity(text.len());
    let mut in_string = false;
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        let closes = || text[at + 1..].trim_start().starts_with(['}', ']']);
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if in_string => is_escaped = true,
            '"' => in_string = !in_string,
            // A comma after an opening bracket or another comma is a different mistake.
            ',' if !in_string && closes() && !kept.trim_end().ends_with(['{', '[', ',']) => {
                continue;
            }
            _ => {}
        }
        kept.push(c);
    }
    (kept.len() < text.len()).then_some(kept)
}

/// The parser's message with the location in the text.
fn locate_problem(text: &str, problem: &str) -> String {
    if problem.starts_with("recursion limit exceeded") {
        return "nested deeper than 128 levels".to_owned();
    }
    let Some(at) = offset(text, problem) else { return truncate_chars(problem, 200) };
    let before =
        text[..at].char_indices().rev().nth(CONTEXT_CHARS - 1).map_or(0, |(start, _)| start);
    let behind =
        text[at..].char_indices().nth(CONTEXT_CHARS).map_or(text.len(), |(end, _)| at + end);
    let place = format!("{}▸{}", &text[before..at], &text[at..behind]);
    format!("{}, at ▸ in `{place}`", truncate_chars(problem, 200))
}

/// Byte offset from `… at line 1 column 5`.
fn offset(text: &str, problem: &str) -> Option<usize> {
    let (_, place) = problem.rsplit_once(" at line ")?;
    let (line, column) = place.split_once(" column ")?;
    let line: usize = line.parse().ok()?;
    let column: usize = column.parse().ok()?;
    let start: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let at = (start + column.saturating_sub(1)).min(text.len());
    Some(text.floor_char_boundary(at))
}

#[cfg(test)]
mod tests;
