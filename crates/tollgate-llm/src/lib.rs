//! Models: one neutral conversation, a codec for each dialect in which conversations are held, the
//! providers that serve models, and the loop in which a model uses tools. Provider JSON stops here.

pub mod agent;
pub mod cascade;
pub mod conversation;
pub mod delta;
pub mod dialect;
mod embedding;
pub mod error;
pub mod extra;
pub mod format;
pub mod gateway_report;
pub mod mode;
pub mod offline;
pub mod provider;
pub mod realtime;
pub mod relevance;
pub mod routing;
pub mod settings;
pub mod static_model;
pub mod tokens;
pub mod tools;
pub mod turn;
pub mod window;
