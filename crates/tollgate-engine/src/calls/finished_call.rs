//! A finished call as the counters see it: values derived from its steps, computed once.

use std::time::Duration;

use tollgate_core::call::CallStatus;

use super::call_progress::CallProgress;
use crate::record::{CallEnding, CallRecord};

pub(super) struct FinishedCall<'o> {
    pub(super) call_progress: &'o CallProgress,
    pub(super) record: &'o CallRecord,
    /// Its duration without time spent waiting for people.
    pub(super) worked: Duration,
    /// Its turn ended before it was done.
    pub(super) is_miss: bool,
}

impl<'o> FinishedCall<'o> {
    pub(super) fn new(call_progress: &'o CallProgress, record: &'o CallRecord) -> Self {
        let is_cut =
            matches!(record.end, CallEnding::Tool(CallStatus::Timeout | CallStatus::Pending));
        let is_late = || {
            let ended = call_progress.at.checked_add(record.duration);
            call_progress.deadline().is_some_and(|wall| ended.is_none_or(|ended| ended >= wall))
        };
        let worked = call_progress.working_time(record.duration);
        Self { call_progress, record, worked, is_miss: is_cut && is_late() }
    }
}
