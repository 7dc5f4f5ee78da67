//! The meter of one tool: its window of samples, and its tier.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tollgate_core::id::ToolId;
use tollgate_core::latency::{LatencyWindow, Sample};
use tollgate_core::tier_assignment::{
    AssignedTier, DeclaredLatency, SavedTierAssignment, TierAssignment, TierFacts, TierRules,
    TierVerdict,
};
use tollgate_store::measurements::{Measurement, UnsavedMeasurement};

use super::atomic_instant::AtomicInstant;

pub(super) struct ToolMeter {
    id: ToolId,
    window: LatencyWindow,
    /// Recorded since the last evaluation.
    fresh: AtomicBool,
    last: AtomicInstant,
    next_look: AtomicInstant,
    assigned: ArcSwap<AssignedTier>,
    /// Calls never wait for this lock.
    judged: Mutex<MeterJudgement>,
    archived: Mutex<ArchivedMeter>,
}

struct MeterJudgement {
    standing: TierAssignment,
    declared: DeclaredLatency,
}

/// What the archive has of this meter.
struct ArchivedMeter {
    recorded: u64,
    standing: SavedTierAssignment,
    revision: u64,
    /// When the last call before this process was measured.
    updated_at: Option<SystemTime>,
}

/// Parameters of a new meter.
pub(super) struct MeterInit<'t> {
    pub(super) declared: DeclaredLatency,
    pub(super) rules: &'t TierRules,
    pub(super) created: Instant,
    pub(super) now: Instant,
}

impl ToolMeter {
    pub(super) fn new(id: ToolId, measured: Option<Measurement>, terms: &MeterInit<'_>) -> Self {
        let MeterInit { declared, rules, created, now } = *terms;
        let window = LatencyWindow::restore(measured.as_ref().map_or(&[], |it| &it.samples));
        let facts = TierFacts { window: &window, declared, rules, now };
        let (standing, kept) = match measured {
            Some(it) => {
                let kept = ArchivedMeter {
                    recorded: window.recorded_count(),
                    standing: it.standing,
                    revision: it.revision,
                    updated_at: Some(it.updated_at),
                };
                (TierAssignment::restore(&it.standing, &facts), kept)
            }
            None => {
                let standing = TierAssignment::new(&facts);
                let saved = standing.to_saved();
                let kept =
                    ArchivedMeter { recorded: 0, standing: saved, revision: 0, updated_at: None };
                (standing, kept)
            }
        };
        let next_look = AtomicInstant::never(created);
        next_look.set(standing.next_look());
        Self {
            id,
            fresh: AtomicBool::new(false),
            last: AtomicInstant::never(created),
            next_look,
            assigned: ArcSwap::from_pointee(standing.assigned_tier().clone()),
            judged: Mutex::new(MeterJudgement { standing, declared }),
            archived: Mutex::new(kept),
            window,
        }
    }

    pub(super) fn id(&self) -> &ToolId {
        &self.id
    }

    /// Returns whether it is the first since the last evaluation.
    pub(super) fn record(&self, sample: Sample, now: Instant) -> bool {
        self.window.record(sample);
        self.last.set(Some(now));
        // After the sample, so that an evaluation that clears the flag sees the sample.
        !self.fresh.swap(true, Ordering::AcqRel)
    }

    pub(super) fn assigned_tier(&self) -> Arc<AssignedTier> {
        self.assigned.load_full()
    }

    pub(super) fn samples(&self) -> Vec<Sample> {
        self.window.latest(0)
    }

    pub(super) fn recent(&self, most: usize) -> Vec<Sample> {
        self.window.latest(self.window.recorded_count().saturating_sub(most as u64))
    }

    pub(super) fn next_look(&self) -> Option<Instant> {
        self.next_look.get()
    }

    pub(super) fn wants_probe(&self) -> bool {
        self.judged.lock().standing.should_probe()
    }

    /// When the last call was measured in this process, if any.
    pub(super) fn last(&self) -> Option<Instant> {
        self.last.get()
    }

    /// How many calls were ever measured, according to the window.
    pub(super) fn recorded_count(&self) -> u64 {
        self.window.recorded_count()
    }

    pub(super) fn measured_at(&self, now: Instant, wall: SystemTime) -> Option<SystemTime> {
        match self.last.get() {
            Some(last) => wall.checked_sub(now.saturating_duration_since(last)),
            None => self.archived.lock().updated_at,
        }
    }

    /// Schedules an evaluation, even without a call.
    pub(super) fn mark_for_review(&self) {
        self.fresh.store(true, Ordering::Release);
    }

    /// `None` if there is nothing to evaluate.
    pub(super) fn judge(&self, rules: &TierRules, now: Instant) -> Option<TierVerdict> {
        self.is_waiting(now).then(|| self.decide(&mut self.judged.lock(), rules, now))
    }

    /// Replaces the tool's declarations.
    pub(super) fn declare(
        &self,
        declared: DeclaredLatency,
        rules: &TierRules,
        now: Instant,
    ) -> TierVerdict {
        let mut judged = self.judged.lock();
        let is_news = std::mem::replace(&mut judged.declared, declared) != declared;
        if self.is_waiting(now) || is_news {
            self.decide(&mut judged, rules, now)
        } else {
            TierVerdict::Same
        }
    }

    /// Clears the flag.
    fn is_waiting(&self, now: Instant) -> bool {
        let is_due = self.next_look().is_some_and(|due| due <= now);
        self.fresh.swap(false, Ordering::AcqRel) || is_due
    }

    fn decide(&self, judged: &mut MeterJudgement, rules: &TierRules, now: Instant) -> TierVerdict {
        let facts = TierFacts { window: &self.window, declared: judged.declared, rules, now };
        let verdict = judged.standing.judge(&facts);
        self.next_look.set(judged.standing.next_look());
        self.assigned.store(Arc::new(judged.standing.assigned_tier().clone()));
        verdict
    }

    /// Changes that the archive does not have yet, and the count of samples by then.
    pub(super) fn unsaved_changes(
        &self,
        now: Instant,
        wall: SystemTime,
    ) -> Option<(u64, UnsavedMeasurement)> {
        let standing = self.judged.lock().standing.to_saved();
        let measured_at = self.measured_at(now, wall);
        let kept = self.archived.lock();
        let recorded = self.window.recorded_count();
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
        Some((recorded, UnsavedMeasurement { measurement, fresh }))
    }

    /// The changes are in the archive now.
    pub(super) fn mark_saved(&self, recorded: u64, unsaved: &UnsavedMeasurement, revision: u64) {
        let Measurement { standing, updated_at, .. } = unsaved.measurement;
        *self.archived.lock() =
            ArchivedMeter { recorded, standing, revision, updated_at: Some(updated_at) };
    }
}
