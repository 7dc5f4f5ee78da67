//! A call that is over, as those who count see it: what takes a look at its steps is found out once.

use std::time::Duration;

use tollgate_core::call::CallStatus;

use super::call_progress::CallProgress;
use crate::record::{CallEnding, CallRecord};

pub(super) struct FinishedCall<'o> {
    pub(super) course: &'o CallProgress,
    pub(super) record: &'o CallRecord,
    /// How long it took, without the time that people took.
    pub(super) worked: Duration,
    /// The time of its turn was over before it was done.
    pub(super) is_miss: bool,
}

impl<'o> FinishedCall<'o> {
    pub(super) fn new(course: &'o CallProgress, record: &'o CallRecord) -> Self {
        let is_cut =
            matches!(record.end, CallEnding::Tool(CallStatus::Timeout | CallStatus::Pending));
        let is_late = || {
            let ended = course.at.checked_add(record.duration);
            course.deadline().is_some_and(|wall| ended.is_none_or(|ended| ended >= wall))
        };
        let worked = course.working_time(record.duration);
        Self { course, record, worked, is_miss: is_cut && is_late() }
    }
}
