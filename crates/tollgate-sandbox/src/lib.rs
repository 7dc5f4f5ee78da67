//! Sandbox for programs written by models: each runs in its own process, which has no files, no
//! network and little memory, and reaches nothing but [`host::HostCalls`].
//!
//! `frames` is the protocol between the gateway and a worker; everything else is the gateway's side
//! (feature `host`). The interpreter is in the worker, a separate binary.

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
