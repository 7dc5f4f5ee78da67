//! Limits of one program.

use std::time::Duration;

use crate::frames::InterpreterLimits;

/// All limits are mandatory: a program always ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub fence: InterpreterLimits,
    /// Wall-clock time, unless the caller's deadline is earlier. One clock for the whole run:
    /// waiting for a slot or a worker counts. Time spent waiting for a person does not.
    pub time: Duration,
    pub source_bytes: usize,
    /// Nesting of brackets and operators.
    pub nesting: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            fence: InterpreterLimits {
                steps: 10_000_000,
                heap_bytes: 64 << 20,
                depth: 64,
                calls: 50,
                output_bytes: 64 << 10,
            },
            time: Duration::from_secs(30),
            source_bytes: 32 << 10,
            nesting: 100,
        }
    }
}
