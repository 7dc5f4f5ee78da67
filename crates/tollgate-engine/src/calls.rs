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

mod counts;
mod course;
mod crowd;
mod histogram;
mod over;
mod ring;
mod steps;
mod tally;

pub use counts::{Counts, MOST_TOOLS, OfMethod, OfTool, TierCounts};
use crowd::Crowd;
pub use histogram::{Histogram, OPERATIONS, Spans, TOOLS};
use over::Over;
use ring::Ring;
use tally::Tally;
pub use tally::{Hour, Minute, OfTier};

pub(crate) use course::Opening;
pub use course::{Course, Ended, Made, Target};
pub(crate) use crowd::Seat;
pub(crate) use steps::{Leg, Went};
pub use steps::{Step, Stretch};

/// Finished calls that are remembered.
pub const MOST: usize = 2_000;
/// How many events a slow listener may be behind.
const QUEUE: usize = 1_024;

/// All calls of one gate.
pub struct Calls {
    clock: Arc<dyn Clock>,
    running: Crowd,
    finished: Ring,
    tally: Tally,
    counts: Counts,
    listeners: AtomicUsize,
    told: broadcast::Sender<Event>,
}

/// Told to whoever listens. A listener renders what it needs; nothing is made for it here.
#[derive(Debug, Clone)]
pub enum Event {
    /// It was let through, and is about to run.
    Started(Arc<Course>),
    /// It is over. One that was refused at once never started.
    Done(Arc<Course>),
}

/// Calls as they begin and end, for as long as it is held.
pub struct Listening {
    calls: Arc<Calls>,
    told: broadcast::Receiver<Event>,
}

/// Finished calls, the newest first.
#[derive(Debug)]
pub struct Page {
    pub calls: Vec<Arc<Course>>,
    /// What `before` says for the next page; `None`: there are no more.
    pub next: Option<u64>,
}

impl Calls {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            tally: Tally::new(clock.now(), clock.wall()),
            clock,
            running: Crowd::default(),
            finished: Ring::new(MOST),
            counts: Counts::default(),
            listeners: AtomicUsize::new(0),
            told: broadcast::Sender::new(QUEUE),
        })
    }

    /// The seat is to be given back when the call is over.
    pub(crate) fn begin(&self, opening: Opening<'_>) -> (Arc<Course>, Seat) {
        let course = Arc::new(Course::new(opening));
        let seat = self.running.enter(&course);
        (course, seat)
    }

    /// It is known what it is for, and it is let through.
    pub(crate) fn started(&self, course: &Arc<Course>) {
        if self.is_heard() {
            let _ = self.told.send(Event::Started(Arc::clone(course)));
        }
    }

    /// It ended as the record says, which is complete.
    pub(crate) fn end(
        &self,
        (course, seat): (&Arc<Course>, Seat),
        record: &CallRecord,
        now: Instant,
    ) {
        course.close(record);
        let over = Over::new(course, record);
        // What the gateway asks of itself is nothing that anybody did.
        if course.made == Made::Asked {
            self.tally.count(&over, now);
        }
        self.counts.count(&over);
        self.running.leave(seat);
        self.finished.push(Arc::clone(course));
        if self.is_heard() {
            let _ = self.told.send(Event::Done(Arc::clone(course)));
        }
    }

    /// What runs now, the oldest first.
    pub fn running(&self) -> Vec<Arc<Course>> {
        self.running.all()
    }

    /// Calls that are over and that `wanted` likes, as many as `most`; of those before that number
    /// only.
    pub fn finished(
        &self,
        before: Option<u64>,
        most: usize,
        wanted: impl Fn(&Course) -> bool,
    ) -> Page {
        let mut calls = Vec::new();
        let mut next = None;
        for (number, course) in self.finished.newest(before) {
            if !wanted(&course) {
                continue;
            }
            if calls.len() == most {
                return Page { calls, next };
            }
            next = Some(number);
            calls.push(course);
        }
        Page { calls, next: None }
    }

    /// How many calls there were in the last hour, and how long they took.
    pub fn hour(&self) -> Hour {
        self.tally.hour(self.clock.now(), self.clock.wall())
    }

    /// Since the start.
    pub fn counts(&self) -> &Counts {
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
    pub fn listen(self: &Arc<Self>) -> Listening {
        self.listeners.fetch_add(1, Ordering::Relaxed);
        Listening { calls: Arc::clone(self), told: self.told.subscribe() }
    }

    fn is_heard(&self) -> bool {
        self.listeners.load(Ordering::Relaxed) > 0
    }
}

impl Listening {
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

impl Drop for Listening {
    fn drop(&mut self) {
        self.calls.listeners.fetch_sub(1, Ordering::Relaxed);
    }
}
