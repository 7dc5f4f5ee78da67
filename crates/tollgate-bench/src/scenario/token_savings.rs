//! P15: input tokens in code mode against the same tools inline, in three sizes of catalogue; graded
//! by what came of it. The whole table is `tollgate-bench code-tokens`.

use serde_json::json;

use super::BenchContext;
use crate::code_tokens::{
    self, QueryClass, ROUNDS, RoundReport, TokenChange, ToolStrategy, WorkloadSelection,
};
use crate::error::BenchError;
use crate::table::{FigureRow, TargetVerdict};

/// Of the whole round, and of hard queries, in per cent.
const MAX_CHANGE_PERCENT: [f64; 3] = [-75.0, -90.0, -95.0];
const MAX_HARD_PERCENT: f64 = -70.0;

pub(super) async fn measure(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    let part = WorkloadSelection { every: bench.pace.queries, ..WorkloadSelection::WHOLE };
    let mut rows = Vec::new();
    for (number, most) in ROUNDS.zip(MAX_CHANGE_PERCENT) {
        let round = code_tokens::round(&bench.scratch, &bench.worker(), number, &part).await?;
        let what = |of: &str| format!("code mode, {} tools, {of}", round.tools);
        if let Some(change) = round.change(ToolStrategy::Search, None) {
            rows.push(row(what("input tokens"), change, most, &round));
        }
        if let Some(change) = round.change(ToolStrategy::Search, Some(QueryClass::Hard)) {
            rows.push(row(what("input tokens of hard queries"), change, MAX_HARD_PERCENT, &round));
        }
        rows.push(costlier_queries_row(what("queries above their baseline"), &round));
    }
    Ok(rows)
}

fn row(what: String, change: TokenChange, most: f64, round: &RoundReport) -> FigureRow {
    let percent = change.percent();
    let wrong = round.wrong(ToolStrategy::Search).len();
    let verdict = TargetVerdict::at_most(percent, most);
    FigureRow {
        id: "P15",
        what,
        measured: format!(
            "{percent:+.1} % ({} for {}; {wrong} not right)",
            change.code, change.direct
        ),
        target: format!("≤ {most} %"),
        ratio: Some(change.code as f64 / change.direct as f64),
        verdict: if wrong == 0 { verdict } else { TargetVerdict::Short },
        figures: json!({ "direct": change.direct, "code": change.code, "wrong": wrong }),
    }
}

fn costlier_queries_row(what: String, round: &RoundReport) -> FigureRow {
    let above = round.above(ToolStrategy::Search);
    FigureRow {
        id: "P15",
        what,
        measured: if above.is_empty() { "none".to_owned() } else { above.join(", ") },
        target: "none".to_owned(),
        ratio: None,
        verdict: if above.is_empty() { TargetVerdict::Ok } else { TargetVerdict::Short },
        figures: json!(above),
    }
}
