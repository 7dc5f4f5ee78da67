//! How a competent model works that is given every tool: all calls at once that do not wait for each
//! other, no round more than needed; what came back is copied by hand to where it has to go.

use std::sync::Arc;

use serde_json::Value;

use super::compose;
use super::grade::GAVE_UP;
use super::mind::{Move, Script, Seen, Wanted};
use super::plan::{Arguments, Kind, Query};
use super::truth::{Item, Truth};

pub(super) struct Direct {
    query: Arc<Query>,
    truth: Arc<Truth>,
    /// Of each step, whether it was called.
    called: Vec<bool>,
}

impl Direct {
    pub(super) fn new(query: Arc<Query>, truth: Arc<Truth>) -> Self {
        let called = vec![false; query.steps.len()];
        Self { query, truth, called }
    }

    /// Only with what was shown.
    fn calls(&self, at: usize, seen: &Seen) -> Vec<Arguments> {
        let step = &self.query.steps[at];
        let is_known = |item: &Item| item.facts.iter().all(|fact| seen.has(fact));
        let names = step.references();
        let ids = names.map(|name| self.query.steps.iter().position(|it| it.name == name));
        let mut ids = ids.filter_map(|at| self.truth.0[at?].id.as_ref()?.as_str());
        if !ids.all(|id| seen.has(id)) {
            return Vec::new();
        }
        match &step.kind {
            Kind::Write(sink) => compose::calls(&self.query, step, (sink, &self.truth), &is_known),
            _ => self.truth.calls(&self.query, step, &is_known),
        }
    }
}

impl Script for Direct {
    fn next(&mut self, seen: &Seen) -> Move {
        let steps = &self.query.steps;
        let is_ready = |at: &usize| {
            !self.called[*at] && steps[*at].after.iter().all(|other| self.called[*other])
        };
        let ready: Vec<usize> = (0..steps.len()).filter(is_ready).collect();
        let mut wanted = Vec::new();
        for at in ready {
            self.called[at] = true;
            let tool = &self.query.steps[at].tool;
            let name = format!("{}_{}", tool.server, tool.name);
            let Some(name) = seen.tool(&name) else {
                return Move::Say(format!("{GAVE_UP}{name} is not offered"));
            };
            for arguments in self.calls(at, seen) {
                wanted.push(Wanted { tool: name.to_owned(), arguments: Value::Object(arguments) });
            }
        }
        match wanted.is_empty() {
            true => Move::Say(answer(&self.query, &self.truth, seen)),
            false => Move::Call(wanted),
        }
    }
}

/// All that is asked for and was shown.
pub(super) fn answer(query: &Query, truth: &Truth, seen: &Seen) -> String {
    let mut text = String::from("Done.");
    for at in query.told() {
        for fact in truth.0[at].facts().filter(|fact| seen.has(fact)) {
            text.push_str("\n- ");
            text.push_str(fact);
        }
    }
    text
}
