//! Late results that were posted as calls of our own, until the provider has them. A refused one is
//! posted once more, under another id.

use std::collections::VecDeque;

use super::calls::AfterAnswer;

/// Providers that confirm nothing leave every entry here; older ones were accepted.
const MAX_UNCONFIRMED: usize = 64;

#[derive(Default)]
pub(super) struct UnconfirmedLateResults {
    count: u64,
    posted: VecDeque<(u64, PostedLateResult)>,
}

/// A call of our own, and its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PostedLateResult {
    pub(super) call_id: String,
    pub(super) name: String,
    pub(super) arguments: String,
    pub(super) outcome: String,
    pub(super) then: AfterAnswer,
}

impl UnconfirmedLateResults {
    /// Number of the next result.
    pub(super) fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    pub(super) fn insert(&mut self, number: u64, posted: PostedLateResult) {
        if self.posted.len() == MAX_UNCONFIRMED {
            self.posted.pop_front();
        }
        self.posted.push_back((number, posted));
    }

    /// The provider has the output.
    pub(super) fn confirm(&mut self, call_id: &str) {
        self.posted.retain(|(_, posted)| posted.call_id != call_id);
    }

    /// The provider refused one of its two messages. `None`: it is known already.
    pub(super) fn take_refused(&mut self, number: u64) -> Option<PostedLateResult> {
        let at = self.posted.iter().position(|(known, _)| *known == number)?;
        self.posted.remove(at).map(|(_, posted)| posted)
    }
}
