//! Running and recent calls, for display: each call with its steps, counts per minute, and events
//! for listeners as calls begin and end.
//!
//! Filled by the recorder and by the stages that a call passes. Per call it costs one allocation, a
//! few stores, and two short locks with hardly any contention.

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

pub use counts::{CallCounts, MAX_TOOLS, MethodCounts, TierCounts, ToolCounts};
use finished_call::FinishedCall;
pub use histogram::{Histogram, HistogramSnapshot, OPERATION_BUCKETS, TOOL_BUCKETS};
use hourly_stats::HourlyStats;
pub use hourly_stats::{HourReport, MinuteStats, TierStats};
use ring::FinishedCallRing;
use running_calls::RunningCalls;

pub(crate) use call_progress::{AttemptTiming, CallProgressStart};
pub use call_progress::{CallProgress, CallReason, CallSummary, CallTarget};
pub(crate) use running_calls::RunningCallSlot;
pub(crate) use steps::AttemptStatus;
pub use steps::{CallStep, StepTiming};

/// Finished calls that are kept.
pub const MAX_FINISHED_CALLS: usize = 2_000;
/// Events that a slow listener may lag behind.
const QUEUE: usize = 1_024;

/// All calls of one gate.
pub struct CallTracker {
    clock: Arc<dyn Clock>,
    running: RunningCalls,
    finished: FinishedCallRing,
    tally: HourlyStats,
    counts: CallCounts,
    listeners: AtomicUsize,
    events: broadcast::Sender<Event>,
}

/// Sent to listeners. A listener renders what it needs; nothing is rendered here.
#[derive(Debug, Clone)]
pub enum Event {
    /// The call was admitted and is about to run.
    Started(Arc<CallProgress>),
    /// The call has ended. A call that was refused at once never started.
    Done(Arc<CallProgress>),
}

/// Receives events of calls until it is dropped.
pub struct CallEventReceiver {
    calls: Arc<CallTracker>,
    events: broadcast::Receiver<Event>,
}

/// Finished calls, the newest first.
#[derive(Debug)]
pub struct FinishedCallsPage {
    pub calls: Vec<Arc<CallProgress>>,
    /// Pass as `before` for the next page; `None`: this is the last.
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
            events: broadcast::Sender::new(QUEUE),
        })
    }

    /// The slot has to be returned when the call ends.
    pub(crate) fn begin(
        &self,
        opening: CallProgressStart<'_>,
    ) -> (Arc<CallProgress>, RunningCallSlot) {
        let call_progress = Arc::new(CallProgress::new(opening));
        let slot = self.running.enter(&call_progress);
        (call_progress, slot)
    }

    /// Its target is known, and it was admitted.
    pub(crate) fn announce_start(&self, call_progress: &Arc<CallProgress>) {
        if self.has_listeners() {
            let _ = self.events.send(Event::Started(Arc::clone(call_progress)));
        }
    }

    /// Ends the call with its complete record.
    pub(crate) fn end(
        &self,
        call_progress: &Arc<CallProgress>,
        slot: RunningCallSlot,
        record: &CallRecord,
        now: Instant,
    ) {
        call_progress.close(record);
        let over = FinishedCall::new(call_progress, record);
        // Probes of the gateway are not anyone's activity.
        if call_progress.made == CallReason::Caller {
            self.tally.count(&over, now);
        }
        self.counts.count(&over);
        self.running.leave(slot);
        self.finished.push(Arc::clone(call_progress));
        if self.has_listeners() {
            let _ = self.events.send(Event::Done(Arc::clone(call_progress)));
        }
    }

    /// Running calls, the oldest first.
    pub fn running(&self) -> Vec<Arc<CallProgress>> {
        self.running.all()
    }

    /// Up to `most` finished calls that match `wanted`; with `before`, only those with lower
    /// numbers.
    pub fn list_finished(
        &self,
        before: Option<u64>,
        most: usize,
        is_match: impl Fn(&CallProgress) -> bool,
    ) -> FinishedCallsPage {
        let mut calls = Vec::new();
        let mut next = None;
        for (number, call_progress) in self.finished.newest(before) {
            if !is_match(&call_progress) {
                continue;
            }
            if calls.len() == most {
                return FinishedCallsPage { calls, next };
            }
            next = Some(number);
            calls.push(call_progress);
        }
        FinishedCallsPage { calls, next: None }
    }

    /// Calls of the last hour and their durations.
    pub fn hour(&self) -> HourReport {
        self.tally.hour(self.clock.now(), self.clock.wall())
    }

    /// Counts since the start.
    pub fn counts(&self) -> &CallCounts {
        &self.counts
    }

    /// Number of running calls.
    pub fn in_flight(&self) -> usize {
        self.running.count()
    }

    /// The current time, to compute how long a call has been running.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Events from now on.
    pub fn listen(self: &Arc<Self>) -> CallEventReceiver {
        self.listeners.fetch_add(1, Ordering::Relaxed);
        CallEventReceiver { calls: Arc::clone(self), events: self.events.subscribe() }
    }

    fn has_listeners(&self) -> bool {
        self.listeners.load(Ordering::Relaxed) > 0
    }
}

impl CallEventReceiver {
    /// `Err`: the number of missed events.
    pub async fn next(&mut self) -> Result<Event, u64> {
        match self.events.recv().await {
            Ok(event) => Ok(event),
            Err(RecvError::Lagged(count)) => Err(count),
            // Cannot be closed: `self` holds the sender.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

impl Drop for CallEventReceiver {
    fn drop(&mut self) {
        self.calls.listeners.fetch_sub(1, Ordering::Relaxed);
    }
}
