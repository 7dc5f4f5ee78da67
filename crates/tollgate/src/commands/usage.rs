//! `tollgate usage`: requests, tokens and cost of models.

use serde_json::Value;
use tollgate_config::Config;

use super::tools::{items, text};
use crate::cli::usage::UsageArgs;
use crate::command_error::CommandError;
use crate::gateway::Gateway;
use crate::output::{Output, OutputFormat, TextTable};

pub(super) async fn run(
    wanted: &UsageArgs,
    config: &Config,
    output: Output,
) -> Result<(), CommandError> {
    let UsageArgs { by, from, to, daily } = wanted;
    let days = [("from", from), ("to", to)];
    let days = days.into_iter().filter_map(|(name, day)| Some((name, day.clone()?)));
    let query: Vec<(&str, String)> = std::iter::once(("by", by.clone())).chain(days).collect();
    let gateway = Gateway::open_store(config).await?;
    let report = gateway.usage(&query).await;
    gateway.close().await;
    let report = report?;
    match output.form {
        OutputFormat::Json => output.json(&report),
        OutputFormat::Text if items(&report, "totals").is_empty() => {
            output.note("no model was asked in these days");
        }
        OutputFormat::Text => output.table(&table(&report, by, *daily)),
    }
    Ok(())
}

fn table(report: &Value, by: &str, daily: bool) -> TextTable {
    let name = match by {
        "agent" => "AGENT",
        "model" => "MODEL",
        _ => "KEY",
    };
    let rows: Vec<&Value> = items(report, if daily { "days" } else { "totals" }).iter().collect();
    // Most gateways have no live sessions.
    let has_speech = rows.iter().any(|row| speech(row) != [0.0; 3]);
    let figures = ["REQUESTS", "INPUT", "CACHED", "OUTPUT"];
    let speech_figures = ["LIVE", "HEARD", "SPOKEN"].into_iter().filter(|_| has_speech);
    let day = daily.then_some("DAY");
    let head = day.into_iter().chain([name]).chain(figures).chain(speech_figures);
    let head: Vec<&'static str> = head.chain(["COST"]).collect();
    let mut table = TextTable::new(&head);
    for row in rows {
        let day = daily.then(|| text(row, "day"));
        let name = match text(row, "name").as_str() {
            "" => "(no agent)".to_owned(),
            name => name.to_owned(),
        };
        let count = |key: &str| row[key].as_u64().unwrap_or_default().to_string();
        let figures = [
            count("requests"),
            count("input_tokens"),
            count("cached_input_tokens"),
            count("output_tokens"),
        ];
        let speech = speech(row).map(|seconds| format!("{seconds:.0} s"));
        let speech = speech.into_iter().filter(|_| has_speech);
        let row = day.into_iter().chain([name]).chain(figures).chain(speech).chain([cost(row)]);
        table.row(row.collect());
    }
    table
}

/// Seconds of live sessions, and of audio in and out.
fn speech(row: &Value) -> [f64; 3] {
    ["live_seconds", "audio_input_seconds", "audio_output_seconds"]
        .map(|key| row[key].as_f64().unwrap_or_default())
}

/// Says how much of it is unknown.
pub(super) fn cost(row: &Value) -> String {
    let count = |key: &str| row[key].as_u64().unwrap_or_default();
    let known = format!("{:.4} USD", row["cost_usd"].as_f64().unwrap_or_default());
    match (count("unpriced_requests"), count("requests")) {
        (0, _) => known,
        (unpriced, all) if unpriced == all => "price unknown".to_owned(),
        (unpriced, _) => format!("{known}, price of {unpriced} requests unknown"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::cost;

    #[test]
    fn a_cost_says_what_is_missing_in_it() {
        let of = |requests: u64, unpriced: u64| {
            cost(&json!({"requests": requests, "unpriced_requests": unpriced, "cost_usd": 1.25}))
        };
        assert_eq!(of(3, 0), "1.2500 USD");
        assert_eq!(of(3, 3), "price unknown");
        assert_eq!(of(3, 2), "1.2500 USD, price of 2 requests unknown");
    }
}
