//! The fronts: MCP over HTTP and over pipes, a plain HTTP API, operations. They decode, ask the
//! gate and encode; they decide nothing. axum and hyper's server stop here.

mod accept;
mod access;
mod admin;
mod auth;
mod body;
mod chat;
mod crowd;
mod events;
mod fields;
mod filters;
mod followed;
#[doc(hidden)]
pub mod fuzzing;
mod guard;
mod limits;
mod live;
mod mcp;
pub mod metrics;
pub mod openapi;
pub mod operator;
mod ops;
mod page;
mod panicked;
mod pressure;
mod problem;
mod readiness;
mod refusal;
mod rest;
mod revoked;
mod router;
mod serve;
mod standing;
pub mod tls;
mod variables;
mod who;

pub use access::{BadProxyError, TrustedProxies};
pub use admin::audit::csv as audit_csv;
pub use auth::{Fingerprint, Former, Key, Right, Rights, Role};
pub use auth::{keyring, oidc, secret};
pub use filters::{BadFilter, Flags, by_headers};
pub use limits::Limits;
pub use mcp::stdio::{Client, StdioError, serve_stdio};
pub use pressure::{Gauge, Memory};
pub use serve::{Options, PollWatch, Server};
