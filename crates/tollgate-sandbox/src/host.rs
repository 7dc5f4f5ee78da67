//! All that a program can reach: one trait. Whoever runs a program implements it.

use async_trait::async_trait;

use crate::frames::{Answer, ProgramCall};
use crate::stopwatch::Stopwatch;

#[async_trait]
pub trait HostCalls: Send + Sync {
    /// Whether so many more calls may be made, asked before they are. A refusal ends the program
    /// with its words: there is no catching it, so no program can go on asking.
    fn admit(&self, _calls: u32) -> Result<(), String> {
        Ok(())
    }

    /// Calls that do not wait for each other; one answer for each, in their order. What comes is
    /// not trusted: a tool that is not there, arguments of any shape. `time` is the program's own:
    /// [hold](Stopwatch::hold) it while a person is waited for.
    async fn call(&self, calls: Vec<ProgramCall>, time: &Stopwatch) -> Vec<Answer>;
}
