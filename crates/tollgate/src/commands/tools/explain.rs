//! `tollgate tools --explain`: every tool, and the reason why a tool is not visible.

use serde_json::Value;

use super::{items, seen_by, text};
use crate::output::{Output, OutputFormat, TextTable, clean, pluralize};

pub(super) fn print(answer: &Value, output: Output) {
    if output.form == OutputFormat::Json {
        return output.json(answer);
    }
    let tools = items(answer, "tools");
    let mut table = TextTable::new(&["TOOL", "SERVER", "SEEN", "LEVEL", "WHY"]);
    for tool in tools {
        let seen = if is_visible(tool) { "yes" } else { "no" };
        let mut row = vec![text(tool, "name"), text(tool, "server"), seen.to_owned()];
        row.extend([text(tool, "level"), text(tool, "reason")]);
        table.row(row);
    }
    output.table(&table);
    let seen = tools.iter().filter(|tool| is_visible(tool)).count();
    let all = pluralize(tools.len(), "tool");
    output.note(&clean(&format!("{seen} of {all} {}", seen_by(answer))));
}

fn is_visible(tool: &Value) -> bool {
    tool["visible"] == true
}
