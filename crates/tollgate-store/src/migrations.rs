//! The steps from an empty file to the tables of this version. A step that was released never
//! changes; a new one is a new file and a new line here.

use rusqlite::{Connection, TransactionBehavior};

/// `user_version` of a file counts how many of these it has behind it.
pub(crate) const STEPS: &[&str] = &[
    include_str!("migrations/0001_measurements.sql"),
    include_str!("migrations/0002_keys.sql"),
    include_str!("migrations/0003_audit.sql"),
    include_str!("migrations/0004_logins.sql"),
    include_str!("migrations/0005_pins.sql"),
    include_str!("migrations/0006_programs.sql"),
    include_str!("migrations/0007_tenants.sql"),
];

/// Marks our files: "Toll" in ASCII.
const APPLICATION: i32 = i32::from_be_bytes(*b"Toll");

/// How many steps the file has behind it; `None` if another program made it.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<Option<u32>> {
    // In one statement, so that nobody takes a step between the parts of it.
    let query = "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
                 FROM pragma_application_id, pragma_user_version";
    let numbers = connection.query_row(query, [], |row| row.try_into())?;
    let (application, version, tables): (i32, i32, u32) = numbers;
    Ok(match (application, version) {
        (APPLICATION, version) => u32::try_from(version).ok(),
        (0, 0) if tables == 0 => Some(0),
        _ => None,
    })
}

/// Takes the steps that are missing, each wholly or not at all. Other processes may do so too.
pub(crate) fn take(connection: &mut Connection, steps: &[&str]) -> rusqlite::Result<()> {
    for (step, number) in steps.iter().zip(1_u32..) {
        if version(connection)? != Some(number - 1) {
            continue;
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Before we had the lock someone else may have taken it.
        if version(&transaction)? == Some(number - 1) {
            transaction.execute_batch(step)?;
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            transaction.pragma_update(None, "user_version", number)?;
        }
        transaction.commit()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
