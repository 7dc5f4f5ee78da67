//! Explains why a worker died, for the author of the program. Derived from the exit status and the
//! last lines of stderr; pure.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use rustix::process::Signal;

use crate::failure::{out_of_time, program_error, program_error_with_hint};
use crate::frames::{NO_PROGRESS, ProgramError, ProgramErrorKind};

/// Length of an interpreter's panic message.
const MAX_PANIC_CHARS: usize = 200;

/// The error of a program that crashed its process. `None`: it closed its output and had to be
/// killed.
pub(crate) fn explain(status: Option<ExitStatus>, last_words: &str) -> ProgramError {
    let says = |words: &str| last_words.contains(words);
    if says("memory allocation of") || says("capacity overflow") || says("out of memory") {
        return out_of_memory();
    }
    if says("overflowed its stack") {
        return too_deep();
    }
    if says(NO_PROGRESS) {
        return too_much_at_once();
    }
    let Some(status) = status else {
        return program_error(
            ProgramErrorKind::Runtime,
            "the program's process stopped responding and was killed".to_owned(),
        );
    };
    match status.signal().and_then(Signal::from_named_raw) {
        Some(Signal::SEGV | Signal::BUS) => too_deep(),
        Some(Signal::XCPU) => out_of_time("more CPU time than its limit"),
        Some(Signal::SYS) => program_error_with_hint(
            ProgramErrorKind::Runtime,
            "the program did something that is not allowed here".to_owned(),
            "a program has no files, no network and no clock; call tools",
        ),
        Some(Signal::KILL) => program_error_with_hint(
            ProgramErrorKind::Memory,
            "the program's process was killed from outside".to_owned(),
            "the machine may be out of memory: try again with less data",
        ),
        _ if status.success() => broke("its process ended without an answer", last_words),
        _ => broke(&status.to_string(), last_words),
    }
}

fn out_of_memory() -> ProgramError {
    let hint = "hold fewer and smaller values: take what you need out of a result at once";
    program_error_with_hint(
        ProgramErrorKind::Memory,
        "the program ran out of memory".to_owned(),
        hint,
    )
}

fn too_deep() -> ProgramError {
    let hint = "use loops instead of recursion, and flat values instead of nested ones";
    program_error_with_hint(
        ProgramErrorKind::Depth,
        "functions or values are nested too deeply".to_owned(),
        hint,
    )
}

fn too_much_at_once() -> ProgramError {
    let hint = "use smaller numbers and texts: an operation on a huge value may take minutes";
    program_error_with_hint(ProgramErrorKind::Time, NO_PROGRESS.to_owned(), hint)
}

fn broke(how: &str, last_words: &str) -> ProgramError {
    let word = last_words.lines().map(str::trim).rfind(|line| !line.is_empty());
    let mut message = format!("the program crashed the interpreter ({how})");
    if let Some(word) = word {
        message.push_str(": ");
        message.extend(word.chars().take(MAX_PANIC_CHARS));
    }
    program_error_with_hint(ProgramErrorKind::Runtime, message, "write it in a simpler way")
}

#[cfg(test)]
mod tests;
