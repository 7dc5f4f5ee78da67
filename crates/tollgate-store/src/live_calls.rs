//! Calls that the gateway created or accepted at a provider: whose they are, so that nobody else
//! can reach them after the gateway was started again.

use std::time::{Duration, SystemTime};

use rusqlite::{OptionalExtension, named_params};

use crate::database::Store;
use crate::error::Error;
use crate::number::millis;

/// Providers end calls much sooner.
const MAX_CALL_AGE: Duration = Duration::from_secs(24 * 3600);

/// The owner of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCall {
    pub principal: String,
    /// The gateway's name of its model.
    pub model: String,
}

/// The table of calls.
#[derive(Debug, Clone, Copy)]
pub struct LiveCallTable<'s> {
    store: &'s Store,
}

impl Store {
    pub fn live_calls(&self) -> LiveCallTable<'_> {
        LiveCallTable { store: self }
    }
}

impl LiveCallTable<'_> {
    /// Records a call, and removes those that cannot run any more.
    pub fn keep(self, id: &str, call: &StoredCall, now: SystemTime) -> Result<(), Error> {
        let over = now.checked_sub(MAX_CALL_AGE).unwrap_or(SystemTime::UNIX_EPOCH);
        self.store.write(|transaction| {
            let old = "DELETE FROM live_calls WHERE began <= :before";
            transaction.execute(old, named_params! {":before": millis(over)})?;
            let put = "INSERT OR REPLACE INTO live_calls (id, principal, model, began)
                       VALUES (:id, :principal, :model, :began)";
            transaction.execute(
                put,
                named_params! {
                    ":id": id,
                    ":principal": call.principal,
                    ":model": call.model,
                    ":began": millis(now),
                },
            )?;
            Ok(())
        })
    }

    pub fn load(self, id: &str) -> Result<Option<StoredCall>, Error> {
        self.store.read(|connection| {
            let query = "SELECT principal, model FROM live_calls WHERE id = :id";
            let read = |row: &rusqlite::Row<'_>| {
                Ok(StoredCall { principal: row.get(0)?, model: row.get(1)? })
            };
            connection.query_row(query, named_params! {":id": id}, read).optional()
        })
    }

    /// The call has ended.
    pub fn forget(self, id: &str) -> Result<(), Error> {
        self.store.write(|transaction| {
            let gone = "DELETE FROM live_calls WHERE id = :id";
            transaction.execute(gone, named_params! {":id": id})?;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests;
