//! Pieces of programs: what stands for the items of a step and for values.

use std::fmt::Write as _;

use serde_json::Value;

use crate::code_tokens::compose;
use crate::code_tokens::plan::{ExtractedField, Extraction, PlanStep};

/// The items out of the answers.
pub(super) fn bind_items(step: &PlanStep) -> String {
    let PlanStep { name, taken: Extraction { list, most, .. }, .. } = step;
    let most = most.map_or_else(String::new, |most| format!("[:{most}]"));
    match (list, step.each.is_some()) {
        (Some(list), true) => format!("{name} = [y for r in r{name} for y in r[\"{list}\"]{most}]"),
        (Some(list), false) => format!("{name} = r{name}[\"{list}\"]{most}"),
        (None, true) => format!("{name} = r{name}"),
        (None, false) => format!("{name} = [r{name}]"),
    }
}

/// Of an item `x`.
pub(super) fn values(taken: &Extraction) -> Vec<String> {
    let one = |field: &ExtractedField| {
        let most = field.most.map_or_else(String::new, |most| format!("[:{most}]"));
        format!("x{}{most}", item_field(&field.name))
    };
    taken.fields.iter().map(one).collect()
}

pub(super) fn item_field(name: &str) -> String {
    if name == "@" { String::new() } else { format!("[\"{name}\"]") }
}

pub(super) fn row_text(taken: &Extraction) -> String {
    join_values(&values(taken))
}

pub(super) fn join_values(values: &[String]) -> String {
    match values {
        [one] => format!("str({one})"),
        all => {
            let each: Vec<String> = all.iter().map(|it| format!("str({it})")).collect();
            format!("\" | \".join([{}])", each.join(", "))
        }
    }
}

/// All of it as one text.
pub(super) fn text(taken: &[&PlanStep], written: &[Vec<Value>]) -> String {
    let mut parts: Vec<String> =
        taken.iter().map(|it| format!("[{} for x in {}]", row_text(&it.taken), it.name)).collect();
    if !written.is_empty() {
        let lines = compose::lines(written);
        if parts.is_empty() {
            return quote(&lines);
        }
        parts.push(format!("[{}]", quote(&lines)));
    }
    format!("\"\\n\".join({})", parts.join(" + "))
}

/// A JSON value as Starlark.
pub(super) fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quote(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let each =
                fields.iter().map(|(name, value)| format!("{}: {}", quote(name), literal(value)));
            format!("{{{}}}", each.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The escapes of JSON are Starlark's too.
pub(super) fn quote(text: &str) -> String {
    Value::from(text).to_string()
}

pub(super) fn plain(value: &Value) -> String {
    value.as_str().unwrap_or_default().replace('\'', "''")
}

pub(super) fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("a string takes all");
}
