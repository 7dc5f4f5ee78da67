//! Latency samples and tier state of each tool: one row per environment and tool. Several processes
//! may measure the same tools; samples are merged, none are lost.

use std::time::SystemTime;

use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, Transaction, named_params};
use tollgate_core::budget::Tier;
use tollgate_core::id::{ServerId, ToolId, ToolName};
use tollgate_core::latency::{LatencyWindow, Sample};
use tollgate_core::tier_assignment::{SavedTierAssignment, ToolHealth};

use crate::database::Store;
use crate::error::Error;
use crate::number::{millis, time, to_signed, to_unsigned};

/// The stored state of one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measurement {
    pub tool: ToolId,
    /// Oldest first.
    pub samples: Vec<Sample>,
    pub standing: SavedTierAssignment,
    /// For display; the wall clock may have jumped.
    pub updated_at: SystemTime,
    /// Revision of the row this was read from or last written to; zero if there was none.
    pub revision: u64,
}

/// A measurement to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsavedMeasurement {
    pub measurement: Measurement,
    /// Number of samples at the end that are newer than that revision.
    pub fresh: usize,
}

#[derive(Debug, Default)]
pub struct LoadedMeasurements {
    pub measurements: Vec<Measurement>,
    /// Invalid rows, which were left unchanged.
    pub unreadable: usize,
}

/// The table of measurements.
#[derive(Debug, Clone, Copy)]
pub struct MeasurementTable<'s> {
    store: &'s Store,
}

impl Store {
    pub fn measurements(&self) -> MeasurementTable<'_> {
        MeasurementTable { store: self }
    }
}

impl MeasurementTable<'_> {
    pub fn load(self, environment: &str) -> Result<LoadedMeasurements, Error> {
        self.store.read(|connection| {
            let mut query = connection.prepare_cached(
                "SELECT * FROM measurements WHERE environment = ?1 ORDER BY server, tool",
            )?;
            let mut rows = query.query([environment])?;
            let mut loaded = LoadedMeasurements::default();
            while let Some(row) = rows.next()? {
                match measurement(row) {
                    Ok(measurement) => loaded.measurements.push(measurement),
                    Err(error) if error.sqlite_error_code().is_some() => return Err(error),
                    Err(_) => loaded.unreadable += 1,
                }
            }
            Ok(loaded)
        })
    }

    /// Writes all or none. Returns the new revision of each row; for a row with foreign samples the
    /// previous one, so that it is merged again and not overwritten.
    pub fn save(
        self,
        environment: &str,
        unsaved: &[UnsavedMeasurement],
    ) -> Result<Vec<u64>, Error> {
        self.store.write(|transaction| {
            unsaved.iter().map(|it| save(transaction, environment, it)).collect()
        })
    }

    /// Deletes measurements older than that, and returns the number of tools.
    pub fn forget(self, before: SystemTime) -> Result<usize, Error> {
        let forget = "DELETE FROM measurements WHERE updated_at < ?1";
        self.store.write(|transaction| transaction.execute(forget, [millis(before)]))
    }
}

/// If another process wrote the row meanwhile, its samples are kept, and ours are appended.
fn save(
    transaction: &Transaction<'_>,
    environment: &str,
    new: &UnsavedMeasurement,
) -> rusqlite::Result<u64> {
    let Measurement { tool, standing, .. } = &new.measurement;
    let found = "SELECT revision, samples, epoch FROM measurements
                 WHERE environment = ?1 AND server = ?2 AND tool = ?3";
    let key = (environment, tool.server.as_str(), tool.tool.as_str());
    let mut found = transaction.prepare_cached(found)?;
    let found = found.query_row(key, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    let ours = || (blob(&new.measurement.samples), standing.epoch);
    let (revision, known, (samples, epoch)) = match found.optional()? {
        Some((revision, theirs, epoch)) if revision != to_signed(new.measurement.revision) => {
            (revision, Some(new.measurement.revision), merge_samples(theirs, epoch, new))
        }
        Some((revision, ..)) => (revision, None, ours()),
        None => (0, None, ours()),
    };
    let revision = revision.saturating_add(1);
    let mut replace = transaction.prepare_cached(
        "INSERT OR REPLACE INTO measurements (
            environment, server, tool, revision, samples, measured, home, health, epoch, run,
            failed_trials, updated_at
        ) VALUES (
            :environment, :server, :tool, :revision, :samples, :measured, :home, :health, :epoch,
            :run, :failed_trials, :updated_at
        )",
    )?;
    replace.execute(named_params! {
        ":environment": environment,
        ":server": tool.server.as_str(),
        ":tool": tool.tool.as_str(),
        ":revision": revision,
        ":samples": samples,
        ":measured": standing.measured.map(Tier::as_str),
        ":home": standing.home.map(Tier::as_str),
        ":health": standing.health.as_str(),
        ":epoch": epoch,
        ":run": standing.run,
        ":failed_trials": standing.failed_trials,
        ":updated_at": millis(new.measurement.updated_at),
    })?;
    Ok(known.unwrap_or(to_unsigned(revision)))
}

const SAMPLE_BYTES: usize = size_of::<u64>();

/// Their samples followed by ours, and the number at the end that count.
fn merge_samples(
    mut theirs: Vec<u8>,
    their_epoch: i64,
    new: &UnsavedMeasurement,
) -> (Vec<u8>, u32) {
    let Measurement { samples: ours, standing, .. } = &new.measurement;
    let fresh = new.fresh.min(ours.len());
    // Keep what is readable of a damaged row.
    theirs.truncate(theirs.len() - theirs.len() % SAMPLE_BYTES);
    let foreign = (theirs.len() / SAMPLE_BYTES).saturating_sub(ours.len() - fresh);
    let epoch = epoch(standing.epoch as usize, fresh, foreign, to_unsigned(their_epoch));
    theirs.extend(blob(&ours[ours.len() - fresh..]));
    let surplus = theirs.len().saturating_sub(LatencyWindow::SIZE * SAMPLE_BYTES);
    (theirs.split_off(surplus), epoch)
}

/// An epoch within our fresh samples began after all of theirs. Otherwise their samples count too,
/// but only those of their own epoch.
fn epoch(ours: usize, fresh: usize, foreign: usize, theirs: u64) -> u32 {
    if ours < fresh {
        return u32::try_from(ours).unwrap_or(u32::MAX);
    }
    let theirs = usize::try_from(theirs).unwrap_or(usize::MAX).saturating_add(fresh);
    let both = ours.saturating_add(foreign).min(theirs).min(LatencyWindow::SIZE);
    u32::try_from(both).unwrap_or(u32::MAX)
}

fn blob(samples: &[Sample]) -> Vec<u8> {
    samples.iter().flat_map(|sample| sample.to_bits().to_le_bytes()).collect()
}

fn measurement(row: &Row<'_>) -> rusqlite::Result<Measurement> {
    let server: String = row.get("server")?;
    let tool: String = row.get("tool")?;
    let health: String = row.get("health")?;
    Ok(Measurement {
        tool: ToolId {
            server: readable("server", ServerId::parse(&server).ok())?,
            tool: ToolName::new(&tool),
        },
        samples: readable("samples", samples(&row.get::<_, Vec<u8>>("samples")?))?,
        standing: SavedTierAssignment {
            measured: tier(row, "measured")?,
            home: tier(row, "home")?,
            health: readable("health", ToolHealth::parse(&health))?,
            epoch: row.get("epoch")?,
            run: row.get("run")?,
            failed_trials: row.get("failed_trials")?,
        },
        updated_at: time(row.get("updated_at")?),
        revision: to_unsigned(row.get("revision")?),
    })
}

fn tier(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<Tier>> {
    let name: Option<String> = row.get(column)?;
    name.map(|name| readable(column, Tier::parse(&name))).transpose()
}

fn samples(blob: &[u8]) -> Option<Vec<Sample>> {
    let (samples, rest) = blob.as_chunks();
    let samples = samples.iter().map(|bytes| Sample::from_bits(u64::from_le_bytes(*bytes)));
    if rest.is_empty() { samples.collect() } else { None }
}

fn readable<T>(column: &str, value: Option<T>) -> rusqlite::Result<T> {
    value.ok_or_else(|| rusqlite::Error::InvalidColumnType(0, column.to_owned(), Type::Blob))
}

#[cfg(test)]
mod tests;
