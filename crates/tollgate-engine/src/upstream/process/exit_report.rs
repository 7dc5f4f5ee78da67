//! Exit report of a child: which limit it hit, or why it never started.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crate::settings::ProcessLimits;

use super::SpawnError;

/// Messages of programs that run out of memory.
const NO_MEMORY: &[&str] = &[
    "memoryerror",
    "out of memory",
    "outofmemory",
    "cannot allocate memory",
    "bad_alloc",
    "memory allocation of",
    "fatal process oom",
];

#[derive(Debug)]
pub(in crate::upstream) struct ExitReport {
    pub(in crate::upstream) status: Option<ExitStatus>,
    /// The last line of stderr, if there is any.
    pub(in crate::upstream) last_words: Option<String>,
    /// The launcher never executed the program.
    pub(in crate::upstream) never_began: Option<SpawnError>,
    pub(super) limits: ProcessLimits,
    /// Whether its stderr mentions a lack of memory.
    pub(super) short_of_memory: bool,
}

pub(super) fn complains_of_memory(lines: &[String]) -> bool {
    lines.iter().any(|line| {
        let line = line.to_lowercase();
        NO_MEMORY.iter().any(|words| line.contains(words))
    })
}

impl fmt::Display for ExitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(error) = &self.never_began {
            return write!(f, "{error}");
        }
        let code = self.status.and_then(|status| status.code());
        let signal = self.status.and_then(|status| status.signal());
        match (code, signal) {
            (Some(code), _) => write!(f, "exited with status {code}")?,
            (None, Some(signal)) => self.fmt_signal(signal, f)?,
            (None, None) => f.write_str("ended")?,
        }
        if let (true, Some(most)) = (self.short_of_memory, self.limits.memory_bytes) {
            write!(f, "; it ran out of memory (`sandbox.memory_mb` is {})", most >> 20)?;
        }
        match &self.last_words {
            Some(line) => write!(f, "; last line of stderr: {line}"),
            None => Ok(()),
        }
    }
}

impl ExitReport {
    fn fmt_signal(&self, signal: i32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SIGKILL: i32 = 9;
        const SIGXCPU: i32 = 24;
        const SIGXFSZ: i32 = 25;
        const SIGSYS: i32 = 31;
        let ProcessLimits { cpu_seconds, file_bytes, .. } = self.limits;
        match (signal, cpu_seconds, file_bytes) {
            (SIGXCPU, Some(most), _) => {
                write!(f, "exceeded its CPU time (`sandbox.cpu_s` is {most})")
            }
            (SIGXFSZ, _, Some(most)) => {
                write!(f, "exceeded its file size limit (`sandbox.file_size_mb` is {})", most >> 20)
            }
            (SIGKILL, Some(most), _) => write!(
                f,
                "was killed by signal 9: it exceeded its CPU time (`sandbox.cpu_s` is {most}), the \
                 machine ran out of memory, or somebody killed it"
            ),
            (SIGKILL, None, _) => f.write_str(
                "was killed by signal 9: the machine ran out of memory, or somebody killed it",
            ),
            (SIGSYS, ..) => f.write_str("was killed by signal 31: it made a forbidden system call"),
            _ => write!(f, "was killed by signal {signal}"),
        }
    }
}

#[cfg(test)]
mod tests;
