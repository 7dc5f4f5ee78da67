//! What a model is told of its program: what it printed, its `result`, or why it failed. Nothing
//! of what its calls brought goes by any other way.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::value::RawValue;
use tollgate_core::call::{CallStatus, Outcome, Retryability};
use tollgate_core::rate::whole_seconds;
use tollgate_core::shaping;
use tollgate_sandbox::frames::{ProgramError, ProgramErrorKind};
use tollgate_sandbox::sandbox::{ProgramOutcome, SandboxUnavailableError};

use super::ProgramNotRunError;
use crate::answer;

/// The text of the tool's result, and whether it is one of an error.
pub(super) enum ProgramReport {
    Well(String),
    Failed(String),
}

pub(super) fn report(ended: &ProgramOutcome) -> ProgramReport {
    match &ended.result {
        Ok(result) => ProgramReport::Well(well(&ended.prints, result.as_deref())),
        Err(failed) => ProgramReport::Failed(failure(ended, failed)),
    }
}

/// What the audit trail is told of a program that was run by hand.
pub(super) fn outcome(ran: &Result<ProgramOutcome, ProgramNotRunError>) -> Outcome {
    match ran {
        Ok(ended) => match report(ended) {
            ProgramReport::Well(text) => shaping::gateway_answer(&text),
            ProgramReport::Failed(text) => shaping::failure(CallStatus::Error, &text, ended.took),
        },
        Err(ProgramNotRunError::Exceeded(exceeded)) => answer::limit_exceeded_outcome(exceeded),
        Err(ProgramNotRunError::Revoked(why)) => {
            shaping::failure(CallStatus::Denied, &why.to_string(), Duration::ZERO)
        }
        Err(ProgramNotRunError::Unavailable(why)) => {
            let outcome = shaping::failure(CallStatus::Offline, &why.to_string(), Duration::ZERO);
            match why {
                SandboxUnavailableError::Busy { .. }
                | SandboxUnavailableError::OwnerBusy { .. } => {
                    Outcome { retry: retry_when_free(), ..outcome }
                }
                SandboxUnavailableError::Broken(_)
                | SandboxUnavailableError::NotReady
                | SandboxUnavailableError::NotTaken
                | SandboxUnavailableError::Shut
                | SandboxUnavailableError::TooManyNames(_) => outcome,
            }
        }
    }
}

fn retry_when_free() -> Retryability {
    let after = SandboxUnavailableError::RETRY_AFTER;
    let hint = Some(format!("try again in {} s", whole_seconds(after)));
    Retryability::Sensible { hint, after: Some(after) }
}

fn well(prints: &str, result: Option<&RawValue>) -> String {
    let prints = prints.trim_end();
    let result = result.map(RawValue::get).filter(|text| *text != "null");
    match (prints.is_empty(), result) {
        (true, None) => "done; it printed nothing and set no `result`".to_owned(),
        (true, Some(result)) => result.to_owned(),
        (false, None) => prints.to_owned(),
        (false, Some(result)) => format!("{prints}\nresult = {result}"),
    }
}

fn failure(ended: &ProgramOutcome, failed: &ProgramError) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = match what(failed.kind) {
        Some(what) => write!(text, "{what}: {}", failed.message),
        None => write!(text, "{}", failed.message),
    };
    if let Some(line) = failed.line {
        let _ = write!(text, "\nline {line}");
        if let Some(source) = failed.text.as_deref().map(str::trim) {
            let _ = write!(text, ": {source}");
        }
    }
    if let Some(hint) = &failed.hint {
        let _ = write!(text, "\nhint: {hint}");
    }
    if ended.calls > 0 {
        let calls = if ended.calls == 1 { "call was" } else { "calls were" };
        let _ = write!(text, "\n{} {calls} made before; nothing is undone", ended.calls);
    }
    let prints = ended.prints.trim_end();
    if !prints.is_empty() {
        let _ = write!(text, "\nprinted before:\n{prints}");
    }
    text
}

/// `None`: the message says it.
fn what(kind: ProgramErrorKind) -> Option<&'static str> {
    Some(match kind {
        ProgramErrorKind::Tool => return None,
        ProgramErrorKind::Syntax => "the program has a syntax error",
        ProgramErrorKind::Runtime => "the program failed",
        ProgramErrorKind::Steps => "the program took too many steps",
        ProgramErrorKind::Memory => "the program took too much memory",
        ProgramErrorKind::Depth => "the program is nested too deeply",
        ProgramErrorKind::Calls => "the program made too many calls",
        ProgramErrorKind::Output => "the program printed too much",
        ProgramErrorKind::Time => "the program took too long",
    })
}

#[cfg(test)]
mod tests;
