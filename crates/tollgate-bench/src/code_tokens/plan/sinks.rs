//! Where a query wants things to be put, as calls of tools: a table is made before it is filled.

use serde_json::{Value, json};

use super::{
    Extraction, PlanArguments, PlanStep, PlanStepKind, WriteForm, WriteSink, inventory,
    step_position,
};
use crate::code_tokens::inventory::ToolRef;

/// The steps of one sink: `form target | sources`.
pub(super) fn add(steps: &mut Vec<PlanStep>, written: &str) {
    let (head, sources) = written.split_once(" | ").expect("sources");
    let (form, target) = head.split_once(' ').expect("a target");
    let sources: Vec<usize> =
        sources.split_whitespace().map(|name| step_position(steps, name)).collect();
    let (target, columns) = target.split_once('(').unwrap_or((target, ""));
    let columns: Vec<String> =
        columns.trim_end_matches(')').split(',').map(str::to_owned).collect();
    let text = |argument| WriteForm::Text { argument };
    let (tool, arguments, form) = match form {
        "file" => ("fs.write_file", json!({ "path": target }), text("content")),
        "files" => {
            let form = WriteForm::Files { name: target.to_owned() };
            ("fs.write_file", json!({}), form)
        }
        "doc" => ("do.CREATE_DOCUMENT", json!({ "title": target }), text("text")),
        "page" => {
            let form = WriteForm::Page { title: target.to_owned() };
            ("no.notion_create_pages", json!({}), form)
        }
        "drive" => {
            ("gd.CREATE_FILE_FROM_TEXT", json!({ "file_name": target }), text("text_content"))
        }
        "rows" => ("no.notion_create_pages", json!({ "parent": target }), WriteForm::Pages),
        "table" => {
            make_table(steps, target, &columns);
            ("sq.query", json!({}), WriteForm::Insert { table: target.to_owned() })
        }
        "sheet" => {
            let made = make_sheet(steps, target);
            let arguments = json!({ "spreadsheet_id": format!("#{made}"), "range": "A1" });
            ("gs.update_spreadsheet_values", arguments, WriteForm::Values { heads: columns })
        }
        other => panic!("no form: {other}"),
    };
    let mut step = bare(format!("w{}", steps.len()), inventory::tool(tool), &arguments);
    step.after.clone_from(&sources);
    let referred: Vec<usize> = step.references().map(|name| step_position(steps, name)).collect();
    step.after.extend(referred);
    if let WriteForm::Insert { .. } = form {
        step.after.push(steps.len() - 1);
    }
    step.kind = PlanStepKind::Write(WriteSink { form, sources });
    steps.push(step);
}

/// What stands below a sink comes after it.
pub(super) fn write_steps(steps: &[PlanStep]) -> Vec<usize> {
    let is_write = |step: &PlanStep| matches!(step.kind, PlanStepKind::Write(_));
    (0..steps.len()).filter(|at| is_write(&steps[*at])).collect()
}

fn make_table(steps: &mut Vec<PlanStep>, table: &str, columns: &[String]) {
    let columns: Vec<String> = columns.iter().map(|it| format!("{it} TEXT")).collect();
    let sql = format!("CREATE TABLE IF NOT EXISTS {table} ({})", columns.join(", "));
    let name = format!("t{}", steps.len());
    steps.push(bare(name, inventory::tool("sq.query"), &json!({ "sql": sql })));
}

fn make_sheet(steps: &mut Vec<PlanStep>, title: &str) -> String {
    let name = format!("t{}", steps.len());
    let tool = inventory::tool("gs.create_spreadsheet");
    let mut step = bare(name.clone(), tool, &json!({ "title": title }));
    step.taken = Extraction::of_act("spreadsheet_id");
    steps.push(step);
    name
}

fn bare(name: String, tool: ToolRef, arguments: &Value) -> PlanStep {
    let arguments: PlanArguments = arguments.as_object().cloned().unwrap_or_default();
    let after = Vec::new();
    let each = None;
    let taken = Extraction::default();
    PlanStep { name, kind: PlanStepKind::Act, tool, arguments, after, each, taken }
}
