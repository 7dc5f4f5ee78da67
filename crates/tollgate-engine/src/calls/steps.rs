//! What a call went through, and when: a few places that are filled as it goes, without a lock and
//! without an allocation, and can be read meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::course::Course;

/// Steps of one call that are kept; what it does beyond is not drawn.
const MOST: usize = 10;
/// An attempt that came to nothing has this beside its end.
const WRONG: u64 = 1 << 63;
/// The step stands above the microseconds.
const STEP_SHIFT: u32 = 56;
const MICROS: u64 = (1 << STEP_SHIFT) - 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Looked at: secrets, policy, arguments, limits.
    Admitted,
    /// A person had to agree.
    Leave,
    /// It waited for its server: to be woken, or for room.
    Queued,
    /// It was at its server.
    Attempt,
    /// Another caller had asked the same: its answer was waited for.
    Shared,
    /// Its answer was cut and dressed.
    Shaped,
}

impl Step {
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

    fn decoded(code: u64) -> Option<Self> {
        let at = usize::try_from(code).ok()?.checked_sub(1)?;
        Self::ALL.get(at).copied()
    }
}

/// From when to when, counted from the beginning of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    pub step: Step,
    pub from: Duration,
    /// `None` while it lasts.
    pub to: Option<Duration>,
}

#[derive(Debug, Default)]
pub(super) struct Steps {
    used: AtomicUsize,
    places: [Place; MOST],
}

/// Whether an attempt was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Went {
    Well,
    Wrong,
}

/// Zero is nothing yet; moments are kept with one microsecond more.
#[derive(Debug, Default)]
struct Place {
    from: AtomicU64,
    to: AtomicU64,
}

impl Steps {
    pub(super) fn begin(&self, step: Step, at: Duration) -> usize {
        let place = self.used.fetch_add(1, Ordering::Relaxed);
        self.write(place, step, at);
        place
    }

    pub(super) fn end(&self, place: usize, at: Duration) {
        if let Some(place) = self.places.get(place) {
            place.to.store(micros(at) + 1, Ordering::Relaxed);
        }
    }

    /// Two places one after the other: in the queue from now on, and later at the server.
    pub(super) fn leg(&self, at: Duration) -> usize {
        let place = self.used.fetch_add(2, Ordering::Relaxed);
        self.write(place, Step::Queued, at);
        place
    }

    fn write(&self, place: usize, step: Step, at: Duration) {
        if let Some(place) = self.places.get(place) {
            let bits = (step.code() << STEP_SHIFT) | (micros(at) + 1);
            place.from.store(bits, Ordering::Relaxed);
        }
    }

    /// How long each step of the kind took.
    pub(super) fn spans(&self, step: Step, over: Duration) -> impl Iterator<Item = Duration> + '_ {
        let used = self.used.load(Ordering::Relaxed).min(MOST);
        let all = self.places[..used].iter().filter_map(Place::read);
        let of_kind = all.filter(move |stretch| stretch.step == step);
        of_kind.map(move |it| it.to.unwrap_or(over).min(over).saturating_sub(it.from))
    }

    /// How long each attempt took that ended, and how, in the order in which they began.
    pub(super) fn attempts(&self) -> impl Iterator<Item = (Duration, Went)> + '_ {
        let used = self.used.load(Ordering::Relaxed).min(MOST);
        self.places[..used].iter().filter_map(|place| {
            let stretch = place.read().filter(|stretch| stretch.step == Step::Attempt)?;
            let is_wrong = place.to.load(Ordering::Relaxed) & WRONG != 0;
            let went = if is_wrong { Went::Wrong } else { Went::Well };
            Some((stretch.to?.saturating_sub(stretch.from), went))
        })
    }

    /// What was not over when the call was, ends with it.
    pub(super) fn all(&self, over: Option<Duration>) -> Vec<Stretch> {
        let closed = |stretch: Stretch| match over {
            Some(over) => {
                let to = stretch.to.map_or(over, |to| to.min(over));
                Stretch { to: Some(to), from: stretch.from.min(to), ..stretch }
            }
            None => stretch,
        };
        self.places.iter().filter_map(Place::read).map(closed).collect()
    }
}

impl Place {
    fn read(&self) -> Option<Stretch> {
        let from = self.from.load(Ordering::Relaxed);
        let step = Step::decoded(from >> STEP_SHIFT)?;
        let moment = |bits: u64| bits.checked_sub(1).map(Duration::from_micros);
        let to = moment(self.to.load(Ordering::Relaxed) & !WRONG);
        Some(Stretch { step, from: moment(from & MICROS)?, to })
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX).min(MICROS - 1)
}

/// One way to a server: the wait for it, and the time there.
#[derive(Debug, Clone)]
pub(crate) struct Leg {
    course: Arc<Course>,
    place: usize,
}

impl Leg {
    pub(super) fn new(course: &Arc<Course>, place: usize) -> Self {
        Self { course: Arc::clone(course), place }
    }

    /// There was room for it: it is at the server from now on.
    pub(crate) fn departed(&self, now: Instant) {
        let (steps, at) = (self.course.steps_taken(), self.course.since(now));
        steps.end(self.place, at);
        steps.write(self.place + 1, Step::Attempt, at);
    }

    /// It is back, or never got there.
    pub(crate) fn over(&self, now: Instant, went: Went) {
        let (steps, at) = (self.course.steps_taken(), self.course.since(now));
        let attempt = steps.places.get(self.place + 1).and_then(Place::read);
        let place = self.place + usize::from(attempt.is_some());
        steps.end(place, at);
        if let (Went::Wrong, Some(place)) = (went, steps.places.get(place)) {
            place.to.fetch_or(WRONG, Ordering::Relaxed);
        }
    }
}
