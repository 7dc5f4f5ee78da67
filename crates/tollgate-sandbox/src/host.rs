//! All that a program can reach: one trait. Whoever runs a program implements it.

use async_trait::async_trait;

use crate::frames::{Answer, ProgramCall};
use crate::stopwatch::Stopwatch;

#[async_trait]
pub trait HostCalls: Send + Sync {
    /// Calls that do not wait for each other; one answer for each, in their order. What comes is
    /// not trusted: a tool that is not there, arguments of any shape. `time` is the program's own:
    /// [hold](Stopwatch::hold) it while a person is waited for.
    async fn call(&self, calls: Vec<ProgramCall>, time: &Stopwatch) -> Vec<Answer>;
}
