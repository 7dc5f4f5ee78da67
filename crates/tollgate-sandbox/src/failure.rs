//! How failures are put into words that a model reads.

use crate::frames::{Failed, Kind};

/// Characters of a message or a hint.
const LONGEST: usize = 2000;
/// And of the program's line in question.
const LONGEST_LINE: usize = 300;

pub(crate) fn failed(kind: Kind, message: String) -> Failed {
    Failed { kind, message, line: None, column: None, text: None, hint: None }
}

pub(crate) fn hinted(kind: Kind, message: String, hint: &str) -> Failed {
    Failed { hint: Some(hint.to_owned()), ..failed(kind, message) }
}

pub(crate) fn out_of_time(what: &str) -> Failed {
    let hint = "do less in one program; run calls side by side with `parallel([...])`";
    hinted(Kind::Time, format!("the program took {what}"), hint)
}

/// As long as it is read with patience.
pub(crate) fn shortened(failed: Failed) -> Failed {
    Failed {
        message: cut(failed.message, LONGEST),
        text: failed.text.map(|text| cut(text, LONGEST_LINE)),
        hint: failed.hint.map(|hint| cut(hint, LONGEST)),
        ..failed
    }
}

fn cut(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
