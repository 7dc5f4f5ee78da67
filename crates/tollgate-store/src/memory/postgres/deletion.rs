//! Deletion in slices, so that concurrent writers do not wait long. Index terms and vectors are
//! deleted with their rows; counters are updated.

use tollgate_core::memory::{MemoryScope, milliseconds};

use super::partitions;
use super::pool::{PgLease, SqlParam};
use super::rows::PgColumns;
use crate::memory::{MemoryCounts, MemoryError, MemoryForgetTarget};
use crate::number::{size, to_signed};

/// Maximum rows per slice.
pub(super) const SLICE: usize = 1_000;

/// Whether there may be more to delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PgDeleteRemainder {
    Nothing,
    Perhaps,
}

/// Deletes one slice.
pub(super) async fn some(
    lease: &PgLease,
    scope: &MemoryScope,
    what: &MemoryForgetTarget,
) -> Result<(MemoryCounts, PgDeleteRemainder), MemoryError> {
    let mut gone = MemoryCounts::default();
    let mut room = SLICE;
    // Lock in a fixed order, so that concurrent deletions do not deadlock.
    let mut seen = partitions::ids(&partitions::visible_partitions(lease, scope).await?);
    seen.sort_unstable();
    for partition in seen {
        lease.rows("SELECT FROM shelves WHERE id = $1 FOR UPDATE", &[&partition]).await?;
        let mut slice = PgDeleteSlice { lease, partition, gone: MemoryCounts::default(), room };
        slice.forget(what).await?;
        slice.settle().await?;
        room = slice.room;
        gone.add(&slice.gone);
    }
    Ok((gone, if room == 0 { PgDeleteRemainder::Perhaps } else { PgDeleteRemainder::Nothing }))
}

/// The slice of one partition.
struct PgDeleteSlice<'s> {
    lease: &'s PgLease,
    partition: i32,
    gone: MemoryCounts,
    /// Rows that may still be deleted.
    room: usize,
}

impl PgDeleteSlice<'_> {
    async fn forget(&mut self, what: &MemoryForgetTarget) -> Result<(), MemoryError> {
        let partition = self.partition;
        match what {
            MemoryForgetTarget::Author(name) => self.author(name).await,
            MemoryForgetTarget::Session(session) => {
                let session = session.as_str();
                let passages = "shelf = $1 AND session = $2 AND first IS NOT NULL";
                self.facts(passages, &[&partition, &session]).await?;
                let entries = "session = (SELECT id FROM sessions WHERE shelf = $1 AND name = $2)";
                self.entries(entries, &[&partition, &session]).await
            }
            MemoryForgetTarget::Fact(fact) => {
                self.facts("shelf = $1 AND id = $2", &[&partition, &to_signed(fact.0)]).await
            }
            MemoryForgetTarget::Entity(id) => {
                let id = id.as_str();
                self.entities("shelf = $1 AND id = $2", &[&partition, &id]).await?;
                // The entity may be in another partition.
                self.relations_with(&[id.to_owned()]).await
            }
            MemoryForgetTarget::Relation { source, kind, target } => {
                let one = "shelf = $1 AND source = $2 AND kind = $3 AND target = $4";
                let values: [SqlParam<'_>; 4] =
                    [&partition, &source.as_str(), kind, &target.as_str()];
                self.relations(one, &values).await
            }
            MemoryForgetTarget::Before(moment) => {
                let moment = milliseconds(*moment);
                let passages = "shelf = $1 AND at < $2 AND first IS NOT NULL";
                self.facts(passages, &[&partition, &moment]).await?;
                let old = "at < $2 AND session IN (
                               SELECT id FROM sessions WHERE shelf = $1 AND began < $2)";
                self.entries(old, &[&partition, &moment]).await
            }
            MemoryForgetTarget::Everything => self.everything().await,
        }
    }

    async fn author(&mut self, name: &str) -> Result<(), MemoryError> {
        let partition = self.partition;
        let his = "author IN (SELECT id FROM authors WHERE shelf = $1 AND name = $2)";
        self.entries(his, &[&partition, &name]).await?;
        self.facts(his, &[&partition, &name]).await?;
        self.relations(his, &[&partition, &name]).await?;
        self.entities(his, &[&partition, &name]).await?;
        let summaries = "UPDATE sessions SET summary = NULL, summary_author = NULL
                         WHERE summary_author IN (
                             SELECT id FROM authors WHERE shelf = $1 AND name = $2)";
        self.lease.rows(summaries, &[&partition, &name]).await?;
        if self.room > 0 {
            let delete = "DELETE FROM authors WHERE shelf = $1 AND name = $2";
            self.lease.rows(delete, &[&partition, &name]).await?;
        }
        Ok(())
    }

    async fn everything(&mut self) -> Result<(), MemoryError> {
        let partition = self.partition;
        let text = "session IN (SELECT id FROM sessions WHERE shelf = $1)";
        self.entries(text, &[&partition]).await?;
        self.facts("shelf = $1", &[&partition]).await?;
        self.relations("shelf = $1", &[&partition]).await?;
        self.entities("shelf = $1", &[&partition]).await?;
        if self.room > 0 {
            self.lease.rows("DELETE FROM authors WHERE shelf = $1", &[&partition]).await?;
            self.lease.rows("DELETE FROM shelves WHERE id = $1", &[&partition]).await?;
        }
        Ok(())
    }

    async fn entries(&mut self, which: &str, values: &[SqlParam<'_>]) -> Result<(), MemoryError> {
        let delete = format!(
            "WITH gone AS (
                 DELETE FROM entries WHERE id IN (
                     SELECT id FROM entries WHERE {which} LIMIT ${limit}) RETURNING session
             )
             SELECT session, count(*) FROM gone GROUP BY session ORDER BY session",
            limit = values.len() + 1,
        );
        let mut sessions = Vec::<i64>::new();
        let mut fewer = Vec::<i64>::new();
        for row in self.lease.rows(&delete, &within(values, &size(self.room))).await? {
            let mut columns = PgColumns::of(&row);
            sessions.push(columns.value()?);
            fewer.push(columns.value()?);
        }
        let gone: i64 = fewer.iter().sum();
        self.gone.entries += self.deduct(gone);
        // A session without entries is deleted.
        let settle = "WITH fewer AS (
                          SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS gone (session, entries)
                      ), empty AS (
                          DELETE FROM sessions USING fewer
                          WHERE id = session AND sessions.entries <= fewer.entries RETURNING id
                      ), left_over AS (
                          UPDATE sessions SET entries = sessions.entries - fewer.entries,
                              began = (SELECT min(at) FROM entries e WHERE e.session = sessions.id),
                              last = (SELECT max(at) FROM entries e WHERE e.session = sessions.id),
                              unread = (SELECT count(*) FROM entries e
                                        WHERE e.session = sessions.id AND e.id > sessions.read_to)
                          FROM fewer
                          WHERE id = session AND sessions.entries > fewer.entries
                      )
                      SELECT count(*) FROM empty";
        if !sessions.is_empty() {
            let row = self.lease.row(settle, &[&sessions, &fewer]).await?;
            self.gone.sessions += row.map_or(Ok(0), |row| PgColumns::of(&row).number())?;
        }
        Ok(())
    }

    async fn facts(&mut self, which: &str, values: &[SqlParam<'_>]) -> Result<(), MemoryError> {
        let delete = format!(
            "WITH gone AS (
                 DELETE FROM facts WHERE id IN (
                     SELECT id FROM facts WHERE {which} LIMIT ${limit}) RETURNING id
             ), meanings AS (
                 DELETE FROM vectors USING gone WHERE vectors.fact = gone.id
             )
             SELECT count(*) FROM gone",
            limit = values.len() + 1,
        );
        let gone = self.query_count(&delete, &within(values, &size(self.room))).await?;
        self.gone.facts += self.deduct(gone);
        Ok(())
    }

    /// Deletes the relations of this partition first; entities stay until there is room for that.
    async fn entities(&mut self, which: &str, values: &[SqlParam<'_>]) -> Result<(), MemoryError> {
        let limit = values.len() + 1;
        let find = format!("SELECT id FROM entities WHERE {which} LIMIT ${limit}");
        let rows = self.lease.rows(&find, &within(values, &size(self.room))).await?;
        let names: Vec<String> =
            rows.iter().map(|row| PgColumns::of(row).value()).collect::<Result<_, _>>()?;
        self.relations_with(&names).await?;
        let delete = "WITH gone AS (
                 DELETE FROM entities WHERE number IN (
                     SELECT number FROM entities WHERE shelf = $1 AND id = ANY ($2) LIMIT $3
                 ) RETURNING number
             )
             SELECT count(*) FROM gone";
        if !names.is_empty() && self.room > 0 {
            let gone =
                self.query_count(delete, &[&self.partition, &names, &size(self.room)]).await?;
            self.gone.entities += self.deduct(gone);
        }
        Ok(())
    }

    async fn relations_with(&mut self, entities: &[String]) -> Result<(), MemoryError> {
        let partition = self.partition;
        self.relations("shelf = $1 AND source = ANY ($2)", &[&partition, &entities]).await?;
        self.relations("shelf = $1 AND target = ANY ($2)", &[&partition, &entities]).await
    }

    async fn relations(&mut self, which: &str, values: &[SqlParam<'_>]) -> Result<(), MemoryError> {
        let delete = format!(
            "WITH gone AS (
                 DELETE FROM relations WHERE number IN (
                     SELECT number FROM relations WHERE {which} LIMIT ${limit}) RETURNING number
             )
             SELECT count(*) FROM gone",
            limit = values.len() + 1,
        );
        let gone = self.query_count(&delete, &within(values, &size(self.room))).await?;
        self.gone.relations += self.deduct(gone);
        Ok(())
    }

    async fn query_count(
        &self,
        statement: &str,
        values: &[SqlParam<'_>],
    ) -> Result<i64, MemoryError> {
        let row = self.lease.row(statement, values).await?;
        row.map_or(Ok(0), |row| PgColumns::of(&row).value())
    }

    /// Charges the deleted rows to the room.
    fn deduct(&mut self, gone: i64) -> u64 {
        let gone = usize::try_from(gone).unwrap_or_default();
        self.room = self.room.saturating_sub(gone);
        u64::try_from(gone).unwrap_or(u64::MAX)
    }

    async fn settle(&self) -> Result<(), MemoryError> {
        let update = "UPDATE shelves SET sessions = sessions - $2, entries = entries - $3,
                          facts = facts - $4, entities = entities - $5, relations = relations - $6
                      WHERE id = $1";
        let MemoryCounts { sessions, entries, facts, entities, relations } = self.gone;
        let numbers = [sessions, entries, facts, entities, relations].map(to_signed);
        let [sessions, entries, facts, entities, relations] = &numbers;
        let values: [SqlParam<'_>; 6] =
            [&self.partition, sessions, entries, facts, entities, relations];
        self.lease.rows(update, &values).await?;
        Ok(())
    }
}

/// Appends the limit as the last parameter.
fn within<'v>(values: &[SqlParam<'v>], most: &'v i64) -> Vec<SqlParam<'v>> {
    values.iter().copied().chain([most as SqlParam<'v>]).collect()
}
