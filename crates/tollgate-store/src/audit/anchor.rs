//! Anchor of the audit ledger: its first and last row, noted in a file beside the database. Detects
//! a database that was emptied, removed, or restored from an older copy.
//!
//! The end is noted some time after rows are on disk, never before: it may lag, but a database
//! behind it has lost rows. The beginning is noted before old rows are removed.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Value, json};
use tollgate_core::{date, digest};

use super::chain::ChainHash;
use crate::durable_file;
use crate::error::Error;

/// A row by sequence number and hash. Zero: before the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowMark {
    pub sequence: u64,
    pub hash: ChainHash,
}

/// Rows missing from the ledger, and when that was detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditLoss {
    /// `None`: just now, and not recorded yet.
    pub found: Option<SystemTime>,
    pub kind: AuditLossKind,
    /// The last row known to have been written.
    pub anchored: RowMark,
    /// The last row of the database when the loss was detected.
    pub database: RowMark,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditLossKind {
    /// The database ends before the anchored row.
    Tail,
    /// The anchored row differs from the one in the database.
    Replaced,
    /// Rows were removed from the beginning, but not by retention.
    Head,
    /// The anchor is missing or damaged: rows may be missing at the end.
    Anchor,
    /// The database is new, but its data directory was used before.
    Database,
}

impl AuditLossKind {
    const ALL: [Self; 5] = [Self::Tail, Self::Replaced, Self::Head, Self::Anchor, Self::Database];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tail => "tail",
            Self::Replaced => "replaced",
            Self::Head => "head",
            Self::Anchor => "anchor",
            Self::Database => "database",
        }
    }
}

impl std::fmt::Display for AuditLoss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known = self.anchored.sequence;
        let found = self.database.sequence;
        match self.kind {
            AuditLossKind::Tail => write!(
                f,
                "rows are missing from the end: row {known} was written, but the database ended \
                 with row {found} (it was emptied, truncated, or restored from an older copy)"
            ),
            AuditLossKind::Replaced => write!(
                f,
                "row {known} differs from the row that was written: the database was replaced, and \
                 rows are missing"
            ),
            AuditLossKind::Head => {
                write!(f, "rows were removed from the beginning, but not by retention")
            }
            AuditLossKind::Anchor => write!(
                f,
                "the anchor file of the audit trail is missing or damaged: rows after row {found} \
                 may be missing"
            ),
            AuditLossKind::Database => write!(
                f,
                "the database was created anew in a data directory already in use: all earlier \
                 rows are missing"
            ),
        }
    }
}

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct AuditAnchor {
    pub(super) last: RowMark,
    /// The last row removed by retention.
    pub(super) cut: RowMark,
    /// Earlier losses, until they are acknowledged.
    pub(super) losses: Vec<AuditLoss>,
}

/// Further losses are not recorded: the first suffice.
const MAX_LOSSES: usize = 16;
const FORMAT: u64 = 1;

#[derive(Debug, Clone)]
pub(crate) struct AnchorFile(PathBuf);

/// The result of reading the file.
pub(super) enum AnchorFileContent {
    Nothing,
    Damaged,
    Anchor(AuditAnchor),
}

/// Held while anchor and database are compared or changed together.
pub(super) struct LockedAnchorFile<'f> {
    file: &'f AnchorFile,
    _lock: std::fs::File,
}

impl AnchorFile {
    pub(crate) fn of(database: &Path) -> Self {
        Self(durable_file::beside(database, "audit.anchor"))
    }

    pub(super) fn lock(&self) -> Result<LockedAnchorFile<'_>, Error> {
        Ok(LockedAnchorFile { file: self, _lock: durable_file::lock(&self.0)? })
    }

    pub(crate) fn exists(&self) -> bool {
        self.0.exists()
    }
}

impl LockedAnchorFile<'_> {
    pub(super) fn read(&self) -> Result<AnchorFileContent, Error> {
        let text = match durable_file::read(&self.file.0) {
            Ok(None) => return Ok(AnchorFileContent::Nothing),
            Ok(Some(text)) => text,
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                return Ok(AnchorFileContent::Damaged);
            }
            Err(error) => return Err(error.into()),
        };
        Ok(AuditAnchor::parse(&text).map_or(AnchorFileContent::Damaged, AnchorFileContent::Anchor))
    }

    pub(super) fn write(&self, anchor: &AuditAnchor) -> Result<(), Error> {
        Ok(durable_file::replace(&self.file.0, &anchor.to_text())?)
    }
}

impl AuditAnchor {
    pub(super) fn add(&mut self, loss: AuditLoss) {
        if self.losses.len() < MAX_LOSSES {
            self.losses.push(loss);
        }
    }

    fn to_text(&self) -> String {
        let losses: Vec<Value> = self.losses.iter().map(loss_json).collect();
        let body = json!({
            "format": FORMAT,
            "last": mark_json(&self.last),
            "removed": mark_json(&self.cut),
            "losses": losses,
        });
        format!("{body:#}\n")
    }

    fn parse(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        if value["format"].as_u64()? != FORMAT {
            return None;
        }
        let losses = value["losses"].as_array()?.iter().map(loss).collect::<Option<Vec<_>>>()?;
        Some(Self { last: mark(&value["last"])?, cut: mark(&value["removed"])?, losses })
    }
}

fn mark_json(mark: &RowMark) -> Value {
    json!({ "row": mark.sequence, "hash": digest::hex(&mark.hash) })
}

fn mark(value: &Value) -> Option<RowMark> {
    let text = value["hash"].as_str().filter(|text| text.len() == 64 && text.is_ascii())?;
    let mut hash = [0; 32];
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(RowMark { sequence: value["row"].as_u64()?, hash })
}

fn loss_json(loss: &AuditLoss) -> Value {
    json!({
        "found": loss.found.map(date::format_rfc3339),
        "kind": loss.kind.as_str(),
        "anchored": mark_json(&loss.anchored),
        "database": mark_json(&loss.database),
    })
}

fn loss(value: &Value) -> Option<AuditLoss> {
    let kind = value["kind"].as_str()?;
    Some(AuditLoss {
        found: value["found"].as_str().and_then(date::parse),
        kind: AuditLossKind::ALL.into_iter().find(|it| it.as_str() == kind)?,
        anchored: mark(&value["anchored"])?,
        database: mark(&value["database"])?,
    })
}
