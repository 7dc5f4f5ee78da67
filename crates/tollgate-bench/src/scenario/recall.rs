//! M1 to M5: searches, entities, summaries and appends in a memory that is filled first, in SQLite
//! and in PostgreSQL. Every answer is checked; what was planted has to be found.

use serde_json::{Value, json};

use super::BenchContext;
use crate::campaign::{Campaign, CampaignVolume};
use crate::config::ScratchDirectory;
use crate::error::BenchError;
use crate::table::{FigureLimit, FigureRow, TargetVerdict};

mod ask;
mod backend;
mod fill;

use ask::{RecallScore, SearchTimings};
use backend::RecallBackend;
pub(crate) use backend::RecallDatabase;
use fill::FilledMemory;

/// Milliseconds that 99 of 100 may take.
const MAX_SEARCH_MS: f64 = 20.0;
const MAX_ENTITIES_MS: f64 = 5.0;
const MAX_SUMMARY_MS: f64 = 10.0;
const MAX_FACTS_MS: f64 = 50.0;
/// Entries in a second.
const LEAST_APPENDS: f64 = 10_000.0;
/// Of the ten nearest by an exact scan.
const LEAST_RECALL: f64 = 0.95;
/// Questions of each database: in a short run, and in a long one.
const QUICK_QUESTIONS: usize = 400;
const FULL_QUESTIONS: usize = 2_000;

/// As a part of the whole run: small, and without what has to be fetched first.
pub(super) async fn measure(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    let campaign = Campaign::new(CampaignVolume::SMALL);
    let mut all = Vec::new();
    for database in [RecallDatabase::Sqlite, RecallDatabase::Postgres] {
        all.extend(rows(&bench.scratch, &campaign, database).await?);
    }
    Ok(all)
}

/// Fills one memory and asks it.
pub(crate) async fn rows(
    scratch: &ScratchDirectory,
    campaign: &Campaign,
    database: RecallDatabase,
) -> Result<Vec<FigureRow>, BenchError> {
    let kept = RecallBackend::open(database, scratch).await?;
    let filled = FilledMemory::fill(campaign, &kept.memory).await?;
    let is_full = campaign.volume == CampaignVolume::FULL;
    let times =
        (campaign.volume.entries / 100).min(if is_full { FULL_QUESTIONS } else { QUICK_QUESTIONS });
    let searches = filled.searches(times).await?;
    let entities = filled.entities(times).await?;
    let summaries = filled.summaries(times).await?;
    let facts = filled.facts(times).await?;
    let recall = filled.recall(times / 4).await?;
    let CampaignVolume { entries, passages, entities: all, relations } = campaign.volume;
    let of = |what: &str, count: usize, of: &str| {
        format!("{what}, {}, {} {of}", database.name(), group_digits(count))
    };
    let links = format!("entities and {} relations", group_digits(relations));
    let rows = vec![
        latency_row("M1", of("search_sessions", entries, "entries"), &searches, MAX_SEARCH_MS),
        latency_row("M2", of("query_entities", all, "entities"), &entities, MAX_ENTITIES_MS),
        latency_row("M3", of("get_summary", all, &links), &summaries, MAX_SUMMARY_MS),
        latency_row(
            "M4",
            of("search_facts, words and meaning", passages, "passages"),
            &facts,
            MAX_FACTS_MS,
        ),
        recall_row(of("the ten nearest", passages, "vectors"), &recall),
        append_row(of("appends", entries, "entries"), &filled),
    ];
    kept.close();
    Ok(rows)
}

fn latency_row(id: &'static str, what: String, asked: &SearchTimings, most: f64) -> FigureRow {
    let millis = |q: f64| asked.samples.quantile(q).as_secs_f64() * 1e3;
    let limit = FigureLimit { most, unit: "ms", digits: 2 };
    let how =
        format!("p99; p50 {:.2}, worst {:.2}; {}", millis(0.5), millis(1.0), asked.found_text());
    let figures = json!({
        "p50": millis(0.5), "p99": millis(0.99), "worst": millis(1.0), "first": asked.first_ms(),
        "asked": asked.samples.len(), "limit": most, "unit": "ms", "found": asked.found_text(),
    });
    FigureRow::at_most(id, what, millis(0.99), limit).with_note(&how).with(figures)
}

fn recall_row(what: String, recall: &RecallScore) -> FigureRow {
    let share = recall.found as f64 / recall.expected.max(1) as f64;
    let row = at_least("M4", what, share, LEAST_RECALL, format!("{share:.3} of them"));
    row.with(json!({ "recall": share, "unit": "share" }))
}

fn append_row(what: String, filled: &FilledMemory<'_>) -> FigureRow {
    let rate = filled.appended_in_a_second();
    let row = at_least("M5", what, rate, LEAST_APPENDS, format!("{rate:.0}/s, in batches"));
    row.with(json!({ "rate": rate, "unit": "1/s", "filledInSeconds": filled.seconds() }))
}

fn at_least(id: &'static str, what: String, value: f64, least: f64, measured: String) -> FigureRow {
    FigureRow {
        id,
        what,
        measured,
        target: format!("≥ {least}"),
        ratio: Some(value / least),
        verdict: TargetVerdict::at_least(value, least),
        figures: Value::Null,
    }
}

/// `1,000,000`.
fn group_digits(count: usize) -> String {
    let digits = count.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}

#[cfg(test)]
mod tests;
