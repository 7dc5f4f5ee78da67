//! The `tollgate` binary: command line, reload, and the wiring of all other crates. The only crate
//! that depends on all of them.

pub mod admin_token;
pub mod app;
pub mod arguments;
pub mod cli;
pub mod client_apps;
pub mod command_error;
pub mod commands;
pub mod connect;
pub mod gateway;
pub mod import;
pub mod local_ca;
pub mod logging;
pub mod mcp_registry;
mod oauth_consent;
pub mod open_files;
pub mod output;
pub mod private_file;
pub mod process_memory;
pub mod prompt;
pub mod reload;
pub mod signals;
pub mod telemetry;
pub mod transcript;
