//! Client secrets: one row each, known by the SHA-256 of the secret. What it allows is text of the
//! authentication layer; here it is only stored.

use std::time::{Duration, SystemTime};

use rusqlite::{OptionalExtension, named_params};

use crate::database::Store;
use crate::error::Error;
use crate::number::{millis, time};

/// How long an expired secret is still known, so that its refusal can say why.
pub const MEMORY_OF_EXPIRED: Duration = Duration::from_secs(600);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredClientSecret {
    pub fingerprint: [u8; 32],
    /// Hash of the secret and of the key that it was requested with.
    pub binding: [u8; 32],
    pub terms: String,
    pub until: SystemTime,
    /// `None`: until it expires.
    pub max_uses: Option<u32>,
}

/// The table of client secrets.
#[derive(Debug, Clone, Copy)]
pub struct ClientSecretTable<'s> {
    store: &'s Store,
}

impl Store {
    pub fn client_secrets(&self) -> ClientSecretTable<'_> {
        ClientSecretTable { store: self }
    }
}

impl ClientSecretTable<'_> {
    /// Adds one, and removes those that expired long ago.
    pub fn keep(self, secret: &StoredClientSecret, now: SystemTime) -> Result<(), Error> {
        let forgotten = now.checked_sub(MEMORY_OF_EXPIRED).unwrap_or(SystemTime::UNIX_EPOCH);
        self.store.write(|transaction| {
            let old = "DELETE FROM client_secrets WHERE until <= :before";
            transaction.execute(old, named_params! {":before": millis(forgotten)})?;
            let put = "INSERT INTO client_secrets (fingerprint, binding, terms, until, max_uses)
                       VALUES (:fingerprint, :binding, :terms, :until, :max_uses)";
            transaction.execute(
                put,
                named_params! {
                    ":fingerprint": secret.fingerprint,
                    ":binding": secret.binding,
                    ":terms": secret.terms,
                    ":until": millis(secret.until),
                    ":max_uses": secret.max_uses,
                },
            )?;
            Ok(())
        })
    }

    pub fn load(self, fingerprint: [u8; 32]) -> Result<Option<StoredClientSecret>, Error> {
        self.store.read(|connection| {
            let query = "SELECT binding, terms, until, max_uses FROM client_secrets
                         WHERE fingerprint = :fingerprint";
            let read = |row: &rusqlite::Row<'_>| {
                Ok(StoredClientSecret {
                    fingerprint,
                    binding: row.get(0)?,
                    terms: row.get(1)?,
                    until: time(row.get(2)?),
                    max_uses: row.get(3)?,
                })
            };
            let of = named_params! {":fingerprint": fingerprint};
            connection.query_row(query, of, read).optional()
        })
    }

    /// Takes one use; `false` if there is none left. Other processes may do so concurrently.
    pub fn take_use(self, fingerprint: [u8; 32]) -> Result<bool, Error> {
        let take = "UPDATE client_secrets SET uses = uses + 1
                    WHERE fingerprint = :fingerprint AND (max_uses IS NULL OR uses < max_uses)";
        let of = named_params! {":fingerprint": fingerprint};
        self.store.write(|transaction| Ok(transaction.execute(take, of)? == 1))
    }
}

#[cfg(test)]
mod tests;
