//! The suite on PostgreSQL, as the system has it and with pgvector, and what only it can come to.

use tollgate_testkit::postgres::{PostgresBuild, TestDatabase};

use super::suite::{Fresh, patiently};
use crate::memory::{MemoryError, MemoryStore};

mod tls;
mod together;
mod trouble;

mod plain {
    use super::{Fresh, PostgresBuild};

    async fn fresh() -> Fresh {
        super::fresh(PostgresBuild::Plain).await
    }

    crate::memory::tests::suite::holds_for!(super::fresh);
}

mod with_vectors {
    use super::{Fresh, PostgresBuild};

    async fn fresh() -> Fresh {
        super::fresh(PostgresBuild::WithVectors).await
    }

    crate::memory::tests::suite::holds_for!(super::fresh);
}

async fn fresh(build: PostgresBuild) -> Fresh {
    let database = TestDatabase::new(build);
    Fresh::new(ready(&database.url).await, database)
}

/// A memory whose tables are there: to make them may take longer than a call may.
async fn ready(url: &str) -> MemoryStore {
    let memory = MemoryStore::connect_postgres(url).unwrap();
    assert_eq!(answer(&memory).await, Ok(()));
    memory
}

/// What a server says, once it had the time for it.
async fn answer(memory: &MemoryStore) -> Result<(), MemoryError> {
    patiently(|| memory.ping()).await
}
