//! Converts the failure of a program to the protocol's error: kind, message, line, hint. The hints
//! come from `hints`.

use std::borrow::Cow;
use std::fmt::Display;

use starlark::ErrorKind;
use starlark::codemap::FileSpan;
use starlark::eval::Evaluator;
use tollgate_sandbox::frames::{ProgramError, ProgramErrorKind};

use crate::hints::{self, HintContext, LESS};

/// File name of the program in positions; never displayed.
pub(crate) const FILE: &str = "program";

/// Characters of a source line in an error.
const LINE: usize = 200;
/// Characters of a message: a program can make its own arbitrarily long.
const MESSAGE: usize = 2000;

/// An error that we raise, not the interpreter.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ProgramStopError {
    pub(crate) kind: ProgramErrorKind,
    pub(crate) message: String,
    pub(crate) hint: Option<Cow<'static, str>>,
}

impl ProgramStopError {
    pub(crate) fn new(
        kind: ProgramErrorKind,
        message: impl Into<String>,
        hint: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { kind, message: message.into(), hint: Some(hint.into()) }
    }

    pub(crate) fn bare(kind: ProgramErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    pub(crate) fn tool(tool: &dyn Display, status: &str, message: &str) -> Self {
        Self::new(
            ProgramErrorKind::Tool,
            format!("`{tool}` failed ({status}): {message}"),
            "to continue after a failure: `outcome = try_call(server.tool, name=value)`, then look \
             at `outcome.ok`, `outcome.value` and `outcome.error`",
        )
    }

    pub(crate) fn memory(most: u64) -> Self {
        Self::new(
            ProgramErrorKind::Memory,
            format!("its values need more than {} MiB", most >> 20),
            LESS,
        )
    }
}

impl From<ProgramStopError> for starlark::Error {
    fn from(stop: ProgramStopError) -> Self {
        Self::new_native(stop)
    }
}

/// The program's current line, from 1. Skips frames of our own functions, which have no line.
pub(crate) fn line(eval: &Evaluator<'_, '_, '_>) -> u32 {
    let places = (0..eval.call_stack_count()).filter_map(|n| eval.call_stack_nth_location(n));
    let place = places.into_iter().find(is_of_program);
    place.map_or(1, |place| from_one(place.resolve_span().begin.line))
}

/// The phase in which a program failed.
#[derive(Clone, Copy)]
pub(crate) enum ProgramPhase {
    Reading,
    Running,
}

pub(crate) fn describe_error(
    error: &starlark::Error,
    phase: ProgramPhase,
    known: &HintContext<'_>,
) -> ProgramError {
    let (kind, message) = match (kind_and_message(error, known), phase) {
        ((ProgramErrorKind::Runtime, message), ProgramPhase::Reading) => {
            (ProgramErrorKind::Syntax, message)
        }
        (kind_and_message, _) => kind_and_message,
    };
    let message = cut(&message, MESSAGE);
    let frames = error.call_stack().frames.iter().rev();
    let places = error.span().into_iter().chain(frames.filter_map(|it| it.location.as_ref()));
    let place = places.into_iter().find(|place| is_of_program(place));
    let begin = place.map(|place| place.resolve_span().begin);
    let text = place.map(line_text);
    let hint = match stop(error) {
        Some(stop) => stop.hint.as_deref().map(str::to_owned),
        None => hints::of(kind, &message, known),
    };
    ProgramError {
        kind,
        message,
        line: begin.map(|begin| from_one(begin.line)),
        column: begin.map(|begin| from_one(begin.column)),
        text: text.map(|text| cut(&text, LINE)),
        hint,
    }
}

/// An error without a line in the program.
pub(crate) fn describe_stop(stop: &ProgramStopError) -> ProgramError {
    let hint = stop.hint.as_deref().map(str::to_owned);
    let message = cut(&stop.message, MESSAGE);
    ProgramError { kind: stop.kind, message, line: None, column: None, text: None, hint }
}

fn stop(error: &starlark::Error) -> Option<&ProgramStopError> {
    match error.kind() {
        ErrorKind::Native(cause) | ErrorKind::Other(cause) => cause.downcast_ref(),
        _ => None,
    }
}

/// The interpreter's own limits have no error type, only messages.
fn kind_and_message(
    error: &starlark::Error,
    known: &HintContext<'_>,
) -> (ProgramErrorKind, String) {
    if let Some(stop) = stop(error) {
        return (stop.kind, stop.message.clone());
    }
    let message = words(error);
    // Our hints are better.
    let message = message.strip_prefix("Parse error: ").unwrap_or(&message);
    let message = message.split(", did you mean `").next().unwrap_or_default();
    match error.kind() {
        // Not `Parser`: `int("a")` is such an error too.
        ErrorKind::Scope(_) => (ProgramErrorKind::Syntax, lowercase_first(message)),
        ErrorKind::StackOverflow(_) => {
            let most = known.fence.depth;
            (ProgramErrorKind::Depth, format!("the call stack is deeper than {most}"))
        }
        ErrorKind::Other(_) if message.starts_with("Execution duration limit") => {
            (ProgramErrorKind::Steps, format!("it takes more than {} steps", known.fence.steps))
        }
        ErrorKind::Other(_) if message.starts_with("Heap memory limit") => {
            let stop = ProgramStopError::memory(known.fence.heap_bytes);
            (ProgramErrorKind::Memory, stop.message)
        }
        _ if message == "Too many recursion levels" => {
            (ProgramErrorKind::Depth, "values are nested too deeply".to_owned())
        }
        _ => (
            ProgramErrorKind::Runtime,
            missing(message, known).unwrap_or_else(|| lowercase_first(message)),
        ),
    }
}

/// `getattr` words a missing attribute differently than a dot.
fn missing(message: &str, known: &HintContext<'_>) -> Option<String> {
    let dot = |rest: &str| {
        let (of, name) = rest.split_once("` has no attribute `")?;
        Some((of.to_owned(), name.trim_end_matches('`').to_owned()))
    };
    let getattr = |rest: &str| {
        let (name, of) = rest.split_once("` not supported on type `")?;
        let read = !name.ends_with('=');
        read.then(|| (of.trim_end_matches('`').to_owned(), name.to_owned()))
    };
    let found = message.strip_prefix("Object of type `").and_then(dot);
    let (of, name) = found.or_else(|| message.strip_prefix("Operation `.").and_then(getattr))?;
    Some(match (of.as_str(), known.missed) {
        ("server", Some((server, _))) => format!("`{server}` has no tool `{name}`"),
        (of, _) => format!("a {of} has no `{name}`"),
    })
}

/// Some functions of the interpreter have source positions of their own.
fn is_of_program(place: &FileSpan) -> bool {
    place.file.filename() == FILE
}

/// The interpreter's message, without its internals.
fn words(error: &starlark::Error) -> String {
    // With the cause: the message alone may name only the wrong parameter.
    let whole = format!("{:#}", error.without_diagnostic());
    if let Some((_, number)) = whole.split_once("too big to fit in i32: ") {
        return format!("the number {number} is too large here; the limit is {}", i32::MAX);
    }
    let message = error.without_diagnostic().to_string();
    message.replace("call to `program.", "call to `").replace("call to program.", "call to ")
}

fn line_text(place: &FileSpan) -> String {
    let line = place.resolve_span().begin.line;
    place.file.source_line(line).trim_end().to_owned()
}

fn from_one(zero_based: usize) -> u32 {
    u32::try_from(zero_based).unwrap_or(u32::MAX - 1) + 1
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Our messages begin in lower case; names keep their case.
fn lowercase_first(message: &str) -> String {
    let mut letters = message.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            format!("{}{}", first.to_lowercase(), &message[first.len_utf8()..])
        }
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests;
