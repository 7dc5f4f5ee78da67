//! Usage of models: one row per day, key, agent and model. Several processes may add to the same
//! rows.

use rusqlite::{Row, Transaction, named_params};
use tollgate_core::model_usage::{Cost, SpeechTotals, UsageDay, UsageTotals};

use crate::database::Store;
use crate::error::Error;
use crate::number::{to_signed, to_unsigned};

/// The sum of one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRow {
    pub day: UsageDay,
    /// Name of the principal.
    pub key: String,
    /// Empty: the model was asked directly.
    pub agent: String,
    pub model: String,
    pub totals: UsageTotals,
}

/// The table of usage.
#[derive(Debug, Clone, Copy)]
pub struct ModelUsageTable<'s> {
    store: &'s Store,
}

impl Store {
    pub fn model_usage(&self) -> ModelUsageTable<'_> {
        ModelUsageTable { store: self }
    }
}

impl ModelUsageTable<'_> {
    /// Adds to what the rows have: all of it or nothing.
    pub fn add_rows(self, rows: &[UsageRow]) -> Result<(), Error> {
        self.store.write(|transaction| rows.iter().try_for_each(|row| add(transaction, row)))
    }

    /// The rows of these days, both included, the oldest first.
    pub fn load(self, from: UsageDay, to: UsageDay) -> Result<Vec<UsageRow>, Error> {
        self.store.read(|connection| {
            let mut query = connection.prepare_cached(
                "SELECT * FROM model_usage WHERE day BETWEEN ?1 AND ?2
                 ORDER BY day, key, agent, model",
            )?;
            query.query_map((from.number(), to.number()), usage_row)?.collect()
        })
    }

    /// Deletes earlier days, and returns the number of rows.
    pub fn forget(self, before: UsageDay) -> Result<usize, Error> {
        let forget = "DELETE FROM model_usage WHERE day < ?1";
        self.store.write(|transaction| transaction.execute(forget, [before.number()]))
    }
}

/// A sum that would be too large for its column stays at the largest number.
fn add(transaction: &Transaction<'_>, row: &UsageRow) -> rusqlite::Result<()> {
    let key = (row.day.number(), &row.key, &row.agent, &row.model);
    let mut find = transaction.prepare_cached(
        "SELECT * FROM model_usage WHERE day = ?1 AND key = ?2 AND agent = ?3 AND model = ?4",
    )?;
    let mut totals = row.totals;
    if let Some(found) = find.query_map(key, usage_row)?.next() {
        totals.add(&found?.totals);
    }
    let mut put = transaction.prepare_cached(
        "INSERT OR REPLACE INTO model_usage (
            day, key, agent, model, requests, input_tokens, output_tokens, cache_read_tokens,
            cache_written_tokens, cost_nano_usd, unpriced_requests, audio_input_tokens,
            audio_output_tokens, audio_cached_tokens, heard_ms, spoken_ms, live_ms
        ) VALUES (
            :day, :key, :agent, :model, :requests, :input_tokens, :output_tokens,
            :cache_read_tokens, :cache_written_tokens, :cost_nano_usd, :unpriced_requests,
            :audio_input_tokens, :audio_output_tokens, :audio_cached_tokens, :heard_ms,
            :spoken_ms, :live_ms
        )",
    )?;
    put.execute(named_params! {
        ":day": row.day.number(),
        ":key": row.key,
        ":agent": row.agent,
        ":model": row.model,
        ":requests": to_signed(totals.requests),
        ":input_tokens": to_signed(totals.input),
        ":output_tokens": to_signed(totals.output),
        ":cache_read_tokens": to_signed(totals.cache_read),
        ":cache_written_tokens": to_signed(totals.cache_written),
        ":cost_nano_usd": to_signed(totals.cost.nano_usd()),
        ":unpriced_requests": to_signed(totals.unpriced),
        ":audio_input_tokens": to_signed(totals.speech.audio_input),
        ":audio_output_tokens": to_signed(totals.speech.audio_output),
        ":audio_cached_tokens": to_signed(totals.speech.audio_cached),
        ":heard_ms": to_signed(totals.speech.heard_ms),
        ":spoken_ms": to_signed(totals.speech.spoken_ms),
        ":live_ms": to_signed(totals.speech.live_ms),
    })?;
    Ok(())
}

fn usage_row(row: &Row<'_>) -> rusqlite::Result<UsageRow> {
    let count = |column: &str| row.get::<_, i64>(column).map(to_unsigned);
    Ok(UsageRow {
        day: UsageDay::from_number(row.get("day")?),
        key: row.get("key")?,
        agent: row.get("agent")?,
        model: row.get("model")?,
        totals: UsageTotals {
            requests: count("requests")?,
            input: count("input_tokens")?,
            output: count("output_tokens")?,
            cache_read: count("cache_read_tokens")?,
            cache_written: count("cache_written_tokens")?,
            cost: Cost::from_nano_usd(count("cost_nano_usd")?),
            unpriced: count("unpriced_requests")?,
            speech: SpeechTotals {
                audio_input: count("audio_input_tokens")?,
                audio_output: count("audio_output_tokens")?,
                audio_cached: count("audio_cached_tokens")?,
                heard_ms: count("heard_ms")?,
                spoken_ms: count("spoken_ms")?,
                live_ms: count("live_ms")?,
            },
        },
    })
}

#[cfg(test)]
mod tests;
