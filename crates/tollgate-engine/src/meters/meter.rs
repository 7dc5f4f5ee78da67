//! The meter of one tool: its window, and where the tool stands by that.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tollgate_core::id::ToolId;
use tollgate_core::latency::{Sample, Window};
use tollgate_core::standing::{Assigned, Declared, Facts, Rules, Saved, Standing, Verdict};
use tollgate_store::measurements::{Measurement, Unsaved};

use super::moment::Moment;

pub(super) struct Meter {
    id: ToolId,
    window: Window,
    /// Recorded, and not yet judged.
    fresh: AtomicBool,
    last: Moment,
    next_look: Moment,
    assigned: ArcSwap<Assigned>,
    /// Calls never wait for this.
    judged: Mutex<Judged>,
    kept: Mutex<Kept>,
}

struct Judged {
    standing: Standing,
    declared: Declared,
}

/// What the archive has of this meter.
struct Kept {
    recorded: u64,
    standing: Saved,
    revision: u64,
    /// When the last call before this process was measured.
    updated_at: Option<SystemTime>,
}

/// What a new meter is told.
pub(super) struct Terms<'t> {
    pub(super) declared: Declared,
    pub(super) rules: &'t Rules,
    pub(super) born: Instant,
    pub(super) now: Instant,
}

impl Meter {
    pub(super) fn new(id: ToolId, measured: Option<Measurement>, terms: &Terms<'_>) -> Self {
        let Terms { declared, rules, born, now } = *terms;
        let window = Window::restored(measured.as_ref().map_or(&[], |it| &it.samples));
        let facts = Facts { window: &window, declared, rules, now };
        let (standing, kept) = match measured {
            Some(it) => {
                let kept = Kept {
                    recorded: window.recorded(),
                    standing: it.standing,
                    revision: it.revision,
                    updated_at: Some(it.updated_at),
                };
                (Standing::restored(&it.standing, &facts), kept)
            }
            None => {
                let standing = Standing::new(&facts);
                let saved = standing.saved();
                let kept = Kept { recorded: 0, standing: saved, revision: 0, updated_at: None };
                (standing, kept)
            }
        };
        let next_look = Moment::never(born);
        next_look.set(standing.next_look());
        Self {
            id,
            fresh: AtomicBool::new(false),
            last: Moment::never(born),
            next_look,
            assigned: ArcSwap::from_pointee(standing.assigned().clone()),
            judged: Mutex::new(Judged { standing, declared }),
            kept: Mutex::new(kept),
            window,
        }
    }

    pub(super) fn id(&self) -> &ToolId {
        &self.id
    }

    /// Whether it is the first since the last judgement.
    pub(super) fn record(&self, sample: Sample, now: Instant) -> bool {
        self.window.record(sample);
        self.last.set(Some(now));
        // After the sample, so that a judge who takes the mark away sees the sample.
        !self.fresh.swap(true, Ordering::AcqRel)
    }

    pub(super) fn assigned(&self) -> Arc<Assigned> {
        self.assigned.load_full()
    }

    pub(super) fn samples(&self) -> Vec<Sample> {
        self.window.latest(0)
    }

    pub(super) fn recent(&self, most: usize) -> Vec<Sample> {
        self.window.latest(self.window.recorded().saturating_sub(most as u64))
    }

    pub(super) fn next_look(&self) -> Option<Instant> {
        self.next_look.get()
    }

    pub(super) fn wants_probe(&self) -> bool {
        self.judged.lock().standing.should_probe()
    }

    /// When the last call was measured, if one was in this process.
    pub(super) fn last(&self) -> Option<Instant> {
        self.last.get()
    }

    /// How many calls were ever measured, as far as the window tells.
    pub(super) fn recorded(&self) -> u64 {
        self.window.recorded()
    }

    pub(super) fn measured_at(&self, now: Instant, wall: SystemTime) -> Option<SystemTime> {
        match self.last.get() {
            Some(last) => wall.checked_sub(now.saturating_duration_since(last)),
            None => self.kept.lock().updated_at,
        }
    }

    /// It is to be looked at again, whether it was called or not.
    pub(super) fn stir(&self) {
        self.fresh.store(true, Ordering::Release);
    }

    /// `None` if there is nothing to look at.
    pub(super) fn judge(&self, rules: &Rules, now: Instant) -> Option<Verdict> {
        self.is_waiting(now).then(|| self.decide(&mut self.judged.lock(), rules, now))
    }

    /// What is said of the tool from now on.
    pub(super) fn declare(&self, declared: Declared, rules: &Rules, now: Instant) -> Verdict {
        let mut judged = self.judged.lock();
        let is_news = std::mem::replace(&mut judged.declared, declared) != declared;
        match self.is_waiting(now) || is_news {
            true => self.decide(&mut judged, rules, now),
            false => Verdict::Same,
        }
    }

    /// Takes the mark of what was recorded.
    fn is_waiting(&self, now: Instant) -> bool {
        let is_due = self.next_look().is_some_and(|due| due <= now);
        self.fresh.swap(false, Ordering::AcqRel) || is_due
    }

    fn decide(&self, judged: &mut Judged, rules: &Rules, now: Instant) -> Verdict {
        let facts = Facts { window: &self.window, declared: judged.declared, rules, now };
        let verdict = judged.standing.judge(&facts);
        self.next_look.set(judged.standing.next_look());
        self.assigned.store(Arc::new(judged.standing.assigned().clone()));
        verdict
    }

    /// What the archive does not have yet, and how much was recorded by then.
    pub(super) fn unsaved(&self, (now, wall): (Instant, SystemTime)) -> Option<(u64, Unsaved)> {
        let standing = self.judged.lock().standing.saved();
        let measured_at = self.measured_at(now, wall);
        let kept = self.kept.lock();
        let recorded = self.window.recorded();
        if recorded == kept.recorded && standing == kept.standing {
            return None;
        }
        let measurement = Measurement {
            tool: self.id.clone(),
            samples: self.window.latest(0),
            standing,
            updated_at: measured_at.unwrap_or(wall),
            revision: kept.revision,
        };
        let fresh = usize::try_from(recorded - kept.recorded).unwrap_or(usize::MAX);
        Some((recorded, Unsaved { measurement, fresh }))
    }

    /// It is in the archive now.
    pub(super) fn saved(&self, recorded: u64, unsaved: &Unsaved, revision: u64) {
        let Measurement { standing, updated_at, .. } = unsaved.measurement;
        *self.kept.lock() = Kept { recorded, standing, revision, updated_at: Some(updated_at) };
    }
}
