//! The suite on PostgreSQL, as the system has it and with pgvector, and what only it can come to.

mod plain {
    use std::future::{Ready, ready};

    use tollgate_testkit::postgres::{Build, Database};

    use crate::memory::Memory;
    use crate::memory::tests::suite::Fresh;

    fn fresh() -> Ready<Fresh> {
        let database = Database::new(Build::Plain);
        let memory = Memory::connect_postgres(&database.url).unwrap();
        ready(Fresh::new(memory, database))
    }

    crate::memory::tests::suite::holds_for!(super::fresh);
}

mod with_vectors {
    use std::future::{Ready, ready};

    use tollgate_testkit::postgres::{Build, Database};

    use crate::memory::Memory;
    use crate::memory::tests::suite::Fresh;

    fn fresh() -> Ready<Fresh> {
        let database = Database::new(Build::WithVectors);
        let memory = Memory::connect_postgres(&database.url).unwrap();
        ready(Fresh::new(memory, database))
    }

    crate::memory::tests::suite::holds_for!(super::fresh);
}
