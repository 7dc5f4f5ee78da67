//! Worker-local values.
//!
//! Workers are threads that serve calls side by side, each with a runtime of its own. What a worker
//! uses on every call it has for itself, so that no call has to wake another thread on its way.

use std::cell::Cell;
use std::sync::OnceLock;

/// More lanes than this share what they have.
const MAX_WORKERS: usize = 64;
/// The lane of the threads for large work ([`crate::offload`]), which is no other's.
const LARGE_WORK: usize = MAX_WORKERS - 1;

thread_local! {
    static WORKER: Cell<usize> = const { Cell::new(0) };
}

/// Says which lane this thread is. Threads that never do are all one and the same.
pub fn enter(lane: usize) {
    WORKER.set(lane % LARGE_WORK);
}

pub(crate) fn enter_large_work() {
    WORKER.set(LARGE_WORK);
}

/// One thing for each lane, made when the lane first needs it.
pub(crate) struct PerWorker<T> {
    slots: Box<[OnceLock<Box<T>>]>,
}

impl<T> PerWorker<T> {
    pub(crate) fn new() -> Self {
        Self { slots: (0..MAX_WORKERS).map(|_| OnceLock::new()).collect() }
    }

    pub(crate) fn get(&self, make: impl FnOnce() -> T) -> &T {
        self.slots[WORKER.get()].get_or_init(|| Box::new(make()))
    }
}

#[cfg(test)]
mod tests {
    use super::{PerWorker, enter};

    #[test]
    fn each_lane_has_its_own() {
        let per_lane = PerWorker::new();
        assert_eq!(*per_lane.get(|| 0), 0);
        std::thread::scope(|scope| {
            for lane in 1..4 {
                let per_lane = &per_lane;
                scope.spawn(move || {
                    enter(lane);
                    assert_eq!(*per_lane.get(|| lane), lane);
                    assert_eq!(*per_lane.get(|| 99), lane);
                });
            }
        });
        assert_eq!(*per_lane.get(|| 99), 0);
    }
}
