//! `tollgate tools --leaderboard`: the measured tools of each category, fastest first.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::score::{self, Board, Entry};

use super::{text, time};
use crate::output::{Output, Table};

/// Where a server has no category.
const NONE: &str = "other";

pub(super) fn print(tools: &[Value], output: Output) {
    let boards = boards(tools);
    if boards.is_empty() {
        output.note("no tool was measured yet; `tollgate calibrate` measures those that are safe");
        return;
    }
    let head = ["CATEGORY", "RANK", "TOOL", "SERVER", "P50", "P95", "CALLS", "BADGE", "FITS"];
    let mut table = Table::new(&head);
    for Board { category, ranked } in boards {
        for one in ranked {
            let tool = named(tools, &one.name);
            let measured = &tool["measured"];
            table.row(vec![
                category.clone(),
                one.rank.to_string(),
                text(tool, "name"),
                text(tool, "server"),
                time(&measured["p50_ms"]),
                time(&measured["p95_ms"]),
                measured["calls"].as_u64().unwrap_or(0).to_string(),
                one.badge.to_string(),
                text(tool, "compatibility"),
            ]);
        }
    }
    output.table(&table);
}

pub(super) fn json(tools: &[Value]) -> Value {
    let board = |Board { category, ranked }| {
        let ranked = ranked.into_iter().map(|one: score::Ranked| {
            let tool = named(tools, &one.name);
            json!({
                "rank": one.rank,
                "name": one.name,
                "server": tool["server"],
                "measured": tool["measured"],
                "badge": one.badge.as_str(),
                "compatibility": tool["compatibility"],
            })
        });
        json!({ "category": category, "tools": ranked.collect::<Vec<_>>() })
    };
    json!({ "categories": boards(tools).into_iter().map(board).collect::<Vec<_>>() })
}

/// What was never measured has no rank.
fn boards(tools: &[Value]) -> Vec<Board> {
    let entry = |tool: &Value| {
        let p50 = tool["measured"]["p50_ms"].as_f64()?;
        Some(Entry {
            category: tool["category"].as_str().unwrap_or(NONE).to_owned(),
            name: tool["name"].as_str()?.to_owned(),
            p50: Duration::try_from_secs_f64(p50 / 1_000.0).ok()?,
        })
    };
    score::leaderboard(tools.iter().filter_map(entry).collect())
}

fn named<'a>(tools: &'a [Value], name: &str) -> &'a Value {
    tools.iter().find(|tool| tool["name"] == name).unwrap_or(&Value::Null)
}
