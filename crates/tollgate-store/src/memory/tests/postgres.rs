//! The suite on PostgreSQL, as the system has it and with pgvector, and what only it can come to.

use tollgate_testkit::postgres::{Build, Database};

use super::suite::{Fresh, patiently};
use crate::memory::{Memory, Trouble};

mod encrypted;
mod together;
mod trouble;

mod plain {
    use super::{Build, Fresh};

    async fn fresh() -> Fresh {
        super::fresh(Build::Plain).await
    }

    crate::memory::tests::suite::holds_for!(super::fresh);
}

mod with_vectors {
    use super::{Build, Fresh};

    async fn fresh() -> Fresh {
        super::fresh(Build::WithVectors).await
    }

    crate::memory::tests::suite::holds_for!(super::fresh);
}

async fn fresh(build: Build) -> Fresh {
    let database = Database::new(build);
    Fresh::new(ready(&database.url).await, database)
}

/// A memory whose tables are there: to make them may take longer than a call may.
async fn ready(url: &str) -> Memory {
    let memory = Memory::connect_postgres(url).unwrap();
    assert_eq!(answer(&memory).await, Ok(()));
    memory
}

/// What a server says, once it had the time for it.
async fn answer(memory: &Memory) -> Result<(), Trouble> {
    patiently(|| memory.ping()).await
}
