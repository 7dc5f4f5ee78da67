//! The fronts: MCP over HTTP and stdio, REST API, chat APIs, admin and operations.
//!
//! They decode requests, call the gate and encode the results. They make no policy decisions. axum
//! and hyper's server are used only here.

mod accept;
mod access;
mod admin;
mod api_error;
mod app_state;
mod auth;
mod body;
mod call_registry;
mod chat;
pub mod config_service;
mod cors;
mod entity_edit_locks;
mod error_mapping;
mod events;
mod fields;
mod filters;
#[doc(hidden)]
pub mod fuzzing;
mod gemini_route;
mod host_guard;
mod in_flight;
mod incoming_calls;
mod key_maintenance;
mod limits;
mod mcp;
mod mcp_session;
mod memory_check;
pub mod metrics;
pub mod openapi;
mod ops;
mod page;
mod panic_guard;
mod phone_lines;
mod pressure;
mod protected_resource;
mod readiness;
mod realtime;
mod realtime_threads;
mod request_context;
mod request_span;
mod response_store;
mod rest;
mod revocation;
mod router;
mod serve;
pub mod telephony;
mod tier_assignment;
pub mod tls;
mod unproven_senders;
mod variables;
mod webhook;
mod wire_schema;

pub use access::{BadProxyError, TrustedProxies};
pub use admin::audit::csv as audit_csv;
pub use auth::{ApiKey, Fingerprint, FormerSecret, KeyRole, Right, Rights};
pub use auth::{keyring, oidc, secret};
pub use filters::{FilterFlags, RequestFilterError, by_headers};
pub use incoming_calls::IncomingCallSettings;
pub use limits::Limits;
pub use mcp::stdio::{StdioClient, StdioError, serve_stdio};
pub use pressure::{MemoryGauge, MemoryLimit};
pub use serve::{HttpServer, HttpServerOptions, PollWatch};
