//! Several processes measure the same tool.

use std::time::Instant;

use tollgate_core::tier_assignment::{DeclaredLatency, TierAssignment, TierFacts, TierRules};

use super::*;

/// A process that measures the tool `a`, and saves after each round of calls.
struct Process {
    store: Store,
    window: LatencyWindow,
    standing: TierAssignment,
    saved: u64,
    revision: u64,
}

impl Process {
    fn start(file: &Path) -> Self {
        let store = open(file);
        let kept = store.measurements().load("test").unwrap().measurements.pop();
        let UnsavedMeasurement { measurement: nothing, .. } = unsaved("a", []);
        let kept = kept.unwrap_or(nothing);
        let window = LatencyWindow::restore(&kept.samples);
        let standing = with(&window, |facts| TierAssignment::restore(&kept.standing, facts));
        Self { saved: window.recorded_count(), revision: kept.revision, store, window, standing }
    }

    fn calls(&mut self, count: usize, millis: u64) {
        for sample in samples(vec![millis; count]) {
            self.window.record(sample);
        }
        with(&self.window, |facts| self.standing.judge(facts));
        let samples = self.window.latest(0);
        let standing = self.standing.to_saved();
        let updated_at = at(1);
        let revision = self.revision;
        let measurement = Measurement { tool: id("a"), samples, standing, updated_at, revision };
        let fresh = usize::try_from(self.window.recorded_count() - self.saved).unwrap();
        let unsaved = UnsavedMeasurement { measurement, fresh };
        self.revision = self.store.measurements().save("test", &[unsaved]).unwrap()[0];
        self.saved = self.window.recorded_count();
    }

    fn counted(&self) -> usize {
        self.standing.assigned_tier().figures.count
    }
}

#[expect(clippy::disallowed_methods, reason = "any instant will do")]
fn with<T>(window: &LatencyWindow, judge: impl FnOnce(&TierFacts<'_>) -> T) -> T {
    let declared = DeclaredLatency::default();
    let rules = TierRules::default();
    judge(&TierFacts { window, declared, rules: &rules, now: Instant::now() })
}

#[test]
fn the_calls_of_all_processes_count_after_a_restart() {
    for (earlier, ours, theirs, expected) in [
        (0, &[10][..], &[10][..], 20),
        (7, &[10], &[10], 27),
        (0, &[5, 5], &[4, 6], 20),
        (7, &[1, 1, 1], &[20], 30),
        (90, &[10], &[10], 100),
        (100, &[10, 10], &[10], 100),
    ] {
        let (_directory, file) = file();
        Process::start(&file).calls(earlier, 200);
        let mut one = Process::start(&file);
        let mut other = Process::start(&file);
        ours.iter().for_each(|calls| one.calls(*calls, 200));
        theirs.iter().for_each(|calls| other.calls(*calls, 200));
        assert_eq!(Process::start(&file).counted(), expected, "{earlier} {ours:?} {theirs:?}");
        one.calls(1, 200);
        other.calls(1, 200);
        let counted = Process::start(&file).counted();
        assert_eq!(counted, (expected + 2).min(100), "{earlier} {ours:?} {theirs:?}");
    }
}

#[test]
fn what_one_process_saw_end_is_not_brought_back_by_another() {
    let (_directory, file) = file();
    Process::start(&file).calls(50, 3_000);
    let mut one = Process::start(&file);
    let mut other = Process::start(&file);
    one.calls(10, 200);
    assert_eq!(one.counted(), 10);
    other.calls(2, 200);
    assert_eq!(Process::start(&file).counted(), 12);
}

#[test]
fn an_epoch_covers_what_both_hold_to_be_in_it() {
    for (ours, fresh, foreign, theirs, expected) in [
        (10, 10, 10, 10, 20),
        (40, 10, 10, 40, 50),
        (100, 10, 10, 100, 100),
        // It began within our fresh calls.
        (9, 10, 10, 10, 9),
        // It began before them for us, and later for the others.
        (60, 10, 20, 15, 25),
        // The other way round.
        (15, 10, 20, 70, 35),
        (usize::MAX, 10, usize::MAX, u64::MAX, 100),
        (10, 10, 10, 0, 10),
    ] {
        assert_eq!(epoch(ours, fresh, foreign, theirs), expected, "{ours} {fresh} {foreign}");
    }
}
