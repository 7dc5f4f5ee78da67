//! What runs now and what ran lately, for people to see: each call with its steps, counts by the
//! minute, and whoever listens is told as calls begin and end.
//!
//! Filled by the recorder and by whoever takes a call a step further. On the path of a call it costs
//! one allocation, a few stores, and two short locks that nobody else wants at that moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::clock::Clock;
use crate::record::CallRecord;

mod call_progress;
mod counts;
mod finished_call;
mod histogram;
mod hourly_stats;
mod ring;
mod running_calls;
mod steps;

pub use counts::{CallCounts, MOST_TOOLS, MethodCounts, TierCounts, ToolCounts};
use finished_call::FinishedCall;
pub use histogram::{Histogram, HistogramSnapshot, OPERATION_BUCKETS, TOOL_BUCKETS};
use hourly_stats::HourlyStats;
pub use hourly_stats::{HourReport, MinuteStats, TierStats};
use ring::FinishedCallRing;
use running_calls::RunningCalls;

pub(crate) use call_progress::CallProgressStart;
pub use call_progress::{CallProgress, CallReason, CallSummary, CallTarget};
pub(crate) use running_calls::RunningCallSlot;
pub(crate) use steps::{AttemptStatus, AttemptTiming};
pub use steps::{CallStep, StepTiming};

/// Finished calls that are remembered.
pub const MAX_FINISHED_CALLS: usize = 2_000;
/// How many events a slow listener may be behind.
const QUEUE: usize = 1_024;

/// All calls of one gate.
pub struct CallTracker {
    clock: Arc<dyn Clock>,
    running: RunningCalls,
    finished: FinishedCallRing,
    tally: HourlyStats,
    counts: CallCounts,
    listeners: AtomicUsize,
    told: broadcast::Sender<Event>,
}

/// Told to whoever listens. A listener renders what it needs; nothing is made for it here.
#[derive(Debug, Clone)]
pub enum Event {
    /// It was let through, and is about to run.
    Started(Arc<CallProgress>),
    /// It is over. One that was refused at once never started.
    Done(Arc<CallProgress>),
}

/// Calls as they begin and end, for as long as it is held.
pub struct CallEventReceiver {
    calls: Arc<CallTracker>,
    told: broadcast::Receiver<Event>,
}

/// Finished calls, the newest first.
#[derive(Debug)]
pub struct FinishedCallsPage {
    pub calls: Vec<Arc<CallProgress>>,
    /// What `before` says for the next page; `None`: there are no more.
    pub next: Option<u64>,
}

impl CallTracker {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            tally: HourlyStats::new(clock.now(), clock.wall()),
            clock,
            running: RunningCalls::default(),
            finished: FinishedCallRing::new(MAX_FINISHED_CALLS),
            counts: CallCounts::default(),
            listeners: AtomicUsize::new(0),
            told: broadcast::Sender::new(QUEUE),
        })
    }

    /// The seat is to be given back when the call is over.
    pub(crate) fn begin(
        &self,
        opening: CallProgressStart<'_>,
    ) -> (Arc<CallProgress>, RunningCallSlot) {
        let course = Arc::new(CallProgress::new(opening));
        let seat = self.running.enter(&course);
        (course, seat)
    }

    /// It is known what it is for, and it is let through.
    pub(crate) fn announce_start(&self, course: &Arc<CallProgress>) {
        if self.has_listeners() {
            let _ = self.told.send(Event::Started(Arc::clone(course)));
        }
    }

    /// It ended as the record says, which is complete.
    pub(crate) fn end(
        &self,
        (course, seat): (&Arc<CallProgress>, RunningCallSlot),
        record: &CallRecord,
        now: Instant,
    ) {
        course.close(record);
        let over = FinishedCall::new(course, record);
        // What the gateway asks of itself is nothing that anybody did.
        if course.made == CallReason::Asked {
            self.tally.count(&over, now);
        }
        self.counts.count(&over);
        self.running.leave(seat);
        self.finished.push(Arc::clone(course));
        if self.has_listeners() {
            let _ = self.told.send(Event::Done(Arc::clone(course)));
        }
    }

    /// What runs now, the oldest first.
    pub fn running(&self) -> Vec<Arc<CallProgress>> {
        self.running.all()
    }

    /// Calls that are over and that `wanted` likes, as many as `most`; of those before that number
    /// only.
    pub fn finished(
        &self,
        before: Option<u64>,
        most: usize,
        wanted: impl Fn(&CallProgress) -> bool,
    ) -> FinishedCallsPage {
        let mut calls = Vec::new();
        let mut next = None;
        for (number, course) in self.finished.newest(before) {
            if !wanted(&course) {
                continue;
            }
            if calls.len() == most {
                return FinishedCallsPage { calls, next };
            }
            next = Some(number);
            calls.push(course);
        }
        FinishedCallsPage { calls, next: None }
    }

    /// How many calls there were in the last hour, and how long they took.
    pub fn hour(&self) -> HourReport {
        self.tally.hour(self.clock.now(), self.clock.wall())
    }

    /// Since the start.
    pub fn counts(&self) -> &CallCounts {
        &self.counts
    }

    /// How many run now.
    pub fn in_flight(&self) -> usize {
        self.running.count()
    }

    /// For how long a call has run by now.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// From now on.
    pub fn listen(self: &Arc<Self>) -> CallEventReceiver {
        self.listeners.fetch_add(1, Ordering::Relaxed);
        CallEventReceiver { calls: Arc::clone(self), told: self.told.subscribe() }
    }

    fn has_listeners(&self) -> bool {
        self.listeners.load(Ordering::Relaxed) > 0
    }
}

impl CallEventReceiver {
    /// `Err`: so many were missed.
    pub async fn next(&mut self) -> Result<Event, u64> {
        match self.told.recv().await {
            Ok(event) => Ok(event),
            Err(RecvError::Lagged(count)) => Err(count),
            // It cannot be closed: its sender is held here.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

impl Drop for CallEventReceiver {
    fn drop(&mut self) {
        self.calls.listeners.fetch_sub(1, Ordering::Relaxed);
    }
}
