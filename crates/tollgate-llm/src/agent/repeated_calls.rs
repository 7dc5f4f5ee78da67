//! Leaves out calls that a provider sent again in the same answer: those of the same id, name and
//! arguments, however these are written. Two calls that only have the same id are two calls.

use std::collections::{HashMap, HashSet};

use tollgate_core::json;

use crate::conversation::FunctionCall;
use crate::delta::{PartOpening, ResponseDelta};

/// Filters the deltas of one answer. The parts that are left are numbered without gaps.
#[derive(Debug, Default)]
pub(super) struct RepeatedCallFilter {
    /// The new index of each part that was passed on.
    indices: HashMap<usize, usize>,
    open: HashMap<usize, OpenCall>,
    ids: HashSet<String>,
    complete: HashSet<FunctionCall>,
}

#[derive(Debug)]
struct OpenCall {
    call: FunctionCall,
    /// Deltas of a call whose id is known, until its arguments are.
    held: Option<Vec<ResponseDelta>>,
}

impl RepeatedCallFilter {
    pub(super) fn pass(&mut self, delta: ResponseDelta) -> Vec<ResponseDelta> {
        if let ResponseDelta::Open { index, opening: PartOpening::Call { id, name }, .. } = &delta
            && !id.is_empty()
        {
            let held = (!self.ids.insert(id.clone())).then(Vec::new);
            let id = id.clone();
            let name = name.clone();
            let call = FunctionCall { id, name, arguments: String::new() };
            self.open.insert(*index, OpenCall { call, held });
        }
        let Some(index) = delta.part() else { return vec![delta] };
        let Some(open) = self.open.get_mut(&index) else { return self.renumber_all(vec![delta]) };
        if let ResponseDelta::Grow { text, .. } = &delta {
            open.call.arguments.push_str(text);
        }
        let closes = matches!(delta, ResponseDelta::Close { .. });
        let passed = match &mut open.held {
            None => vec![delta],
            Some(held) => {
                held.push(delta);
                Vec::new()
            }
        };
        if !closes {
            return self.renumber_all(passed);
        }
        let Some(OpenCall { call, held }) = self.open.remove(&index) else { return Vec::new() };
        let arguments = normalize_arguments(&call.arguments);
        let is_new = self.complete.insert(FunctionCall { arguments, ..call });
        self.renumber_all(held.map_or(passed, |held| if is_new { held } else { Vec::new() }))
    }

    fn renumber_all(&mut self, mut deltas: Vec<ResponseDelta>) -> Vec<ResponseDelta> {
        deltas.retain_mut(|delta| self.renumber(delta).is_some());
        deltas
    }

    /// `None`: a delta of a part that was left out.
    fn renumber(&mut self, delta: &mut ResponseDelta) -> Option<()> {
        let next = self.indices.len();
        match delta {
            ResponseDelta::Start { .. } | ResponseDelta::End { .. } => {}
            ResponseDelta::Open { index, .. } => {
                self.indices.insert(*index, next);
                *index = next;
            }
            ResponseDelta::Grow { index, .. }
            | ResponseDelta::Sign { index, .. }
            | ResponseDelta::Extra { index, .. }
            | ResponseDelta::Close { index } => *index = *self.indices.get(index)?,
        }
        Some(())
    }
}

/// The same text for the same arguments, whatever their spaces and order are.
fn normalize_arguments(arguments: &str) -> String {
    match json::value(arguments) {
        Ok(value) => json::canonical(&value),
        Err(_) if arguments.trim().is_empty() => "{}".to_owned(),
        Err(_) => arguments.to_owned(),
    }
}

#[cfg(test)]
mod tests;
