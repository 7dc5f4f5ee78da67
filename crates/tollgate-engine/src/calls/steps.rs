//! The steps of a call and their times: a few slots that are filled without a lock or an
//! allocation, and can be read concurrently.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Steps kept per call; further steps are not recorded.
const MAX_STEPS: usize = 10;
/// Flag beside the end time: the attempt failed.
const WRONG: u64 = 1 << 63;
/// The step is stored above the microseconds.
const STEP_SHIFT: u32 = 56;
const MICROS: u64 = (1 << STEP_SHIFT) - 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStep {
    /// Checked: secrets, policy, arguments, limits.
    Admitted,
    /// Waited for approval.
    Leave,
    /// Waited for its server to wake up, or for a permit.
    Queued,
    /// Ran at its server.
    Attempt,
    /// Waited for the answer of an equal call (single flight).
    Shared,
    /// The result was truncated and encoded.
    Shaped,
}

impl CallStep {
    const ALL: [Self; 6] =
        [Self::Admitted, Self::Leave, Self::Queued, Self::Attempt, Self::Shared, Self::Shaped];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Leave => "leave",
            Self::Queued => "queued",
            Self::Attempt => "attempt",
            Self::Shared => "shared",
            Self::Shaped => "shaped",
        }
    }

    fn code(self) -> u64 {
        Self::ALL.iter().position(|step| *step == self).map_or(0, |at| at as u64 + 1)
    }

    fn decode(code: u64) -> Option<Self> {
        let at = usize::try_from(code).ok()?.checked_sub(1)?;
        Self::ALL.get(at).copied()
    }
}

/// Start and end, relative to the beginning of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepTiming {
    pub step: CallStep,
    pub from: Duration,
    /// `None` while it runs.
    pub to: Option<Duration>,
}

#[derive(Debug, Default)]
pub(super) struct CallSteps {
    used: AtomicUsize,
    places: [StepSlot; MAX_STEPS],
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttemptStatus {
    Well,
    Wrong,
}

/// Zero is unset; times are stored plus one microsecond.
#[derive(Debug, Default)]
struct StepSlot {
    from: AtomicU64,
    to: AtomicU64,
}

impl CallSteps {
    pub(super) fn begin(&self, step: CallStep, at: Duration) -> usize {
        let place = self.used.fetch_add(1, Ordering::Relaxed);
        self.write(place, step, at);
        place
    }

    pub(super) fn end(&self, place: usize, at: Duration) {
        if let Some(place) = self.places.get(place) {
            place.to.store(micros(at) + 1, Ordering::Relaxed);
        }
    }

    /// Takes two consecutive slots: queued from now on, and later at the server.
    pub(super) fn begin_attempt(&self, at: Duration) -> usize {
        let place = self.used.fetch_add(2, Ordering::Relaxed);
        self.write(place, CallStep::Queued, at);
        place
    }

    /// The attempt that took the slot `place` is sent to the server.
    pub(super) fn begin_at_server(&self, place: usize, at: Duration) {
        self.end(place, at);
        self.write(place + 1, CallStep::Attempt, at);
    }

    /// The attempt that took the slot `place` returned, or was never sent.
    pub(super) fn end_attempt(&self, place: usize, at: Duration, status: AttemptStatus) {
        let attempt = self.places.get(place + 1).and_then(StepSlot::read);
        let place = place + usize::from(attempt.is_some());
        self.end(place, at);
        if let (AttemptStatus::Wrong, Some(place)) = (status, self.places.get(place)) {
            place.to.fetch_or(WRONG, Ordering::Relaxed);
        }
    }

    fn write(&self, place: usize, step: CallStep, at: Duration) {
        if let Some(place) = self.places.get(place) {
            let bits = (step.code() << STEP_SHIFT) | (micros(at) + 1);
            place.from.store(bits, Ordering::Relaxed);
        }
    }

    /// Durations of the steps of this kind.
    pub(super) fn spans(
        &self,
        step: CallStep,
        over: Duration,
    ) -> impl Iterator<Item = Duration> + '_ {
        let used = self.used.load(Ordering::Relaxed).min(MAX_STEPS);
        let all = self.places[..used].iter().filter_map(StepSlot::read);
        let of_kind = all.filter(move |page| page.step == step);
        of_kind.map(move |it| it.to.unwrap_or(over).min(over).saturating_sub(it.from))
    }

    /// Duration and status of each finished attempt, in the order in which they began.
    pub(super) fn attempts(&self) -> impl Iterator<Item = (Duration, AttemptStatus)> + '_ {
        let used = self.used.load(Ordering::Relaxed).min(MAX_STEPS);
        self.places[..used].iter().filter_map(|place| {
            let page = place.read().filter(|page| page.step == CallStep::Attempt)?;
            let is_wrong = place.to.load(Ordering::Relaxed) & WRONG != 0;
            let went = if is_wrong { AttemptStatus::Wrong } else { AttemptStatus::Well };
            Some((page.to?.saturating_sub(page.from), went))
        })
    }

    /// Steps that were still running when the call ended, end with it.
    pub(super) fn all(&self, over: Option<Duration>) -> Vec<StepTiming> {
        let closed = |page: StepTiming| match over {
            Some(over) => {
                let to = page.to.map_or(over, |to| to.min(over));
                StepTiming { to: Some(to), from: page.from.min(to), ..page }
            }
            None => page,
        };
        self.places.iter().filter_map(StepSlot::read).map(closed).collect()
    }
}

impl StepSlot {
    fn read(&self) -> Option<StepTiming> {
        let from = self.from.load(Ordering::Relaxed);
        let step = CallStep::decode(from >> STEP_SHIFT)?;
        let moment = |bits: u64| bits.checked_sub(1).map(Duration::from_micros);
        let to = moment(self.to.load(Ordering::Relaxed) & !WRONG);
        Some(StepTiming { step, from: moment(from & MICROS)?, to })
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX).min(MICROS - 1)
}
