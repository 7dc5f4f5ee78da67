//! A call that is over, as those who count see it: what takes a look at its steps is found out once.

use std::time::Duration;

use tollgate_core::call::Status;

use super::course::Course;
use crate::record::{CallRecord, End};

pub(super) struct Over<'o> {
    pub(super) course: &'o Course,
    pub(super) record: &'o CallRecord,
    /// How long it took, without the time that people took.
    pub(super) worked: Duration,
    /// The time of its turn was over before it was done.
    pub(super) is_miss: bool,
}

impl<'o> Over<'o> {
    pub(super) fn new(course: &'o Course, record: &'o CallRecord) -> Self {
        let is_cut = matches!(record.end, End::Tool(Status::Timeout | Status::Pending));
        let is_late = || {
            let ended = course.at.checked_add(record.duration);
            course.deadline().is_some_and(|wall| ended.is_none_or(|ended| ended >= wall))
        };
        let worked = course.worked(record.duration);
        Self { course, record, worked, is_miss: is_cut && is_late() }
    }
}
