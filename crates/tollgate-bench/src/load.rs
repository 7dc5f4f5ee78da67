//! The load: connections that make one call after the other, driven as fast as they go (`closed`) or
//! at a fixed rate (`open`). Every answer is checked.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;

use crate::chat::BenchChatTarget;
use crate::process::ProcessUsage;
use crate::samples::Samples;
use crate::wire::Era;

pub(crate) mod closed_loop;
mod http_connection;
pub(crate) mod open_loop;
mod pipe_connection;

pub(crate) use http_connection::HttpLoadConnection;
pub(crate) use pipe_connection::PipeLoadConnection;

/// Who is asked what.
#[derive(Debug, Clone)]
pub(crate) struct LoadTarget {
    /// For messages.
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    pub(crate) era: Era,
    pub(crate) ask: LoadRequest,
    /// Whose time on the processor is counted.
    pub(crate) process: Option<u32>,
}

#[derive(Debug, Clone)]
pub(crate) enum LoadRequest {
    /// A call of this tool.
    Echo(String),
    /// A call of this tool, whose result is large.
    Large(String),
    /// A call of the built-in tool for dice.
    Roll,
    /// The list of tools, whose answer must be these bytes.
    List(Bytes),
    /// Any message, whose answer must be these bytes.
    Same(Bytes),
    /// A chat completion.
    Chat(BenchChatTarget),
}

/// What a stretch of load came to.
#[derive(Debug, Clone)]
pub(crate) struct LoadSlice {
    pub(crate) latencies: Samples,
    pub(crate) took: Duration,
    /// Of the target's process, while the load lasted.
    pub(crate) cpu: Duration,
}

impl LoadSlice {
    pub(crate) fn calls(&self) -> f64 {
        self.latencies.len() as f64
    }

    /// Calls per second.
    pub(crate) fn rate(&self) -> f64 {
        self.calls() / self.took.as_secs_f64()
    }
}

/// Processor time that a target used since `before`.
fn cpu_time_used(target: &LoadTarget, before: Option<ProcessUsage>) -> Duration {
    let (Some(pid), Some(before)) = (target.process, before) else { return Duration::ZERO };
    ProcessUsage::of(pid).map_or(Duration::ZERO, |after| after.cpu.saturating_sub(before.cpu))
}

fn usage(target: &LoadTarget) -> Option<ProcessUsage> {
    target.process.and_then(|pid| ProcessUsage::of(pid).ok())
}

#[cfg(test)]
mod tests;
