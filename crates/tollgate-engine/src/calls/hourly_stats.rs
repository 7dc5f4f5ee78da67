//! Call statistics of the last hour: counts per minute, and durations per tier. Lock-free, except
//! for opening the next minute.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use tollgate_core::budget::Tier;
use tollgate_core::score::{LatencyAggregate, scale};

use super::finished_call::FinishedCall;

const MINUTE: Duration = Duration::from_secs(60);
/// An hour, including the current minute.
const MINUTES: usize = 60;
/// Durations are kept in blocks of this many minutes: percentiles need no finer resolution.
const BLOCK: u64 = 5;
const BLOCKS: usize = MINUTES / BLOCK as usize + 1;
const TIERS: usize = Tier::ALL.len();

pub(super) struct HourlyStats {
    created: Instant,
    /// Offset of the start within its wall-clock minute.
    into: Duration,
    minutes: TimeRing<[TierCounters; TIERS], MINUTES>,
    blocks: TimeRing<[DurationBuckets; TIERS], BLOCKS>,
}

/// The last hour.
#[derive(Debug, Clone)]
pub struct HourReport {
    /// The oldest first; the last is the current minute.
    pub minutes: Vec<MinuteStats>,
    /// From fast to deep.
    pub tiers: Vec<TierStats>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MinuteStats {
    pub at: SystemTime,
    pub calls: u64,
    pub errors: u64,
    /// Calls that were not done at the end of their turn.
    pub misses: u64,
}

#[derive(Debug, Clone)]
pub struct TierStats {
    pub tier: Tier,
    pub calls: u64,
    pub errors: u64,
    pub misses: u64,
    /// Of all calls that ran, successful or not, without time spent waiting for people.
    pub spans: LatencyAggregate,
}

#[derive(Default)]
struct TierCounters {
    calls: AtomicU32,
    errors: AtomicU32,
    misses: AtomicU32,
}

struct DurationBuckets(Box<[AtomicU32]>);

impl Default for DurationBuckets {
    fn default() -> Self {
        Self((0..scale::PLACES).map(|_| AtomicU32::new(0)).collect())
    }
}

impl HourlyStats {
    pub(super) fn new(created: Instant, wall: SystemTime) -> Self {
        let since = wall.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let into = Duration::from_secs(since.as_secs() % MINUTE.as_secs());
        Self { created, into, minutes: TimeRing::default(), blocks: TimeRing::default() }
    }

    pub(super) fn count(&self, over: &FinishedCall<'_>, now: Instant) {
        let minute = self.minute(now);
        let tier = over.record.tier as usize;
        let sums = &self.minutes.at(minute)[tier];
        sums.calls.fetch_add(1, Ordering::Relaxed);
        if over.record.end.is_error() {
            sums.errors.fetch_add(1, Ordering::Relaxed);
        }
        if over.is_miss {
            sums.misses.fetch_add(1, Ordering::Relaxed);
        }
        if over.call_progress.is_sent() {
            let place = scale::place(over.worked);
            self.blocks.at(minute / BLOCK)[tier].0[place].fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn hour(&self, now: Instant, wall: SystemTime) -> HourReport {
        let last = self.minute(now);
        let begun = wall.checked_sub(self.within(now)).unwrap_or(wall);
        let first = (last + 1).saturating_sub(MINUTES as u64);
        let mut tiers: Vec<TierStats> = Tier::ALL.into_iter().map(TierStats::none).collect();
        // Includes minutes before the start: a chart covers a full hour.
        let minutes = (0..MINUTES as u64).rev().map(|back| {
            let at = MINUTE
                .checked_mul(u32::try_from(back).unwrap_or_default())
                .and_then(|back| begun.checked_sub(back))
                .unwrap_or(begun);
            let mut minute = MinuteStats { at, calls: 0, errors: 0, misses: 0 };
            let number = last.checked_sub(back).filter(|number| *number >= first);
            if let Some(sums) = number.and_then(|number| self.minutes.peek(number)) {
                for (of, sums) in tiers.iter_mut().zip(sums) {
                    minute.add(of, sums);
                }
            }
            minute
        });
        let minutes = minutes.collect();
        for back in 0..BLOCKS as u64 {
            let Some(number) = (last / BLOCK).checked_sub(back) else { break };
            if let Some(spans) = self.blocks.peek(number) {
                tiers
                    .iter_mut()
                    .zip(spans)
                    .for_each(|(of, spans)| of.spans.merge(&spans.figures()));
            }
        }
        HourReport { minutes, tiers }
    }

    fn minute(&self, now: Instant) -> u64 {
        (now.saturating_duration_since(self.created) + self.into).as_secs() / MINUTE.as_secs()
    }

    fn within(&self, now: Instant) -> Duration {
        let since = now.saturating_duration_since(self.created) + self.into;
        Duration::from_secs(since.as_secs() % MINUTE.as_secs())
    }
}

impl MinuteStats {
    fn add(&mut self, of: &mut TierStats, sums: &TierCounters) {
        let read = |count: &AtomicU32| u64::from(count.load(Ordering::Relaxed));
        let calls = read(&sums.calls);
        let errors = read(&sums.errors);
        let misses = read(&sums.misses);
        for (one, all, more) in [
            (&mut self.calls, &mut of.calls, calls),
            (&mut self.errors, &mut of.errors, errors),
            (&mut self.misses, &mut of.misses, misses),
        ] {
            *one += more;
            *all += more;
        }
    }
}

impl TierStats {
    fn none(tier: Tier) -> Self {
        Self { tier, calls: 0, errors: 0, misses: 0, spans: LatencyAggregate::default() }
    }
}

impl DurationBuckets {
    fn figures(&self) -> LatencyAggregate {
        let counts = self.0.iter().map(|count| u64::from(count.load(Ordering::Relaxed)));
        let steps: Vec<(u64, u64)> = counts
            .enumerate()
            .map(|(place, count)| (scale::longest_micros(place), count))
            .collect();
        let calls = steps.iter().map(|(_, count)| count).sum();
        LatencyAggregate::from_untrusted(calls, 0, steps).unwrap_or_default()
    }
}

/// Cleared when its slot is reused.
trait ClearCounters {
    fn clear(&self);
}

impl ClearCounters for [TierCounters; TIERS] {
    fn clear(&self) {
        for sums in self {
            for count in [&sums.calls, &sums.errors, &sums.misses] {
                count.store(0, Ordering::Relaxed);
            }
        }
    }
}

impl ClearCounters for [DurationBuckets; TIERS] {
    fn clear(&self) {
        self.iter().flat_map(|spans| &spans.0).for_each(|count| count.store(0, Ordering::Relaxed));
    }
}

/// A ring of the last `SIZE` items, numbered by time.
struct TimeRing<T, const SIZE: usize> {
    /// Number of the item in a slot, plus one: zero is empty.
    numbers: [AtomicU64; SIZE],
    places: [T; SIZE],
    turning: Mutex<()>,
}

impl<T: Default, const SIZE: usize> Default for TimeRing<T, SIZE> {
    fn default() -> Self {
        Self {
            numbers: std::array::from_fn(|_| AtomicU64::new(0)),
            places: std::array::from_fn(|_| T::default()),
            turning: Mutex::new(()),
        }
    }
}

impl<T: ClearCounters, const SIZE: usize> TimeRing<T, SIZE> {
    fn at(&self, number: u64) -> &T {
        let place = Self::place(number);
        if self.numbers[place].load(Ordering::Acquire) < number + 1 {
            let _turning = self.turning.lock();
            if self.numbers[place].load(Ordering::Acquire) < number + 1 {
                self.places[place].clear();
                self.numbers[place].store(number + 1, Ordering::Release);
            }
        }
        &self.places[place]
    }

    /// `None` if nothing was counted at that time.
    fn peek(&self, number: u64) -> Option<&T> {
        let place = Self::place(number);
        let is_it = self.numbers[place].load(Ordering::Acquire) == number + 1;
        is_it.then(|| &self.places[place])
    }

    fn place(number: u64) -> usize {
        usize::try_from(number % SIZE as u64).unwrap_or_default()
    }
}
