//! Persistent storage. The only crate with SQL. Called from threads that may block, except for the
//! memory, which is async.

pub mod audit;
pub mod client_secrets;
mod database;
mod durable_file;
mod error;
pub mod keys;
pub mod live_calls;
pub mod logins;
pub mod measurements;
pub mod memory;
mod migrations;
pub mod model_usage;
mod number;
mod open;
pub mod pins;

pub use database::Store;
pub use error::{DatabaseFile, Error, OpenError};
