//! What a model writes out itself when it puts things somewhere: the arguments of the calls, whole.
//! A program writes the same by loops, see `starlark`.

use serde_json::{Value, json};

use super::plan::{PlanArguments, PlanStep, PlanStepKind, PlannedQuery, WriteForm, WriteSink};
use super::step_outcome::{ExtractedItem, StepOutcome, fill_arguments};

/// The calls of a writing step, of those items that may be used.
pub(super) fn calls(
    query: &PlannedQuery,
    step: &PlanStep,
    sink: &WriteSink,
    outcomes: &[StepOutcome],
    may_use: &dyn Fn(&ExtractedItem) -> bool,
) -> Vec<PlanArguments> {
    let Some(base) = fill_arguments(outcomes, query, step, None) else { return Vec::new() };
    let rows = rows(query, sink, outcomes, may_use);
    let with = |more: Vec<(&str, Value)>| {
        let mut arguments = base.clone();
        arguments.extend(more.into_iter().map(|(name, value)| (name.to_owned(), value)));
        arguments
    };
    match &sink.form {
        WriteForm::Text { argument } => vec![with(vec![(argument, lines(&rows).into())])],
        WriteForm::Page { title } => {
            vec![with(vec![("pages", json!([{ "title": title, "content": lines(&rows) }]))])]
        }
        WriteForm::Insert { table } => {
            let rows: Vec<String> = rows.iter().map(|row| format!("({})", literals(row))).collect();
            let sql = format!("INSERT INTO {table} VALUES {}", rows.join(", "));
            vec![with(vec![("sql", sql.into())])]
        }
        WriteForm::Values { heads } => {
            let heads: Vec<Value> = heads.iter().map(|head| json!(head)).collect();
            let all: Vec<Vec<Value>> = std::iter::once(heads).chain(rows).collect();
            vec![with(vec![("values", json!(all))])]
        }
        WriteForm::Pages => {
            let page = |row: &Vec<Value>| {
                let (title, rest) = row.split_first().expect("a row has values");
                json!({ "title": title, "content": lines(&[rest.to_vec()]) })
            };
            let pages: Vec<Value> = rows.iter().map(page).collect();
            vec![with(vec![("pages", pages.into())])]
        }
        WriteForm::Files { name } => {
            let file = |(at, row): (usize, &Vec<Value>)| {
                let path = format!("{name}{}.txt", at + 1);
                let content = lines(std::slice::from_ref(row));
                with(vec![("path", path.into()), ("content", content.into())])
            };
            rows.iter().enumerate().map(file).collect()
        }
    }
}

/// What a form adds to the arguments of its step, as an example of each.
pub(super) fn beside(step: &PlanStep) -> Vec<(String, Value)> {
    let PlanStepKind::Write(sink) = &step.kind else { return Vec::new() };
    let added = match &sink.form {
        WriteForm::Text { argument } => vec![(*argument, json!(""))],
        WriteForm::Page { .. } | WriteForm::Pages => vec![("pages", json!([{}]))],
        WriteForm::Insert { .. } => vec![("sql", json!("")), ("values", json!([]))],
        WriteForm::Values { .. } => vec![("values", json!([[]]))],
        WriteForm::Files { .. } => vec![("path", json!("")), ("content", json!(""))],
    };
    added.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// What was read becomes a row for each point of it; all else stays as it was taken.
pub(super) fn rows(
    query: &PlannedQuery,
    sink: &WriteSink,
    outcomes: &[StepOutcome],
    may_use: &dyn Fn(&ExtractedItem) -> bool,
) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for source in &sink.sources {
        for item in outcomes[*source].items.iter().filter(|item| may_use(item)) {
            match query.steps[*source].kind {
                PlanStepKind::Read => rows.extend(item.facts.iter().map(|fact| vec![json!(fact)])),
                _ => rows.push(item.values.clone()),
            }
        }
    }
    rows
}

pub(super) fn lines(rows: &[Vec<Value>]) -> String {
    let line = |row: &Vec<Value>| row.iter().map(plain).collect::<Vec<_>>().join(" | ");
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn literals(row: &[Value]) -> String {
    let each = row.iter().map(|value| match value {
        Value::String(text) => format!("'{}'", text.replace('\'', "''")),
        other => other.to_string(),
    });
    each.collect::<Vec<_>>().join(", ")
}
