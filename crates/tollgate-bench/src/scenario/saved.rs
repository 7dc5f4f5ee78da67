//! P15: input tokens in code mode against the same tools inline, in three sizes of catalogue; graded
//! by what came of it. The whole table is `tollgate-bench code-tokens`.

use serde_json::json;

use super::Bench;
use crate::code_tokens::{self, Change, Class, Part, ROUNDS, Round, Way};
use crate::table::{Row, Verdict};
use crate::trouble::Trouble;

/// Of the whole round, and of hard queries, in per cent.
const MOST: [f64; 3] = [-75.0, -90.0, -95.0];
const MOST_HARD: f64 = -70.0;

pub(super) async fn measure(bench: &Bench) -> Result<Vec<Row>, Trouble> {
    let part = Part { every: bench.pace.queries, ..Part::WHOLE };
    let mut rows = Vec::new();
    for (number, most) in ROUNDS.zip(MOST) {
        let round = code_tokens::round(&bench.scratch, &bench.worker(), (number, &part)).await?;
        let what = |of: &str| format!("code mode, {} tools, {of}", round.tools);
        if let Some(change) = round.change(Way::Search, None) {
            rows.push(row(what("input tokens"), (change, most), &round));
        }
        if let Some(change) = round.change(Way::Search, Some(Class::Hard)) {
            rows.push(row(what("input tokens of hard queries"), (change, MOST_HARD), &round));
        }
        rows.push(dearer(what("queries above their baseline"), &round));
    }
    Ok(rows)
}

fn row(what: String, (change, most): (Change, f64), round: &Round) -> Row {
    let percent = change.percent();
    let wrong = round.wrong(Way::Search).len();
    let verdict = Verdict::at_most(percent, most);
    Row {
        id: "P15",
        what,
        measured: format!(
            "{percent:+.1} % ({} for {}; {wrong} not right)",
            change.code, change.direct
        ),
        target: format!("≤ {most} %"),
        ratio: Some(change.code as f64 / change.direct as f64),
        verdict: if wrong == 0 { verdict } else { Verdict::Short },
        figures: json!({ "direct": change.direct, "code": change.code, "wrong": wrong }),
    }
}

fn dearer(what: String, round: &Round) -> Row {
    let above = round.above(Way::Search);
    Row {
        id: "P15",
        what,
        measured: if above.is_empty() { "none".to_owned() } else { above.join(", ") },
        target: "none".to_owned(),
        ratio: None,
        verdict: if above.is_empty() { Verdict::Ok } else { Verdict::Short },
        figures: json!(above),
    }
}
