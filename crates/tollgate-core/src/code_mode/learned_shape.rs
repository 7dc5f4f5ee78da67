//! The learned result shape of one tool. It settles after a few results and then changes only on a
//! contradiction, so the text shown to models stays the same and prompt caches stay valid.

use std::sync::Arc;

use serde_json::Value;

use super::result_shape::ResultShape;
use crate::digest::{DigestBuilder, hex};

/// Distinct results after which the shape is settled.
const RESULTS_TO_SETTLE: usize = 5;
/// Minimum distinct results before the shape is shown.
const MIN_RESULTS_TO_SHOW: usize = 2;
/// Maximum values of a result used to recognize it.
const MAX_EXAMINED_VALUES: usize = 2_000;

/// A few hundred parts at most, of about a hundred bytes each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LearnedShape {
    shape: Arc<ResultShape>,
    /// Fingerprints of the distinct results so far, until it is settled.
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

    /// Its size in parts.
    pub fn parts(&self) -> usize {
        self.shape.parts()
    }

    /// `None` before two distinct results were seen.
    pub fn shape(&self) -> Option<&Arc<ResultShape>> {
        (self.known.len() >= MIN_RESULTS_TO_SHOW).then_some(&self.shape)
    }
}

/// Fingerprint of a result: of its first values only, if it is large.
fn mark(result: &Value) -> String {
    let mut sum = DigestBuilder::default();
    let mut waiting = vec![result];
    for _ in 0..MAX_EXAMINED_VALUES {
        let Some(value) = waiting.pop() else { break };
        let room = MAX_EXAMINED_VALUES.saturating_sub(waiting.len());
        sum = match value {
            Value::Array(items) => {
                waiting.extend(items.iter().take(room).rev());
                sum.with("[").with(items.len().to_le_bytes())
            }
            Value::Object(fields) => {
                waiting.extend(fields.values().take(room).rev());
                let keys = fields.keys().take(MAX_EXAMINED_VALUES);
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
