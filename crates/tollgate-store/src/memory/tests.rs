//! The memory: one suite that holds for every database, and what only one of them can come to.

pub(super) mod suite;

mod postgres;
mod sqlite;
