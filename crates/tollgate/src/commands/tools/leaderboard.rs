//! `tollgate tools --leaderboard`: the measured tools of each category, fastest first.

use serde_json::Value;

use super::{items, text, time};
use crate::output::{Output, TextTable};

/// The ranks come from the gateway, further columns from the listing.
pub(super) fn print(board: &Value, listed: &Value, output: Output) {
    let categories = items(board, "categories");
    if categories.is_empty() {
        output.note("no tool has been measured yet; `tollgate calibrate` measures the safe ones");
        return;
    }
    let head = ["CATEGORY", "RANK", "TOOL", "SERVER", "P50", "P95", "CALLS", "BADGE", "FITS"];
    let mut table = TextTable::new(&head);
    for category in categories {
        for ranked in items(category, "tools") {
            let same = |tool: &&Value| tool["name"] == ranked["name"];
            let tool = items(listed, "tools").iter().find(same).unwrap_or(&Value::Null);
            table.row(vec![
                text(category, "category"),
                ranked["rank"].to_string(),
                text(ranked, "name"),
                text(tool, "server"),
                time(&ranked["p50_ms"]),
                time(&tool["measured"]["p95_ms"]),
                tool["measured"]["calls"].to_string(),
                text(ranked, "badge"),
                text(tool, "compatibility"),
            ]);
        }
    }
    output.table(&table);
}
