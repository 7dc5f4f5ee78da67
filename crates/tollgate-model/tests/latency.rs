//! The lock-free part of the latency window under a model checker (loom): every order in which
//! threads can take turns, and every value that a relaxed load may see.
//!
//! The file under test is the one that ships; only its atomics are loom's.

use std::collections::HashMap;

use loom::sync::Arc;
use loom::thread;

use self::ring::LatencyRing;

/// What `ring.rs` takes its atomics from.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
}

#[path = "../../tollgate-core/src/latency/ring.rs"]
mod ring;

/// What readers saw: a number never has two values, no value two numbers, and none was never pushed.
#[derive(Default)]
struct Seen {
    by_number: HashMap<u64, u64>,
}

impl Seen {
    fn note(&mut self, values: &[(u64, u64)], pushed: &[u64]) {
        for (number, value) in values {
            assert!(pushed.contains(value), "{value} was never pushed");
            let former = self.by_number.insert(*number, *value);
            assert!(former.is_none_or(|former| former == *value), "{number} has two values");
        }
        let mut values: Vec<u64> = self.by_number.values().copied().collect();
        values.sort_unstable();
        values.dedup();
        assert_eq!(values.len(), self.by_number.len(), "a value has two numbers");
    }
}

/// Every schedule with at most three preemptions, which is enough for every fault of so few steps that is known; all of them would
/// take minutes.
fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

fn push<const SIZE: usize>(
    ring: &Arc<LatencyRing<SIZE>>,
    values: &'static [u64],
) -> thread::JoinHandle<()> {
    let ring = Arc::clone(ring);
    thread::spawn(move || values.iter().for_each(|value| ring.push(*value)))
}

#[test]
fn r_31_writers_within_a_lap_lose_nothing() {
    check(|| {
        let ring = Arc::new(LatencyRing::<3>::new());
        let mut seen = Seen::default();
        let writers = [push(&ring, &[1]), push(&ring, &[2, 3])];
        seen.note(&ring.numbered_values(0), &[1, 2, 3]);
        for writer in writers {
            writer.join().unwrap();
        }
        let last = ring.numbered_values(0);
        seen.note(&last, &[1, 2, 3]);
        assert_eq!((last.len(), ring.pushed_count()), (3, 3), "all of them are there in the end");
        assert_eq!(ring.numbered_values(2).len(), 1);
    });
}

#[test]
fn r_31_writers_that_lap_each_other_hide_at_most_one_value_each() {
    check(|| {
        let ring = Arc::new(LatencyRing::<2>::new());
        let mut seen = Seen::default();
        let writers = [push(&ring, &[1]), push(&ring, &[2, 3, 4])];
        seen.note(&ring.numbered_values(0), &[1, 2, 3, 4]);
        for writer in writers {
            writer.join().unwrap();
        }
        let last = ring.numbered_values(0);
        seen.note(&last, &[1, 2, 3, 4]);
        assert!(last.iter().all(|(number, _)| *number >= 2), "only the last lap: {last:?}");
        // The writer of 1 may sleep while the other one goes round.
        assert!((1..=2).contains(&last.len()), "{last:?}");
    });
}

#[test]
fn r_31_a_reader_sees_whole_values_while_two_write_a_ring_of_one() {
    check(|| {
        let ring = Arc::new(LatencyRing::<1>::new());
        let mut seen = Seen::default();
        let writers = [push(&ring, &[1]), push(&ring, &[2])];
        for _ in 0..2 {
            let values = ring.numbered_values(0);
            assert!(values.len() <= 1);
            seen.note(&values, &[1, 2]);
        }
        for writer in writers {
            writer.join().unwrap();
        }
        seen.note(&ring.numbered_values(0), &[1, 2]);
    });
}
