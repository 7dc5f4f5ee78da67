//! Whether a query was done right: by what the answer says and by what was changed in the world,
//! never by whether the loop came to an end.

use serde_json::Value;

use super::ground_truth::GroundTruth;
use super::plan::{PlanArguments, PlanStep, PlanStepKind, PlannedQuery};
use super::world::{SimulatedWorld, WorldChange};

/// A script that does not know what to do begins its answer with this.
pub(super) const GAVE_UP: &str = "I cannot go on: ";

/// Everything that is missing, in words; nothing if it was done right.
pub(super) fn missing(
    query: &PlannedQuery,
    truth: &GroundTruth,
    answer: &str,
    world: &SimulatedWorld,
) -> Vec<String> {
    let mut missing = Vec::new();
    if let Some(why) = answer.strip_prefix(GAVE_UP) {
        missing.push(format!("the way on: {}", why.replace('\n', " | ")));
    }
    for at in query.reported_steps() {
        let lacking = truth.0[at].facts().filter(|fact| !answer.contains(*fact));
        missing.extend(lacking.map(|fact| format!("`{fact}` in the answer")));
    }
    for (step, done) in query.steps.iter().zip(&truth.0) {
        match &step.kind {
            PlanStepKind::Act => {
                let is_done = |call: &PlanArguments| {
                    let same = |it: &&WorldChange| it.tool == step.tool && it.arguments == *call;
                    world.changes.iter().any(|it| same(&it))
                };
                let lacking = done.calls.iter().filter(|call| !is_done(call));
                missing.extend(lacking.map(|_| format!("the change of `{}`", step.name)));
            }
            PlanStepKind::Write(_) => missing.extend(missing_words(step, &done.calls, world)),
            PlanStepKind::Take | PlanStepKind::Read | PlanStepKind::Fails(_) => {}
        }
    }
    missing
}

/// Every word of what should be written, wherever in the arguments of the same tool it stands.
fn missing_words(
    step: &PlanStep,
    requested: &[PlanArguments],
    world: &SimulatedWorld,
) -> Vec<String> {
    let mut written = String::new();
    for change in world.changes.iter().filter(|change| change.tool == step.tool) {
        flatten(&Value::Object(change.arguments.clone()), &mut written);
    }
    let mut all = String::new();
    for arguments in requested {
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
