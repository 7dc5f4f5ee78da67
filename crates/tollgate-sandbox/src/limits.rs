//! How far one program may go.

use std::time::Duration;

use crate::frames::InterpreterLimits;

/// Nothing here can be left out: a program always ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub fence: InterpreterLimits,
    /// On the wall, unless whoever waits has less. One clock for all: waiting for a turn or for a
    /// worker counts as well. Time in which a person is waited for does not.
    pub time: Duration,
    pub source_bytes: usize,
    /// Brackets and operators within each other.
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
