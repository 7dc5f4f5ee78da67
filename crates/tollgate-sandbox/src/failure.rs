//! Error messages of programs, worded for models.

use crate::frames::{ProgramError, ProgramErrorKind};

/// Characters of a message or a hint.
const MAX_MESSAGE_CHARS: usize = 2000;
/// Characters of the failing source line.
const MAX_LINE_CHARS: usize = 300;

pub(crate) fn program_error(kind: ProgramErrorKind, message: String) -> ProgramError {
    ProgramError { kind, message, line: None, column: None, text: None, hint: None }
}

pub(crate) fn program_error_with_hint(
    kind: ProgramErrorKind,
    message: String,
    hint: &str,
) -> ProgramError {
    ProgramError { hint: Some(hint.to_owned()), ..program_error(kind, message) }
}

pub(crate) fn out_of_time(what: &str) -> ProgramError {
    let hint = "do less in one program; run calls concurrently with `parallel([...])`";
    program_error_with_hint(ProgramErrorKind::Time, format!("the program took {what}"), hint)
}

/// Truncates all texts to a readable length.
pub(crate) fn truncate_texts(failed: ProgramError) -> ProgramError {
    ProgramError {
        message: cut(failed.message, MAX_MESSAGE_CHARS),
        text: failed.text.map(|text| cut(text, MAX_LINE_CHARS)),
        hint: failed.hint.map(|hint| cut(hint, MAX_MESSAGE_CHARS)),
        ..failed
    }
}

fn cut(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
