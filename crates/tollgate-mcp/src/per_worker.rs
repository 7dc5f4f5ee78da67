//! Worker-local values.
//!
//! Workers are threads that serve calls in parallel, each with its own runtime. Whatever a worker
//! needs on every call is worker-local, so that no call has to wake another thread.

use std::cell::Cell;
use std::sync::OnceLock;

/// Workers beyond this number share values.
const MAX_WORKERS: usize = 64;
/// The index of the offload threads ([`crate::offload`]), which no worker has.
const LARGE_WORK: usize = MAX_WORKERS - 1;

thread_local! {
    static WORKER: Cell<usize> = const { Cell::new(0) };
}

/// Sets the worker index of this thread. Threads without one share an index.
pub fn enter(worker: usize) {
    WORKER.set(worker % LARGE_WORK);
}

pub(crate) fn enter_large_work() {
    WORKER.set(LARGE_WORK);
}

/// One value per worker, created on first use.
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
            for worker in 1..4 {
                let per_lane = &per_lane;
                scope.spawn(move || {
                    enter(worker);
                    assert_eq!(*per_lane.get(|| worker), worker);
                    assert_eq!(*per_lane.get(|| 99), worker);
                });
            }
        });
        assert_eq!(*per_lane.get(|| 99), 0);
    }
}
