//! Lock-free ring buffer of the last values. `tollgate-model` compiles this file too, with the
//! atomics of a model checker, so it depends only on `crate::sync`.

use crate::sync::{AtomicU64, Ordering};

/// The last `SIZE` values. Safe for concurrent writers and readers.
#[derive(Debug)]
pub(crate) struct LatencyRing<const SIZE: usize> {
    pub(super) next: AtomicU64,
    /// A value with the lap number above it, which tells a reader whether the value is of this lap
    /// or the one before.
    pub(super) slots: [AtomicU64; SIZE],
}

/// Bits of a value. Values are never zero: that marks an empty slot.
pub(crate) const VALUE_BITS: u32 = 42;

impl<const SIZE: usize> LatencyRing<SIZE> {
    pub(crate) fn new() -> Self {
        Self { next: AtomicU64::new(0), slots: std::array::from_fn(|_| AtomicU64::new(0)) }
    }

    /// A writer that is suspended in here for a whole lap hides one newer value; nothing else is
    /// lost.
    pub(crate) fn push(&self, value: u64) {
        // Each slot is self-contained and carries its lap: no ordering between slots is needed.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (slot, lap) = Self::place(number);
        self.slots[slot].store((lap << VALUE_BITS) | value, Ordering::Relaxed);
    }

    /// Total number of values ever pushed.
    pub(crate) fn pushed_count(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// The values from number `since` on, with their numbers. A value that is being written is
    /// skipped.
    pub(crate) fn numbered_values(&self, since: u64) -> Vec<(u64, u64)> {
        let end = self.pushed_count();
        let first = end.saturating_sub(SIZE as u64).max(since);
        (first..end).filter_map(|number| Some((number, self.read(number)?))).collect()
    }

    fn read(&self, number: u64) -> Option<u64> {
        let (slot, lap) = Self::place(number);
        let bits = self.slots[slot].load(Ordering::Relaxed);
        let value = bits & ((1 << VALUE_BITS) - 1);
        (value != 0 && bits >> VALUE_BITS == lap).then_some(value)
    }

    /// The slot of a value, and its lap, truncated to the bits of a slot.
    fn place(number: u64) -> (usize, u64) {
        let size = SIZE as u64;
        ((number % size) as usize, (number / size) & (u64::MAX >> VALUE_BITS))
    }
}
