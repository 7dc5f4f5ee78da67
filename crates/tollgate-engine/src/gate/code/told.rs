//! What a model is told of its program: what it printed, its `result`, or why it failed. Nothing
//! of what its calls brought goes by any other way.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::value::RawValue;
use tollgate_core::call::{Outcome, Status};
use tollgate_core::shaping;
use tollgate_sandbox::frames::{Failed, Kind};
use tollgate_sandbox::sandbox::Ended;

use super::NotRun;
use crate::answer;

/// The text of the tool's result, and whether it is one of an error.
pub(super) enum Told {
    Well(String),
    Failed(String),
}

pub(super) fn told(ended: &Ended) -> Told {
    match &ended.result {
        Ok(result) => Told::Well(well(&ended.prints, result.as_deref())),
        Err(failed) => Told::Failed(failure(ended, failed)),
    }
}

/// What the audit trail is told of a program that was run by hand.
pub(super) fn outcome(ran: &Result<Ended, NotRun>) -> Outcome {
    match ran {
        Ok(ended) => match told(ended) {
            Told::Well(text) => shaping::stated(&text),
            Told::Failed(text) => shaping::failure(Status::Error, &text, ended.took),
        },
        Err(NotRun::Exceeded(exceeded)) => answer::exceeded(exceeded),
        Err(NotRun::Revoked(why)) => {
            shaping::failure(Status::Denied, &why.to_string(), Duration::ZERO)
        }
        Err(NotRun::Unavailable(why)) => {
            shaping::failure(Status::Offline, &why.to_string(), Duration::ZERO)
        }
    }
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

fn failure(ended: &Ended, failed: &Failed) -> String {
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
fn what(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Tool => return None,
        Kind::Syntax => "the program cannot be read",
        Kind::Runtime => "the program failed",
        Kind::Steps => "the program took too many steps",
        Kind::Memory => "the program took too much memory",
        Kind::Depth => "the program is nested too deeply",
        Kind::Calls => "the program made too many calls",
        Kind::Output => "the program said too much",
        Kind::Time => "the program took too long",
    })
}

#[cfg(test)]
mod tests;
