//! M1 to M5: searches, entities, summaries and appends in a memory that is filled first, in SQLite
//! and in PostgreSQL. Every answer is checked; what was planted has to be found.

use serde_json::{Value, json};

use super::Bench;
use crate::campaign::{Campaign, Volume};
use crate::config::Scratch;
use crate::table::{Limit, Row, Verdict};
use crate::trouble::Trouble;

mod ask;
mod fill;
mod kept;

use ask::{Asked, Recall};
use fill::Filled;
pub(crate) use kept::Database;
use kept::Kept;

/// Milliseconds that 99 of 100 may take.
const MOST_SEARCH: f64 = 20.0;
const MOST_ENTITIES: f64 = 5.0;
const MOST_SUMMARY: f64 = 10.0;
const MOST_FACTS: f64 = 50.0;
/// Entries in a second.
const LEAST_APPENDS: f64 = 10_000.0;
/// Of the ten nearest by an exact scan.
const LEAST_RECALL: f64 = 0.95;
/// Questions of each database: in a short run, and in a long one.
const FEW: usize = 400;
const MANY: usize = 2_000;

/// As a part of the whole run: small, and without what has to be fetched first.
pub(super) async fn measure(bench: &Bench) -> Result<Vec<Row>, Trouble> {
    let campaign = Campaign::new(Volume::SMALL);
    let mut all = Vec::new();
    for database in [Database::Sqlite, Database::Postgres] {
        all.extend(rows(&bench.scratch, &campaign, database).await?);
    }
    Ok(all)
}

/// Fills one memory and asks it.
pub(crate) async fn rows(
    scratch: &Scratch,
    campaign: &Campaign,
    database: Database,
) -> Result<Vec<Row>, Trouble> {
    let kept = Kept::open(database, scratch).await?;
    let filled = Filled::fill(campaign, &kept.memory).await?;
    let is_full = campaign.volume == Volume::FULL;
    let times = (campaign.volume.entries / 100).min(if is_full { MANY } else { FEW });
    let searches = filled.searches(times).await?;
    let entities = filled.entities(times).await?;
    let summaries = filled.summaries(times).await?;
    let facts = filled.facts(times).await?;
    let recall = filled.recall(times / 4).await?;
    let Volume { entries, passages, entities: all, relations } = campaign.volume;
    let of = |what: &str, count: usize, of: &str| {
        format!("{what}, {}, {} {of}", database.name(), grouped(count))
    };
    let links = format!("entities and {} relations", grouped(relations));
    let rows = vec![
        timed("M1", of("search_sessions", entries, "entries"), (&searches, MOST_SEARCH)),
        timed("M2", of("query_entities", all, "entities"), (&entities, MOST_ENTITIES)),
        timed("M3", of("get_summary", all, &links), (&summaries, MOST_SUMMARY)),
        timed(
            "M4",
            of("search_facts, words and meaning", passages, "passages"),
            (&facts, MOST_FACTS),
        ),
        recalled(of("the ten nearest", passages, "vectors"), &recall),
        appended(of("appends", entries, "entries"), &filled),
    ];
    kept.close();
    Ok(rows)
}

fn timed(id: &'static str, what: String, (asked, most): (&Asked, f64)) -> Row {
    let millis = |q: f64| asked.samples.quantile(q).as_secs_f64() * 1e3;
    let limit = Limit { most, unit: "ms", digits: 2 };
    let how = format!("p99; p50 {:.2}, worst {:.2}; {}", millis(0.5), millis(1.0), asked.found());
    let figures = json!({
        "p50": millis(0.5), "p99": millis(0.99), "worst": millis(1.0), "first": asked.first_ms(),
        "asked": asked.samples.len(), "limit": most, "unit": "ms", "found": asked.found(),
    });
    Row::limited(id, what, millis(0.99), limit).explained(&how).with(figures)
}

fn recalled(what: String, recall: &Recall) -> Row {
    let share = recall.found as f64 / recall.wanted.max(1) as f64;
    let row = at_least("M4", what, (share, LEAST_RECALL), format!("{share:.3} of them"));
    row.with(json!({ "recall": share, "unit": "share" }))
}

fn appended(what: String, filled: &Filled<'_>) -> Row {
    let rate = filled.appended_in_a_second();
    let row = at_least("M5", what, (rate, LEAST_APPENDS), format!("{rate:.0}/s, in batches"));
    row.with(json!({ "rate": rate, "unit": "1/s", "filledInSeconds": filled.seconds() }))
}

fn at_least(id: &'static str, what: String, (value, least): (f64, f64), measured: String) -> Row {
    Row {
        id,
        what,
        measured,
        target: format!("≥ {least}"),
        ratio: Some(value / least),
        verdict: Verdict::at_least(value, least),
        figures: Value::Null,
    }
}

/// `1,000,000`.
fn grouped(count: usize) -> String {
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
