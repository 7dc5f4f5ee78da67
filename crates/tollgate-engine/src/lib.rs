//! The engine: the gate that every call passes, the registry of tools, and the backends that run
//! calls. Independent of HTTP fronts, model providers and config files.

mod answer;
pub mod approvals;
pub mod audit;
pub mod backend;
pub mod builtin;
pub mod calibration;
pub mod caller;
pub mod calls;
pub mod clock;
pub mod confine;
pub mod conversations;
mod dialogue;
mod disk;
pub mod embedding;
mod executor;
#[doc(hidden)]
pub mod fuzzing;
pub mod gate;
pub mod limits;
pub mod memory;
pub mod meters;
mod mirrored_headers;
pub mod model_usage;
pub mod notices;
mod owners;
pub mod panics;
mod pins;
mod policy_snapshot;
mod probe_limiter;
pub mod random;
pub mod record;
mod recorder;
mod registry;
pub mod resource_watches;
pub mod results;
pub mod reuse;
pub mod revocations;
mod seal;
mod server_set;
pub mod servers;
pub mod settings;
pub mod spans;
mod start;
mod tickets;
pub mod upstream;
pub mod web;

pub use start::{Parts, RunningEngine, ServerChanges, StartError, start};
