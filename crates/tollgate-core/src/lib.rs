//! The words and the decisions of Tollgate. Everything above calls into this crate; it calls
//! nobody: no I/O, no runtime, no clock (time is an argument), no serde derives.

pub mod admission;
pub mod agent;
pub mod approval;
pub mod backoff;
pub mod breaker;
pub mod budget;
pub mod call;
pub mod catalog;
pub mod code;
pub mod date;
pub mod digest;
pub mod filter;
pub mod glob;
pub mod id;
pub mod json;
pub mod latency;
mod letters;
pub mod mask;
pub mod names;
pub mod nearest;
pub mod plan;
pub mod policy;
pub mod probe;
pub mod rate;
pub mod schema;
pub mod score;
pub mod secret;
pub mod selector;
pub mod shaping;
pub mod standing;
pub mod template;
pub mod text;
pub mod tool;
pub mod trust;
pub mod turn;
pub mod view;
