//! Ring buffer of finished calls. Each call has its own slot for one lap of the ring, so that two
//! that end together do not contend.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::call_progress::CallProgress;

pub(super) struct FinishedCallRing {
    slots: Box<[Mutex<Option<Arc<CallProgress>>>]>,
    /// Number of the next call.
    next: AtomicU64,
}

impl FinishedCallRing {
    pub(super) fn new(most: usize) -> Self {
        let slots = (0..most).map(|_| Mutex::new(None)).collect();
        Self { slots, next: AtomicU64::new(1) }
    }

    pub(super) fn push(&self, call_progress: Arc<CallProgress>) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        call_progress.number().store(number, Ordering::Relaxed);
        let oldest = self.slot(number).lock().replace(call_progress);
        // Freed after the slot's lock is released.
        drop(oldest);
    }

    /// Calls before the number, the newest first. Skips a call that is just being inserted.
    pub(super) fn newest(
        &self,
        before: Option<u64>,
    ) -> impl Iterator<Item = (u64, Arc<CallProgress>)> + '_ {
        let next = self.next.load(Ordering::Relaxed);
        let first = next.saturating_sub(self.slots.len() as u64).max(1);
        let end = before.map_or(next, |before| before.min(next));
        (first..end).rev().filter_map(|number| {
            let call_progress = self.slot(number).lock().as_ref().map(Arc::clone)?;
            (call_progress.number().load(Ordering::Relaxed) == number)
                .then_some((number, call_progress))
        })
    }

    fn slot(&self, number: u64) -> &Mutex<Option<Arc<CallProgress>>> {
        let at = number % self.slots.len() as u64;
        &self.slots[usize::try_from(at).unwrap_or_default()]
    }
}
