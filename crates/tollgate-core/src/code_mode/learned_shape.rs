//! What was learned of one tool's results. After a few of them it is settled, and changes only when
//! a result contradicts it: text that models were shown stays the same, and their caches hold.

use std::sync::Arc;

use serde_json::Value;

use super::result_shape::ResultShape;
use crate::digest::{DigestBuilder, hex};

/// Different results after which it is settled.
const RESULTS_TO_SETTLE: usize = 5;
/// And before which nothing is told.
const MIN_RESULTS_TO_SHOW: usize = 2;
/// Values of a result by which it is known again.
const MOST_VALUES: usize = 2_000;

/// Some hundred parts at most, of about a hundred bytes each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LearnedShape {
    shape: Arc<ResultShape>,
    /// Of the different results so far, until it is settled.
    known: Vec<String>,
}

impl LearnedShape {
    pub fn learn(&mut self, result: &Value) {
        let is_settled = self.is_settled();
        if !is_settled {
            let mark = mark(result);
            if self.known.contains(&mark) {
                return;
            }
            self.known.push(mark);
        }
        let seen = ResultShape::of(result);
        if !(is_settled && self.shape.admits(&seen)) {
            Arc::make_mut(&mut self.shape).merge(seen);
        }
    }

    /// Whether only a contradiction changes it.
    pub fn is_settled(&self) -> bool {
        self.known.len() == RESULTS_TO_SETTLE
    }

    /// How much it holds.
    pub fn parts(&self) -> usize {
        self.shape.parts()
    }

    /// `None` before there were two different results.
    pub fn shape(&self) -> Option<&Arc<ResultShape>> {
        (self.known.len() >= MIN_RESULTS_TO_SHOW).then_some(&self.shape)
    }
}

/// By what a result is known again: its first values, not all of a large one.
fn mark(result: &Value) -> String {
    let mut sum = DigestBuilder::default();
    let mut waiting = vec![result];
    for _ in 0..MOST_VALUES {
        let Some(value) = waiting.pop() else { break };
        let room = MOST_VALUES.saturating_sub(waiting.len());
        sum = match value {
            Value::Array(items) => {
                waiting.extend(items.iter().take(room).rev());
                sum.with("[").with(items.len().to_le_bytes())
            }
            Value::Object(fields) => {
                waiting.extend(fields.values().take(room).rev());
                let keys = fields.keys().take(MOST_VALUES);
                keys.fold(sum.with("{"), |sum, key| sum.with(key).with([0]))
            }
            Value::String(text) => sum.with("\"").with(text).with([0]),
            scalar => sum.with(scalar.to_string()).with([0]),
        };
    }
    hex(&sum.finish()[..8])
}

#[cfg(test)]
mod tests;
