//! Results of the gateway's own calls in a turn. When they outgrow the context window, the oldest
//! are shortened to their beginning; the rest stays readable behind a handle.

use std::collections::VecDeque;

use tollgate_core::call::Outcome;
use tollgate_core::shaping::ResultCaps;
use tollgate_core::turn::Turn;
use tollgate_engine::gate::Gate;

use crate::conversation::{FunctionCall, MessageList, PartContent};
use crate::tools::results;

/// What is left of the text of a shortened result, in bytes.
const SHORTENED_TEXT_BYTES: usize = 256;

/// The result of a call that was run, before it was converted for the model.
pub(super) struct OwnResult {
    /// Without its arguments.
    pub(super) call: FunctionCall,
    /// Name of the tool at the gate.
    pub(super) tool: String,
    pub(super) outcome: Outcome,
}

/// The results that are not shortened yet, the oldest first.
#[derive(Default)]
pub(super) struct OwnResults(VecDeque<PlacedResult>);

struct PlacedResult {
    /// Index of the message that the result is in.
    message: usize,
    result: OwnResult,
}

impl OwnResults {
    pub(super) fn add(&mut self, message: usize, result: OwnResult) {
        self.0.push_back(PlacedResult { message, result });
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Shortens the oldest result that can be. `false`: there is none.
    pub(super) fn shorten_oldest(
        &mut self,
        gate: &Gate,
        turn: &Turn,
        messages: &mut MessageList,
    ) -> bool {
        while let Some(PlacedResult { message, result }) = self.0.pop_front() {
            let OwnResult { call, tool, outcome } = result;
            let caps = shortened_caps();
            let shorter = gate.shorten(turn, &tool, &outcome, caps);
            if shorter.result.get().len() >= outcome.result.get().len() {
                continue;
            }
            let Some(message) = messages.get_mut(message) else { continue };
            for part in &mut message.parts {
                match &mut part.content {
                    PartContent::Result(result) if result.call_id == call.id => {
                        *result = results::neutral(&call, &shorter);
                    }
                    _ => {}
                }
            }
            return true;
        }
        false
    }
}

fn shortened_caps() -> ResultCaps {
    ResultCaps { text_bytes: SHORTENED_TEXT_BYTES, binary_bytes: 0, ..ResultCaps::chat() }
}
