//! Schema migrations of SQLite files, for each file format. A released step never changes; a new
//! step is a new file and a new line here.

use rusqlite::{Connection, TransactionBehavior};

/// A file format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileFormat<'s> {
    /// The `application_id` of our files, in ASCII.
    pub(crate) application: [u8; 4],
    /// `user_version` of a file is the number of steps applied.
    pub(crate) steps: &'s [&'s str],
}

/// The format of everything but the memory.
pub(crate) const STORE: FileFormat<'_> = FileFormat {
    application: *b"Toll",
    steps: &[
        include_str!("migrations/0001_measurements.sql"),
        include_str!("migrations/0002_keys.sql"),
        include_str!("migrations/0003_audit.sql"),
        include_str!("migrations/0004_logins.sql"),
        include_str!("migrations/0005_pins.sql"),
        include_str!("migrations/0006_programs.sql"),
        include_str!("migrations/0007_tenants.sql"),
        include_str!("migrations/0008_audit_anchor.sql"),
        include_str!("migrations/0009_model_usage.sql"),
        include_str!("migrations/0010_speech_usage.sql"),
        include_str!("migrations/0011_client_secrets.sql"),
    ],
};

pub(crate) const MEMORY: FileFormat<'_> = FileFormat {
    application: *b"TolM",
    steps: &[
        include_str!("memory/sqlite/0001_memory.sql"),
        include_str!("memory/sqlite/0002_facts_about.sql"),
    ],
};

/// Number of steps applied; `None` if the file has another format.
pub(crate) fn version(
    connection: &Connection,
    format: &FileFormat<'_>,
) -> rusqlite::Result<Option<u32>> {
    // In one statement, so that no other process migrates in between.
    let query = "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
                 FROM pragma_application_id, pragma_user_version";
    let numbers = connection.query_row(query, [], |row| row.try_into())?;
    let (application, version, tables): (i32, i32, u32) = numbers;
    Ok(match (application, version) {
        (0, 0) if tables == 0 => Some(0),
        _ if application == i32::from_be_bytes(format.application) => u32::try_from(version).ok(),
        _ => None,
    })
}

/// Applies the missing steps, each in a transaction. Other processes may do so concurrently.
pub(crate) fn take(connection: &mut Connection, format: &FileFormat<'_>) -> rusqlite::Result<()> {
    let application = i32::from_be_bytes(format.application);
    for (step, number) in format.steps.iter().zip(1_u32..) {
        if version(connection, format)? != Some(number - 1) {
            continue;
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have applied it before we had the lock.
        if version(&transaction, format)? == Some(number - 1) {
            transaction.execute_batch(step)?;
            transaction.pragma_update(None, "application_id", application)?;
            transaction.pragma_update(None, "user_version", number)?;
        }
        transaction.commit()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
