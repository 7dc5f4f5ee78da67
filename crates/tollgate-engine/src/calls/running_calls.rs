//! The running calls, in a sharded table to avoid contention.

use std::sync::Arc;

use parking_lot::Mutex;

use super::call_progress::CallProgress;

/// A power of two.
const TABLES: usize = 16;

#[derive(Default)]
pub(super) struct RunningCalls {
    tables: [Mutex<RunningCallsShard>; TABLES],
}

#[derive(Default)]
struct RunningCallsShard {
    seats: Vec<Option<Arc<CallProgress>>>,
    free: Vec<usize>,
}

/// The slot of a call.
pub(crate) struct RunningCallSlot {
    table: usize,
    slot: usize,
}

impl RunningCalls {
    pub(super) fn enter(&self, call_progress: &Arc<CallProgress>) -> RunningCallSlot {
        // The last character of an id is random.
        let letter = call_progress.id.as_str().bytes().next_back().unwrap_or_default();
        let table = usize::from(letter) % TABLES;
        let RunningCallsShard { seats, free } = &mut *self.tables[table].lock();
        let slot = match free.pop() {
            Some(slot) => slot,
            None => {
                seats.push(None);
                seats.len() - 1
            }
        };
        seats[slot] = Some(Arc::clone(call_progress));
        RunningCallSlot { table, slot }
    }

    pub(super) fn leave(&self, RunningCallSlot { table, slot: seat }: RunningCallSlot) {
        let mut table = self.tables[table].lock();
        table.seats[seat] = None;
        table.free.push(seat);
    }

    pub(super) fn count(&self) -> usize {
        let of_table = |table: &Mutex<RunningCallsShard>| {
            let table = table.lock();
            table.seats.len() - table.free.len()
        };
        self.tables.iter().map(of_table).sum()
    }

    /// The oldest first.
    pub(super) fn all(&self) -> Vec<Arc<CallProgress>> {
        let mut all = Vec::new();
        for table in &self.tables {
            all.extend(table.lock().seats.iter().flatten().map(Arc::clone));
        }
        all.sort_unstable_by_key(|call_progress| (call_progress.began, call_progress.id));
        all
    }
}
