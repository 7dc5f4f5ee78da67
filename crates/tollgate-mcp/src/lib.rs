//! The MCP wire protocol: JSON-RPC envelopes with raw payload, the two protocol eras, and the
//! client transports. Fronts and upstream connections build on it; it knows no tools and no policy.

pub mod answer_budget;
pub mod client;
pub mod envelope;
pub mod error_code;
mod flood_control;
pub mod header;
pub mod line;
pub mod memory_budget;
pub mod meta;
pub mod offload;
pub mod per_worker;
mod revision;
pub mod sse;
pub mod tasks;
pub mod web;

pub use revision::{Era, Revision};
