//! What is right: the plan of a query carried out without any model, in a world of its own.
//!
//! Both ways of working are held against it. A scripted model looks here for what a real one would
//! read out of a text, and may use it only if that text was shown to it.

use serde_json::Value;

use super::compose;
use super::plan::{Extraction, PlanArguments, PlanStep, PlanStepKind, PlannedQuery};
use super::step_outcome::{ExtractedItem, StepOutcome, fill_arguments};
use super::text;
use super::world::SimulatedWorld;

/// Longer texts are known by their first sentence.
const SHORT: usize = 120;

/// For each step of the query.
#[derive(Debug)]
pub(super) struct GroundTruth(pub(super) Vec<StepOutcome>);

impl GroundTruth {
    pub(super) fn of(query: &PlannedQuery) -> Self {
        let mut world = SimulatedWorld::default();
        let mut truth = Self(Vec::new());
        for step in &query.steps {
            let done = truth.carry_out(query, step, &mut world);
            truth.0.push(done);
        }
        truth
    }

    fn carry_out(
        &self,
        query: &PlannedQuery,
        step: &PlanStep,
        world: &mut SimulatedWorld,
    ) -> StepOutcome {
        let everything = |_: &ExtractedItem| true;
        let calls = match &step.kind {
            PlanStepKind::Write(sink) => compose::calls(query, step, sink, &self.0, &everything),
            _ => self.calls(query, step, &everything),
        };
        let mut done = StepOutcome { calls, ..StepOutcome::default() };
        for arguments in &done.calls {
            let answer = world.call(&step.tool, arguments);
            match (&step.kind, answer) {
                (PlanStepKind::Fails(word), Err(failure)) => {
                    let message = failure.to_string();
                    assert!(message.contains(word.as_str()), "{message}");
                    done.facts.push(word.clone());
                }
                (PlanStepKind::Take | PlanStepKind::Read, Ok(answer)) => {
                    let found = items(&step.taken, &answer);
                    assert!(!found.is_empty(), "{} {}: nothing", query.id, step.name);
                    let of_one = found
                        .into_iter()
                        .map(|values| ExtractedItem { facts: facts(&step.kind, &values), values });
                    done.items.extend(of_one);
                }
                (PlanStepKind::Act, Ok(answer)) => {
                    let field = step.taken.fields.first();
                    done.id = field.and_then(|it| answer.get(&it.name).cloned());
                }
                (PlanStepKind::Write(_), Ok(_)) => {}
                (_, answer) => panic!("{} {}: {answer:?}", query.id, step.name),
            }
        }
        done
    }

    /// The calls of a step, one for each of those items of another that may be used.
    pub(super) fn calls(
        &self,
        query: &PlannedQuery,
        step: &PlanStep,
        may_use: &dyn Fn(&ExtractedItem) -> bool,
    ) -> Vec<PlanArguments> {
        let Some(each) = step.each else {
            return fill_arguments(&self.0, query, step, None).into_iter().collect();
        };
        let items = self.0[each.of].items.iter().take(each.most).filter(|item| may_use(item));
        items
            .filter_map(|item| {
                fill_arguments(&self.0, query, step, Some((&query.steps[each.of].taken, item)))
            })
            .collect()
    }
}

fn items(taken: &Extraction, answer: &Value) -> Vec<Vec<Value>> {
    let values = |item: &Value| -> Vec<Value> {
        let each = taken.fields.iter().map(|field| {
            let value = if field.name == "@" { item.clone() } else { item[&field.name].clone() };
            match (value, field.most) {
                (Value::String(text), Some(most)) => {
                    text.chars().take(most).collect::<String>().into()
                }
                (value, _) => value,
            }
        });
        each.collect()
    };
    match &taken.list {
        Some(list) => {
            let all = answer[list].as_array().map(Vec::as_slice).unwrap_or_default();
            all.iter().take(taken.most.unwrap_or(usize::MAX)).map(values).collect()
        }
        None => vec![values(answer)],
    }
}

fn facts(kind: &PlanStepKind, values: &[Value]) -> Vec<String> {
    let of_one = |value: &Value| -> Vec<String> {
        match value {
            Value::String(text) if *kind == PlanStepKind::Read => text::points(text),
            Value::String(text) if text.len() > SHORT => {
                vec![text[..text.find(". ").unwrap_or(SHORT)].to_owned()]
            }
            Value::String(text) => vec![text.clone()],
            Value::Number(number) => vec![number.to_string()],
            _ => Vec::new(),
        }
    };
    values.iter().flat_map(of_one).collect()
}
