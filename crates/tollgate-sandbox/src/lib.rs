//! Programs that models wrote, run where they can do no harm: each in a process of its own, which
//! has no files, no network and little memory, and reaches nothing but [`host::HostCalls`].
//!
//! `frames` is what the gateway and a worker say to each other; everything else is the gateway's
//! side (feature `host`). The interpreter itself lives in the worker, a binary of its own.

pub mod frames;

#[cfg(feature = "host")]
mod clock;
#[cfg(feature = "host")]
mod exit_reason;
#[cfg(feature = "host")]
mod failure;
#[cfg(test)]
#[cfg(feature = "host")]
mod fake_worker;
#[cfg(feature = "host")]
mod frame_io;
#[cfg(feature = "host")]
pub mod host;
#[cfg(feature = "host")]
pub mod limits;
#[cfg(feature = "host")]
mod pool;
#[cfg(feature = "host")]
mod program;
#[cfg(feature = "host")]
mod run;
#[cfg(feature = "host")]
mod run_slots;
#[cfg(feature = "host")]
pub mod sandbox;
#[cfg(feature = "host")]
pub mod source;
#[cfg(feature = "host")]
pub mod stopwatch;
#[cfg(feature = "host")]
mod worker;
