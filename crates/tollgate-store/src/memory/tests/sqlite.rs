//! The suite on a file.

use std::future::{Ready, ready};

use super::suite::Fresh;
use crate::memory::Memory;

fn fresh() -> Ready<Fresh> {
    let directory = tempfile::tempdir().unwrap();
    let memory = Memory::open_sqlite(&directory.path().join("memory.db")).unwrap();
    ready(Fresh::new(memory, directory))
}

super::suite::holds_for!(super::fresh);

#[tokio::test]
async fn who_speaks_often_hides_nothing_that_is_said_of_him() {
    let fresh = fresh().await;
    super::suite::ranking::who_speaks_often_hides_nothing_that_is_said_of_him(&fresh.memory).await;
}
