//! Whether a query was done right: by what the answer says and by what was changed in the world,
//! never by whether the loop came to an end.

use serde_json::Value;

use super::plan::{Arguments, Kind, Query, Step};
use super::truth::Truth;
use super::world::{Change, World};

/// A script that does not know what to do begins its answer with this.
pub(super) const GAVE_UP: &str = "I cannot go on: ";

/// Everything that is missing, in words; nothing if it was done right.
pub(super) fn missing(
    query: &Query,
    truth: &Truth,
    (answer, world): (&str, &World),
) -> Vec<String> {
    let mut missing = Vec::new();
    if let Some(why) = answer.strip_prefix(GAVE_UP) {
        missing.push(format!("the way on: {}", why.replace('\n', " | ")));
    }
    for at in query.told() {
        let lacking = truth.0[at].facts().filter(|fact| !answer.contains(*fact));
        missing.extend(lacking.map(|fact| format!("`{fact}` in the answer")));
    }
    for (step, done) in query.steps.iter().zip(&truth.0) {
        match &step.kind {
            Kind::Act => {
                let is_done = |call: &Arguments| {
                    let same = |it: &&Change| it.tool == step.tool && it.arguments == *call;
                    world.changes.iter().any(|it| same(&it))
                };
                let lacking = done.calls.iter().filter(|call| !is_done(call));
                missing.extend(lacking.map(|_| format!("the change of `{}`", step.name)));
            }
            Kind::Write(_) => missing.extend(unwritten(step, &done.calls, world)),
            Kind::Take | Kind::Read | Kind::Fails(_) => {}
        }
    }
    missing
}

/// Every word of what should be written, wherever in the arguments of the same tool it stands.
fn unwritten(step: &Step, wanted: &[Arguments], world: &World) -> Vec<String> {
    let mut written = String::new();
    for change in world.changes.iter().filter(|change| change.tool == step.tool) {
        flatten(&Value::Object(change.arguments.clone()), &mut written);
    }
    let mut all = String::new();
    for arguments in wanted {
        flatten(&Value::Object(arguments.clone()), &mut all);
    }
    let words = all.split(['|', '\n', '\'', '(', ')', ',']).map(str::trim);
    let is_lacking = |word: &&str| word.len() > 2 && !written.contains(*word);
    words.filter(is_lacking).take(3).map(|word| format!("`{word}` in {}", step.tool.name)).collect()
}

fn flatten(value: &Value, into: &mut String) {
    match value {
        Value::String(text) => into.push_str(text),
        Value::Array(items) => items.iter().for_each(|item| flatten(item, into)),
        Value::Object(fields) => fields.values().for_each(|item| flatten(item, into)),
        other => into.push_str(&other.to_string()),
    }
    into.push('\n');
}
