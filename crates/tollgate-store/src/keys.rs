//! API keys created by command: one row each, with its permissions and the SHA-256 of its secret.
//! The meaning of permissions is defined by the authentication layer.

use std::time::SystemTime;

use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, named_params};

use crate::database::Store;
use crate::error::Error;
use crate::number::{self, millis};

mod marker;

pub(crate) use marker::KeyMarker;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKey {
    pub name: String,
    pub secret: KeySecrets,
    pub role: String,
    /// `None`: no restriction, here and below.
    pub agents: Option<Vec<String>>,
    pub rights: Vec<String>,
    pub tools: Option<Vec<String>>,
    pub rate_limit: Option<String>,
    pub model_limits: Option<Vec<String>>,
    pub concurrent: Option<u32>,
    /// The tenant whose memory it uses.
    pub tenant: Option<String>,
    pub made: SystemTime,
    pub expires: Option<SystemTime>,
    pub used: Option<SystemTime>,
    pub revoked: Option<SystemTime>,
}

/// The hashes of the secrets of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySecrets {
    pub fingerprint: [u8; 32],
    /// The previous secret, and until when it is still accepted (rotation).
    pub former: Option<([u8; 32], SystemTime)>,
}

/// The result of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyChange {
    Done,
    /// There is no active key of that name.
    Missing,
    /// There already is an active key of that name.
    Taken,
}

/// The table of keys.
#[derive(Debug, Clone, Copy)]
pub struct StoredKeyTable<'s> {
    store: &'s Store,
}

impl Store {
    pub fn keys(&self) -> StoredKeyTable<'_> {
        StoredKeyTable { store: self }
    }

    /// Changes whenever another connection has written to the file.
    pub fn data_version(&self) -> Result<i64, Error> {
        self.read(|connection| connection.query_row("PRAGMA data_version", [], |row| row.get(0)))
    }
}

impl StoredKeyTable<'_> {
    /// All keys ever created, including revoked ones.
    pub fn load(self) -> Result<Vec<StoredKey>, Error> {
        self.store.read(|connection| {
            let mut query = connection.prepare_cached("SELECT * FROM keys ORDER BY name")?;
            query.query_map([], read_stored_key)?.collect()
        })
    }

    /// Whether a key is required: one was created, even if the database has lost it since.
    pub fn is_required(self) -> Result<bool, Error> {
        Ok(self.marker().is_some_and(|marker| marker.exists()) || self.count()? > 0)
    }

    /// Allows local access without a key again: deletes revoked keys and the marker. Returns
    /// `false`, without a change, while a key is active.
    pub fn forget(self) -> Result<bool, Error> {
        let forget =
            "DELETE FROM keys WHERE NOT EXISTS (SELECT 1 FROM keys WHERE revoked_at IS NULL)";
        self.store.write(|transaction| transaction.execute(forget, []))?;
        if self.count()? > 0 {
            return Ok(false);
        }
        if let Some(marker) = self.marker() {
            marker.remove()?;
        }
        Ok(true)
    }

    /// Creates the marker in data directories of versions without it.
    pub(crate) fn require_if_made(self, is_lost: bool) -> Result<(), Error> {
        let Some(marker) = self.marker().filter(|marker| !marker.exists()) else { return Ok(()) };
        if is_lost || self.count()? > 0 { marker.set() } else { Ok(()) }
    }

    fn count(self) -> Result<u32, Error> {
        self.store.read(|it| it.query_row("SELECT count(*) FROM keys", [], |row| row.get(0)))
    }

    fn marker(self) -> Option<KeyMarker> {
        self.store.files().map(|files| KeyMarker::of(files.database()))
    }

    /// A name can be reused once its key is revoked.
    pub fn keep(self, key: &StoredKey) -> Result<KeyChange, Error> {
        // The marker must be on disk first: no key may exist without it.
        if let Some(marker) = self.marker() {
            marker.set()?;
        }
        self.store.write(|transaction| {
            let found = "SELECT revoked_at IS NULL FROM keys WHERE name = ?1";
            let found: Option<bool> =
                transaction.query_row(found, [&key.name], |row| row.get(0)).optional()?;
            if found == Some(true) {
                return Ok(KeyChange::Taken);
            }
            transaction.execute("DELETE FROM keys WHERE name = ?1", [&key.name])?;
            let mut insert = transaction.prepare_cached(
                "INSERT INTO keys (
                    name, fingerprint, role, agents, rights, tools, rate_limit, concurrent,
                    tenant, model_limits, made_at, expires_at
                ) VALUES (
                    :name, :fingerprint, :role, :agents, :rights, :tools, :rate_limit, :concurrent,
                    :tenant, :model_limits, :made_at, :expires_at
                )",
            )?;
            insert.execute(named_params! {
                ":name": key.name,
                ":fingerprint": key.secret.fingerprint,
                ":role": key.role,
                ":agents": key.agents.as_deref().map(lines),
                ":rights": lines(&key.rights),
                ":tools": key.tools.as_deref().map(lines),
                ":rate_limit": key.rate_limit,
                ":concurrent": key.concurrent,
                ":tenant": key.tenant,
                ":model_limits": key.model_limits.as_deref().map(lines),
                ":made_at": millis(key.made),
                ":expires_at": key.expires.map(millis),
            })?;
            Ok(KeyChange::Done)
        })
    }

    pub fn revoke(self, name: &str, now: SystemTime) -> Result<KeyChange, Error> {
        let revoke = "UPDATE keys SET revoked_at = ?2, former = NULL, former_until = NULL
                      WHERE name = ?1 AND revoked_at IS NULL";
        self.store.write(|transaction| {
            transaction.execute(revoke, (name, millis(now))).map(change_from_rows)
        })
    }

    /// The current secret becomes the former one.
    pub fn rotate(
        self,
        name: &str,
        fingerprint: [u8; 32],
        former_until: Option<SystemTime>,
    ) -> Result<KeyChange, Error> {
        let rotate = "UPDATE keys SET
                        former = CASE WHEN ?3 IS NULL THEN NULL ELSE fingerprint END,
                        former_until = ?3, fingerprint = ?2
                      WHERE name = ?1 AND revoked_at IS NULL";
        self.store.write(|transaction| {
            transaction
                .execute(rotate, (name, fingerprint, former_until.map(millis)))
                .map(change_from_rows)
        })
    }

    /// Records when keys were last used, for display.
    pub fn record_uses(self, used: &[(String, SystemTime)]) -> Result<(), Error> {
        let update = "UPDATE keys SET used_at = max(?2, coalesce(used_at, 0)) WHERE name = ?1";
        self.store.write(|transaction| {
            let mut update = transaction.prepare_cached(update)?;
            for (name, when) in used {
                update.execute((name, millis(*when)))?;
            }
            Ok(())
        })
    }
}

fn change_from_rows(rows: usize) -> KeyChange {
    if rows == 0 { KeyChange::Missing } else { KeyChange::Done }
}

fn read_stored_key(row: &Row<'_>) -> rusqlite::Result<StoredKey> {
    let time = |column: &str| row.get::<_, Option<i64>>(column).map(|time| time.map(number::time));
    let list = |column: &str| {
        row.get::<_, Option<String>>(column).map(|text| text.as_deref().map(split_lines))
    };
    let former: Option<[u8; 32]> = row.get("former")?;
    let made = time("made_at")?;
    Ok(StoredKey {
        name: row.get("name")?,
        secret: KeySecrets {
            fingerprint: row.get("fingerprint")?,
            former: former.zip(time("former_until")?),
        },
        role: row.get("role")?,
        agents: list("agents")?,
        rights: list("rights")?.unwrap_or_default(),
        tools: list("tools")?,
        rate_limit: row.get("rate_limit")?,
        model_limits: list("model_limits")?,
        concurrent: row.get("concurrent")?,
        tenant: row.get("tenant")?,
        made: made.ok_or_else(|| {
            rusqlite::Error::InvalidColumnType(0, "made_at".to_owned(), Type::Null)
        })?,
        expires: time("expires_at")?,
        used: time("used_at")?,
        revoked: time("revoked_at")?,
    })
}

fn lines(list: &[String]) -> String {
    list.join("\n")
}

fn split_lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
