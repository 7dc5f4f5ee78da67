//! What outlasts the process. The only crate that speaks SQL; it is called from threads that may
//! block, but for the memory, which is awaited.

pub mod audit;
mod database;
mod durable_file;
mod error;
pub mod keys;
pub mod logins;
pub mod measurements;
pub mod memory;
mod migrations;
mod number;
mod open;
pub mod pins;

pub use database::Store;
pub use error::{Error, OpenError};
