//! The trait through which a program reaches tools; nothing else is reachable. Implemented by the
//! caller of the sandbox.

use async_trait::async_trait;

use crate::frames::{Answer, ProgramCall};
use crate::stopwatch::Stopwatch;

/// More calls than a program may make. Its message is for the author of the program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CallsRefusedError(pub String);

#[async_trait]
pub trait HostCalls: Send + Sync {
    /// Whether this many more calls may be made; checked before they are. A refusal ends the
    /// program with its message and cannot be caught, so a program cannot keep trying.
    fn admit(&self, _calls: u32) -> Result<(), CallsRefusedError> {
        Ok(())
    }

    /// Runs independent calls; returns one answer for each, in the same order. The calls are
    /// untrusted: the tool may not exist, and arguments may have any shape. `time` is the program's
    /// stopwatch: [hold](Stopwatch::hold) it while waiting for a person.
    async fn call(&self, calls: Vec<ProgramCall>, time: &Stopwatch) -> Vec<Answer>;
}
