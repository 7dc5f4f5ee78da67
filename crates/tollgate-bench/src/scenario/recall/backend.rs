//! Where a memory is kept while it is measured: a file, or a PostgreSQL that is started for it.

use std::time::Duration;

use tollgate_store::memory::MemoryStore;
use tollgate_testkit::postgres::{PostgresBuild, PostgresCluster};

use crate::config::ScratchDirectory;
use crate::error::{BenchError, within};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecallDatabase {
    Sqlite,
    /// As the system's packages have it.
    Postgres,
    WithVectors,
}

impl RecallDatabase {
    pub(crate) const ALL: [Self; 3] = [Self::Sqlite, Self::Postgres, Self::WithVectors];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
            Self::WithVectors => "pgvector",
        }
    }
}

pub(super) struct RecallBackend {
    pub(super) memory: MemoryStore,
    server: Option<PostgresCluster>,
}

/// How long it may take to make its tables.
const SCHEMA_TIMEOUT: Duration = Duration::from_secs(20);
/// Nothing that was acknowledged is lost, as for users; and some memory, as on a server.
const SETTINGS: [&str; 5] = [
    "fsync=on",
    "full_page_writes=on",
    "shared_buffers=1GB",
    "max_wal_size=4GB",
    "maintenance_work_mem=512MB",
];

impl RecallBackend {
    pub(super) async fn open(
        database: RecallDatabase,
        scratch: &ScratchDirectory,
    ) -> Result<Self, BenchError> {
        let build = match database {
            RecallDatabase::Sqlite => {
                let memory = MemoryStore::open_sqlite(&scratch.path().join("memory.db"));
                let memory = memory.map_err(|error| BenchError::Process(error.to_string()))?;
                return Ok(Self { memory, server: None });
            }
            RecallDatabase::Postgres => PostgresBuild::Plain,
            RecallDatabase::WithVectors => PostgresBuild::WithVectors,
        };
        let server = std::thread::spawn(move || {
            let mut server = PostgresCluster::start(build);
            server.stop();
            SETTINGS.iter().for_each(|it| server.set(it));
            server.resume();
            server
        });
        // It says itself, on standard error, what is missing.
        let server = server.join();
        let server =
            server.map_err(|_| BenchError::Process("PostgreSQL did not start".to_owned()))?;
        let memory = MemoryStore::connect_postgres(&server.database("memory"));
        let memory = memory.map_err(|error| BenchError::Process(error.to_string()))?;
        within(SCHEMA_TIMEOUT, "the first answer of PostgreSQL", async {
            while memory.ping().await.is_err() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Ok(())
        })
        .await?;
        Ok(Self { memory, server: Some(server) })
    }

    /// Ends what was started for it.
    pub(super) fn close(self) {
        drop(self.memory);
        drop(self.server);
    }
}
