//! OAuth logins to upstream servers: one row per server and address. The text is a secret of its
//! reader; here it is only stored.

use rusqlite::{OptionalExtension, named_params};
use tollgate_core::secret::Secret;

use crate::database::Store;
use crate::error::Error;

/// Whom a login is for: another address under the same name is another server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginHolder {
    pub server: String,
    pub resource: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLogin {
    /// The authorization server that issued it.
    pub issuer: Option<String>,
    pub credentials: Secret,
}

/// The table of logins.
#[derive(Debug, Clone, Copy)]
pub struct LoginTable<'s> {
    store: &'s Store,
}

impl Store {
    pub fn logins(&self) -> LoginTable<'_> {
        LoginTable { store: self }
    }
}

impl LoginTable<'_> {
    pub fn load(self, holder: &LoginHolder) -> Result<Option<StoredLogin>, Error> {
        self.store.read(|connection| {
            let query = "SELECT issuer, credentials FROM logins
                         WHERE server = :server AND resource = :resource";
            let of = named_params! {":server": holder.server, ":resource": holder.resource};
            let login = |row: &rusqlite::Row<'_>| {
                let text: String = row.get(1)?;
                Ok(StoredLogin { issuer: row.get(0)?, credentials: Secret::new(text) })
            };
            connection.query_row(query, of, login).optional()
        })
    }

    /// Replaces the existing login, whatever its issuer.
    pub fn keep(self, holder: &LoginHolder, login: &StoredLogin) -> Result<(), Error> {
        self.store.write(|transaction| {
            let put = "INSERT OR REPLACE INTO logins (server, resource, issuer, credentials)
                       VALUES (:server, :resource, :issuer, :credentials)";
            transaction.execute(
                put,
                named_params! {
                    ":server": holder.server,
                    ":resource": holder.resource,
                    ":issuer": login.issuer,
                    ":credentials": login.credentials.reveal(),
                },
            )?;
            Ok(())
        })
    }

    pub fn forget(self, holder: &LoginHolder) -> Result<(), Error> {
        self.store.write(|transaction| {
            let gone = "DELETE FROM logins WHERE server = :server AND resource = :resource";
            let of = named_params! {":server": holder.server, ":resource": holder.resource};
            transaction.execute(gone, of)?;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests;
