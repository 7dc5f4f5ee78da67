//! The suite on a file.

use std::future::{Ready, ready};

use super::suite::Fresh;
use crate::memory::MemoryStore;

fn fresh() -> Ready<Fresh> {
    let directory = tempfile::tempdir().unwrap();
    let memory = MemoryStore::open_sqlite(&directory.path().join("memory.db")).unwrap();
    ready(Fresh::new(memory, directory))
}

super::suite::holds_for!(super::fresh);
