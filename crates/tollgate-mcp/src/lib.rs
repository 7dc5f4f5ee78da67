//! The MCP wire: JSON-RPC envelopes whose payload stays raw, the two protocol eras, and the
//! transports of a client. Servers and fronts are built on it; it knows no tools and no policy.

pub mod client;
pub mod envelope;
pub mod error_code;
mod flood_control;
pub mod header;
pub mod line;
pub mod meta;
pub mod offload;
pub mod per_worker;
mod revision;
pub mod sse;
pub mod tasks;
pub mod web;

pub use revision::{Era, Revision};
