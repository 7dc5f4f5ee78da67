//! How a competent model works that is given every tool: all calls at once that do not wait for each
//! other, no round more than needed; what came back is copied by hand to where it has to go.

use std::sync::Arc;

use serde_json::Value;

use super::compose;
use super::grade::GAVE_UP;
use super::ground_truth::GroundTruth;
use super::plan::{PlanArguments, PlanStepKind, PlannedQuery};
use super::scripted_model::{ModelScript, ScriptMove, ScriptedCall};
use super::step_outcome::ExtractedItem;
use super::visible_context::VisibleContext;

pub(super) struct DirectScript {
    query: Arc<PlannedQuery>,
    truth: Arc<GroundTruth>,
    /// Of each step, whether it was called.
    called: Vec<bool>,
}

impl DirectScript {
    pub(super) fn new(query: Arc<PlannedQuery>, truth: Arc<GroundTruth>) -> Self {
        let called = vec![false; query.steps.len()];
        Self { query, truth, called }
    }

    /// Only with what was shown.
    fn calls(&self, at: usize, seen: &VisibleContext) -> Vec<PlanArguments> {
        let step = &self.query.steps[at];
        let is_known = |item: &ExtractedItem| item.facts.iter().all(|fact| seen.has(fact));
        let names = step.references();
        let ids = names.map(|name| self.query.steps.iter().position(|it| it.name == name));
        let mut ids = ids.filter_map(|at| self.truth.0[at?].id.as_ref()?.as_str());
        if !ids.all(|id| seen.has(id)) {
            return Vec::new();
        }
        match &step.kind {
            PlanStepKind::Write(sink) => {
                compose::calls(&self.query, step, sink, &self.truth.0, &is_known)
            }
            _ => self.truth.calls(&self.query, step, &is_known),
        }
    }
}

impl ModelScript for DirectScript {
    fn next(&mut self, seen: &VisibleContext) -> ScriptMove {
        let steps = &self.query.steps;
        let is_ready = |at: &usize| {
            !self.called[*at] && steps[*at].after.iter().all(|other| self.called[*other])
        };
        let ready: Vec<usize> = (0..steps.len()).filter(is_ready).collect();
        let mut requested = Vec::new();
        for at in ready {
            self.called[at] = true;
            let tool = &self.query.steps[at].tool;
            let name = format!("{}_{}", tool.server, tool.name);
            let Some(name) = seen.tool(&name) else {
                return ScriptMove::Say(format!("{GAVE_UP}{name} is not offered"));
            };
            for arguments in self.calls(at, seen) {
                requested.push(ScriptedCall {
                    tool: name.to_owned(),
                    arguments: Value::Object(arguments),
                });
            }
        }
        if requested.is_empty() {
            ScriptMove::Say(answer(&self.query, &self.truth, seen))
        } else {
            ScriptMove::Call(requested)
        }
    }
}

/// All that is asked for and was shown.
pub(super) fn answer(query: &PlannedQuery, truth: &GroundTruth, seen: &VisibleContext) -> String {
    let mut text = String::from("Done.");
    for at in query.reported_steps() {
        for fact in truth.0[at].facts().filter(|fact| seen.has(fact)) {
            text.push_str("\n- ");
            text.push_str(fact);
        }
    }
    text
}
