//! LLM layer: a neutral conversation model, a codec per chat dialect, the provider clients, and the
//! agent loop in which a model calls tools. No provider JSON leaves this crate.

pub mod agent;
pub mod cascade;
pub mod conversation;
pub mod delta;
pub mod dialect;
pub mod embedding;
pub mod error;
pub mod extra;
pub mod format;
pub mod gateway_report;
pub mod mode;
pub mod model_capabilities;
pub mod offline;
pub mod provider;
pub mod realtime;
pub mod relevance;
pub mod request_fitting;
pub mod routing;
pub mod settings;
pub mod static_model;
pub mod token_count;
pub mod tokens;
pub mod tools;
pub mod turn;
pub mod usage;
pub mod window;
