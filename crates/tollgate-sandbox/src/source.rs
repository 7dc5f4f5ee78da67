//! Checks the source of a program before a worker gets it: small, plain text, and not nested so
//! deeply that the interpreter's parser overflows its stack.
//!
//! Pure. Errors in the language itself are reported by the worker.

use crate::failure::{program_error_with_hint, truncate_texts};
use crate::frames::{ProgramError, ProgramErrorKind};
use crate::limits::Limits;

mod lexer;
mod nesting;

use nesting::{DepthCause, NestingProblem};

/// Accepts any input; a program that passes may still be invalid.
pub fn check(source: &str, limits: &Limits) -> Result<(), ProgramError> {
    if source.len() > limits.source_bytes {
        let message =
            format!("the program has {} bytes; the limit is {}", source.len(), limits.source_bytes);
        let hint = "split it into several programs, and fetch data with tools instead of writing \
                    it out";
        return Err(program_error_with_hint(ProgramErrorKind::Syntax, message, hint));
    }
    if let Some((at, character)) = forbidden(source) {
        let message = format!("a program cannot have the character {}", describe_char(character));
        return Err(error_at(source, at, ProgramErrorKind::Syntax, message, hint_for(character)));
    }
    match nesting::look(source, limits.nesting) {
        Ok(()) => Ok(()),
        Err((at, NestingProblem::Tab)) => {
            let message = "there is a tab outside of a string".to_owned();
            Err(error_at(source, at, ProgramErrorKind::Syntax, message, "indent with four spaces"))
        }
        Err((at, NestingProblem::Odd(character))) => {
            let message = format!("unexpected character {}", describe_char(character));
            Err(error_at(source, at, ProgramErrorKind::Syntax, message, hint_for(character)))
        }
        Err((at, NestingProblem::TooDeep(deep))) => {
            let (message, hint) = too_deep(deep, limits.nesting);
            Err(error_at(source, at, ProgramErrorKind::Depth, message, hint))
        }
    }
}

/// Control characters: never intended, and interpreted differently by readers. A carriage return is
/// allowed only before a line feed.
fn forbidden(source: &str) -> Option<(usize, char)> {
    let mut characters = source.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let fine = match character {
            '\n' | '\t' => true,
            '\r' => characters.peek().is_some_and(|(_, next)| *next == '\n'),
            '\u{feff}' => false,
            other => !other.is_control(),
        };
        if !fine {
            return Some((at, character));
        }
    }
    None
}

fn describe_char(character: char) -> String {
    if character.is_control() || character.is_whitespace() || character == '\u{feff}' {
        format!("U+{:04X}", u32::from(character))
    } else {
        format!("`{character}`")
    }
}

fn hint_for(character: char) -> &'static str {
    match character {
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{2018}' | '\u{2019}' | '\u{ab}' | '\u{bb}' => {
            "write straight quotes: \" or '"
        }
        '\u{2013}' | '\u{2014}' | '\u{2212}' => "write a plain minus: -",
        '\u{feff}' => "take it out",
        '\r' => "end lines with a line feed",
        other if other.is_whitespace() && !other.is_control() => "write a plain space",
        other if other.is_control() => "write it in a string as an escape, such as \\n or \\x1b",
        _ => "names have ASCII letters, digits and `_`; other text belongs in quotes",
    }
}

/// The message and the hint.
fn too_deep(deep: DepthCause, most: usize) -> (String, &'static str) {
    match deep {
        DepthCause::Brackets => (
            format!("brackets are nested too deeply (the limit is {most})"),
            "build the value in steps, with a name for each part",
        ),
        DepthCause::Operators => (
            format!("one expression has too many operators (the limit is {most})"),
            "give its parts names; to put text together write \"\".join([...])",
        ),
        DepthCause::Blocks => (
            format!("blocks are nested too deeply (the limit is {most})"),
            "move the inner ones into a function (`def`)",
        ),
        DepthCause::Branches => (
            format!("one `if` has too many `elif` (the limit is {most})"),
            "look the answer up in a dict",
        ),
    }
}

fn error_at(
    source: &str,
    at: usize,
    kind: ProgramErrorKind,
    message: String,
    hint: &str,
) -> ProgramError {
    let before = &source[..at];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    let column = source[start..at].chars().count() + 1;
    let text = source[start..].lines().next().unwrap_or_default();
    truncate_texts(ProgramError {
        line: u32::try_from(line).ok(),
        column: u32::try_from(column).ok(),
        text: Some(text.to_owned()),
        ..program_error_with_hint(kind, message, hint)
    })
}

#[cfg(test)]
mod tests;
