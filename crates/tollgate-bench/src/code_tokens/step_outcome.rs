//! What a step of a plan gave: its calls, and the items that were read out of their answers.

use serde_json::Value;

use super::plan::{Extraction, PlanArguments, PlanStep, PlannedQuery, reference};

/// A step that was carried out.
#[derive(Debug, Default)]
pub(super) struct StepOutcome {
    pub(super) calls: Vec<PlanArguments>,
    pub(super) items: Vec<ExtractedItem>,
    /// What an act gave.
    pub(super) id: Option<Value>,
    /// What must have been read by whoever knows it.
    pub(super) facts: Vec<String>,
}

#[derive(Debug, Clone)]
pub(super) struct ExtractedItem {
    /// In the order of the fields.
    pub(super) values: Vec<Value>,
    pub(super) facts: Vec<String>,
}

impl StepOutcome {
    /// All that must be known of it.
    pub(super) fn facts(&self) -> impl Iterator<Item = &str> {
        let of_items = self.items.iter().flat_map(|item| &item.facts);
        of_items.chain(&self.facts).map(String::as_str)
    }
}

/// The arguments of a step, with all that they refer to.
pub(super) fn fill_arguments(
    outcomes: &[StepOutcome],
    query: &PlannedQuery,
    step: &PlanStep,
    item: Option<(&Extraction, &ExtractedItem)>,
) -> Option<PlanArguments> {
    let mut arguments = step.arguments.clone();
    for value in arguments.values_mut() {
        let Value::String(text) = &*value else { continue };
        if let (Some(field), Some((taken, item))) = (text.strip_prefix('@'), item) {
            let name = if field.is_empty() { "@" } else { field };
            let at = taken.fields.iter().position(|it| it.name == name);
            *value = item.values[at.expect("a field that was taken")].clone();
        } else if let Some(name) = reference(value) {
            let at = query.steps.iter().position(|it| it.name == name);
            *value = outcomes[at.expect("a step above")].id.clone()?;
        }
    }
    Some(arguments)
}
