//! Pinned tool definitions, trusted or rejected, and by whom. Several processes may see the same
//! tools: the first row counts as first use, and never overwrites a decision.

use std::time::SystemTime;

use rusqlite::{OptionalExtension, Row, Transaction, named_params};
use tollgate_core::id::{ServerId, ToolId, ToolName};
use tollgate_core::tool::ContentHash;
use tollgate_core::trust;

use crate::database::Store;
use crate::error::Error;
use crate::number::{millis, time};

/// A definition trusted on first use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstUsePin {
    pub tool: ToolId,
    pub hash: ContentHash,
    pub definition: String,
}

/// A reviewer's decision on a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub tool: ToolId,
    pub hash: ContentHash,
    pub definition: String,
    pub state: StoredPinState,
    pub by: String,
    pub at: SystemTime,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredPinState {
    Accepted,
    Rejected,
}

/// A stored definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPin {
    pub hash: ContentHash,
    pub state: StoredPinState,
    pub definition: String,
    pub first_seen: SystemTime,
    /// `None`: not decided, trusted on first use.
    pub decided: Option<(SystemTime, String)>,
}

/// The table of pins.
#[derive(Debug, Clone, Copy)]
pub struct PinTable<'s> {
    store: &'s Store,
}

impl Store {
    pub fn pins(&self) -> PinTable<'_> {
        PinTable { store: self }
    }
}

impl PinTable<'_> {
    /// All pins, without the definitions. An invalid row still shows that its tool is not new: the
    /// tool is served once it is accepted.
    pub fn load(self) -> Result<trust::ToolPins, Error> {
        self.store.read(|connection| {
            let mut query = connection.prepare(
                "SELECT server, tool, hash, state, decided_by IS NOT NULL AS by_person FROM pins
                 ORDER BY coalesce(decided_at, first_seen)",
            )?;
            let mut rows = query.query([])?;
            let mut pins = trust::ToolPins::default();
            while let Some(row) = rows.next()? {
                let Ok(server) = ServerId::parse(&row.get::<_, String>("server")?) else {
                    continue;
                };
                let tool = ToolName::new(&row.get::<_, String>("tool")?);
                let pin = pins.of(&ToolId { server, tool });
                let Some(hash) = ContentHash::parse(&row.get::<_, String>("hash")?) else {
                    continue;
                };
                match (state(row)?, row.get::<_, bool>("by_person")?) {
                    (StoredPinState::Rejected, _) => pin.reject(hash),
                    (StoredPinState::Accepted, true) => pin.accept(hash),
                    (StoredPinState::Accepted, false) => {
                        pin.trusted = trust::Pin::first_use(hash).trusted;
                    }
                }
            }
            Ok(pins)
        })
    }

    /// Pins these definitions if nothing is known of their tools yet.
    pub fn first_uses(self, seen: &[FirstUsePin], at: SystemTime) -> Result<(), Error> {
        self.store.write(|transaction| {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO pins (server, tool, hash, state, definition, first_seen)
                 SELECT ?1, ?2, ?3, 'accepted', ?4, ?5
                 WHERE NOT EXISTS (SELECT 1 FROM pins WHERE server = ?1 AND tool = ?2)",
            )?;
            for FirstUsePin { tool, hash, definition } in seen {
                let server = tool.server.as_str();
                let tool = tool.tool.as_str();
                insert.execute((server, tool, hash.to_string(), definition, millis(at)))?;
            }
            Ok(())
        })
    }

    /// Stores a decision. An accepted definition replaces the previous one.
    pub fn decide(self, decision: &Decision) -> Result<(), Error> {
        self.store.write(|transaction| decide(transaction, decision))
    }

    /// All definitions stored for one tool, newest last.
    pub fn of(self, tool: &ToolId) -> Result<Vec<StoredPin>, Error> {
        self.store.read(|connection| {
            let mut query = connection.prepare_cached(
                "SELECT * FROM pins WHERE server = ?1 AND tool = ?2
                 ORDER BY coalesce(decided_at, first_seen)",
            )?;
            let mut rows = query.query((tool.server.as_str(), tool.tool.as_str()))?;
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                all.extend(read_stored_pin(row)?);
            }
            Ok(all)
        })
    }
}

/// Further rejections of a tool evict the oldest.
const MAX_REJECTED: i64 = 64;

fn decide(transaction: &Transaction<'_>, decision: &Decision) -> rusqlite::Result<()> {
    let server = decision.tool.server.as_str();
    let tool = decision.tool.tool.as_str();
    let hash = decision.hash.to_string();
    if decision.state == StoredPinState::Accepted {
        transaction.execute(
            "DELETE FROM pins
             WHERE server = ?1 AND tool = ?2 AND state = 'accepted' AND hash <> ?3",
            (server, tool, &hash),
        )?;
    }
    let seen = "SELECT first_seen FROM pins WHERE server = ?1 AND tool = ?2 AND hash = ?3";
    let seen = transaction.query_row(seen, (server, tool, &hash), |row| row.get(0)).optional()?;
    transaction.execute(
        "INSERT OR REPLACE INTO pins (
            server, tool, hash, state, definition, first_seen, decided_at, decided_by
        ) VALUES (:server, :tool, :hash, :state, :definition, :first_seen, :at, :by)",
        named_params! {
            ":server": server,
            ":tool": tool,
            ":hash": hash,
            ":state": decision.state.as_str(),
            ":definition": decision.definition,
            ":first_seen": seen.unwrap_or_else(|| millis(decision.at)),
            ":at": millis(decision.at),
            ":by": decision.by,
        },
    )?;
    transaction.execute(
        "DELETE FROM pins WHERE rowid IN (
            SELECT rowid FROM pins WHERE server = ?1 AND tool = ?2 AND state = 'rejected'
            ORDER BY decided_at DESC, rowid DESC LIMIT -1 OFFSET ?3)",
        (server, tool, MAX_REJECTED),
    )?;
    Ok(())
}

impl StoredPinState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
        }
    }
}

fn state(row: &Row<'_>) -> rusqlite::Result<StoredPinState> {
    let state: String = row.get("state")?;
    Ok(if state == "accepted" { StoredPinState::Accepted } else { StoredPinState::Rejected })
}

fn read_stored_pin(row: &Row<'_>) -> rusqlite::Result<Option<StoredPin>> {
    let Some(hash) = ContentHash::parse(&row.get::<_, String>("hash")?) else { return Ok(None) };
    let at: Option<i64> = row.get("decided_at")?;
    let by: Option<String> = row.get("decided_by")?;
    Ok(Some(StoredPin {
        hash,
        state: state(row)?,
        definition: row.get("definition")?,
        first_seen: time(row.get("first_seen")?),
        decided: at.map(time).zip(by),
    }))
}

#[cfg(test)]
mod tests;
