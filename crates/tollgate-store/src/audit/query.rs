//! Queries on the audit ledger. Inputs are bound parameters only (no SQL injection). A page
//! examines a limited number of rows, and returns a cursor for the next one.

use std::time::{Duration, SystemTime};

use rusqlite::{Connection, Row as Found, named_params};
use tollgate_core::glob::Glob;

use super::anchor::AnchorFile;
use super::{AuditEntry, AuditRow};
use crate::error::Error;
use crate::number::{millis, time, to_signed, to_unsigned};

/// A filter on rows. `None` matches any.
#[derive(Debug, Clone)]
pub struct AuditQuery {
    pub since: Option<SystemTime>,
    pub until: Option<SystemTime>,
    pub kind: Option<String>,
    pub principal: Option<String>,
    pub agent: Option<String>,
    pub server: Option<String>,
    pub tool: Option<String>,
    /// Matches the requested name.
    pub name: Option<Glob>,
    pub outcome: Option<String>,
    pub call: Option<String>,
    /// Only rows after this one, in reading direction.
    pub after: Option<u64>,
    pub direction: AuditDirection,
    /// Limited to [`AuditQuery::MAX_PAGE_ROWS`].
    pub limit: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditDirection {
    OldestFirst,
    NewestFirst,
}

impl AuditQuery {
    /// Maximum rows per page.
    pub const MAX_PAGE_ROWS: usize = 1_000;

    /// All rows.
    pub fn all(direction: AuditDirection) -> Self {
        Self {
            since: None,
            until: None,
            kind: None,
            principal: None,
            agent: None,
            server: None,
            tool: None,
            name: None,
            outcome: None,
            call: None,
            after: None,
            direction,
            limit: Self::MAX_PAGE_ROWS,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditPage {
    pub rows: Vec<AuditRow>,
    /// The cursor for the next page; `None` if there are no more rows now.
    pub next: Option<u64>,
    /// The last row at the time of reading, whether it matched or not.
    pub last: u64,
}

/// A read-only connection; writers do not wait for it.
#[derive(Debug)]
pub struct AuditReader {
    connection: Connection,
    anchor: AnchorFile,
}

/// Rows examined per window.
const WINDOW: u64 = 20_000;
/// Maximum windows per page.
const WINDOWS: u32 = 50;

/// A missing value does not restrict the query.
macro_rules! select {
    () => {
        "SELECT * FROM audit WHERE sequence BETWEEN :first AND :last
            AND (:since IS NULL OR at >= :since)
            AND (:until IS NULL OR at <= :until)
            AND (:kind IS NULL OR kind = :kind)
            AND (:principal IS NULL OR principal = :principal)
            AND (:agent IS NULL OR agent = :agent)
            AND (:server IS NULL OR server = :server)
            AND (:tool IS NULL OR tool = :tool)
            AND (:name IS NULL OR name = :name)
            AND (:outcome IS NULL OR outcome = :outcome)
            AND (:call IS NULL OR call = :call)"
    };
}

impl AuditReader {
    pub(super) fn new(connection: Connection, anchor: AnchorFile) -> Self {
        Self { connection, anchor }
    }

    pub(super) fn anchor(&self) -> &AnchorFile {
        &self.anchor
    }

    pub(super) fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    pub fn page(&self, query: &AuditQuery) -> Result<AuditPage, Error> {
        let ends = "SELECT cut_sequence + 1, last_sequence FROM audit_chain";
        let ends = self.connection.query_row(ends, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let first = to_unsigned(ends.0);
        let last = to_unsigned(ends.1);
        let mut left = self.within(query, SequenceSpan { first, last })?;
        let limit = query.limit.clamp(1, AuditQuery::MAX_PAGE_ROWS);
        let mut rows = Vec::new();
        for _ in 0..WINDOWS {
            let Some(window) = left.take(query.direction) else {
                return Ok(AuditPage { rows, next: None, last });
            };
            self.look(query, window, &mut RowCollector { rows: &mut rows, limit })?;
            if rows.len() == limit {
                let next = rows.last().map(|row| row.sequence);
                return Ok(AuditPage { rows, next, last });
            }
        }
        let next = match query.direction {
            AuditDirection::OldestFirst => left.first.saturating_sub(1),
            AuditDirection::NewestFirst => left.last.saturating_add(1),
        };
        Ok(AuditPage { rows, next: Some(next), last })
    }

    /// The sequence range of possible matches. The clock may have jumped: times only narrow the
    /// range.
    fn within(&self, query: &AuditQuery, mut all: SequenceSpan) -> Result<SequenceSpan, Error> {
        if query.since.is_some() || query.until.is_some() {
            let span = "SELECT min(sequence), max(sequence) FROM audit WHERE at BETWEEN ?1 AND ?2";
            let times = (query.since.map_or(0, millis), query.until.map_or(i64::MAX, millis));
            let found: (Option<i64>, Option<i64>) =
                self.connection.query_row(span, times, |row| Ok((row.get(0)?, row.get(1)?)))?;
            let (Some(first), Some(last)) = found else { return Ok(SequenceSpan::NONE) };
            all = SequenceSpan { first: to_unsigned(first), last: to_unsigned(last) };
        }
        match (query.direction, query.after) {
            (AuditDirection::OldestFirst, Some(after)) => {
                all.first = all.first.max(after.saturating_add(1));
            }
            (AuditDirection::NewestFirst, Some(after)) => {
                all.last = all.last.min(after.saturating_sub(1));
            }
            (_, None) => {}
        }
        Ok(all)
    }

    fn look(
        &self,
        query: &AuditQuery,
        window: SequenceSpan,
        wanted: &mut RowCollector<'_>,
    ) -> Result<(), Error> {
        let exact = query.name.as_ref().filter(|name| !name.as_str().contains(['*', '?']));
        let pattern = query.name.as_ref().filter(|_| exact.is_none());
        let mut select = self.connection.prepare_cached(match query.direction {
            AuditDirection::OldestFirst => concat!(select!(), " ORDER BY sequence ASC"),
            AuditDirection::NewestFirst => concat!(select!(), " ORDER BY sequence DESC"),
        })?;
        let mut found = select.query(named_params! {
            ":first": to_signed(window.first),
            ":last": to_signed(window.last),
            ":since": query.since.map(millis),
            ":until": query.until.map(millis),
            ":kind": query.kind,
            ":principal": query.principal,
            ":agent": query.agent,
            ":server": query.server,
            ":tool": query.tool,
            ":name": exact.map(Glob::as_str),
            ":outcome": query.outcome,
            ":call": query.call,
        })?;
        while let Some(row) = found.next()? {
            if let Some(pattern) = pattern {
                let name: Option<String> = row.get("name")?;
                if !name.is_some_and(|name| pattern.matches(&name)) {
                    continue;
                }
            }
            wanted.rows.push(read(row)?);
            if wanted.rows.len() == wanted.limit {
                break;
            }
        }
        Ok(())
    }
}

struct RowCollector<'w> {
    rows: &'w mut Vec<AuditRow>,
    limit: usize,
}

/// A range of sequence numbers, inclusive.
#[derive(Debug, Clone, Copy)]
struct SequenceSpan {
    first: u64,
    last: u64,
}

impl SequenceSpan {
    const NONE: Self = Self { first: 1, last: 0 };

    /// Takes the next window from the side where reading begins.
    fn take(&mut self, direction: AuditDirection) -> Option<Self> {
        if self.first > self.last {
            return None;
        }
        let Self { first, last } = *self;
        match direction {
            AuditDirection::OldestFirst => {
                let end = last.min(first.saturating_add(WINDOW - 1));
                self.first = end + 1;
                Some(Self { first, last: end })
            }
            AuditDirection::NewestFirst => {
                let begin = first.max(last.saturating_sub(WINDOW - 1));
                // Rows begin at 1, so this does not underflow.
                self.last = begin - 1;
                Some(Self { first: begin, last })
            }
        }
    }
}

pub(super) fn read(row: &Found<'_>) -> rusqlite::Result<AuditRow> {
    let number = |column: &str| row.get::<_, Option<i64>>(column);
    Ok(AuditRow {
        sequence: to_unsigned(row.get("sequence")?),
        entry: AuditEntry {
            at: time(row.get("at")?),
            kind: row.get("kind")?,
            principal: row.get("principal")?,
            agent: row.get("agent")?,
            method: row.get("method")?,
            name: row.get("name")?,
            server: row.get("server")?,
            tool: row.get("tool")?,
            arguments_hash: row.get("arguments_hash")?,
            arguments: row.get("arguments")?,
            catalog_version: number("catalog_version")?.map(to_unsigned),
            tier: row.get("tier")?,
            outcome: row.get("outcome")?,
            duration: number("duration_us")?.map(to_unsigned).map(Duration::from_micros),
            bytes: number("bytes")?.map(to_unsigned),
            cached: row.get("cached")?,
            call: row.get("call")?,
            detail: row.get("detail")?,
            within: row.get("within")?,
        },
        hash: row.get("hash")?,
    })
}
