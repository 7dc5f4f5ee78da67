//! When a session is renewed: OpenAI ends each after an hour, and says so at its start. A connection
//! is opened beside the old one, and takes over when nobody speaks. Pure: time is an argument.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long before its end a session is renewed; of a short session, a quarter of its time.
const RENEW_AHEAD: Duration = Duration::from_secs(300);
/// Delay before the next attempt to open a connection.
const RETRY: Duration = Duration::from_secs(20);
/// A longer time is not plausible.
const MAX_LIFETIME: Duration = Duration::from_secs(7 * 24 * 3600);

#[derive(Debug, Default)]
pub(super) struct SessionExpiry {
    clock: Option<(Instant, SystemTime)>,
    stage: RenewalStage,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum RenewalStage {
    /// The provider states no end.
    #[default]
    Never,
    Waits {
        until: Instant,
    },
    /// A connection is being opened.
    Opening,
    /// It is open: the session moves at the next pause.
    Ready,
}

impl SessionExpiry {
    pub(super) fn synchronize(&mut self, now: Instant, wall: SystemTime) {
        self.clock = Some((now, wall));
    }

    /// The provider states when the session ends, in seconds since 1970.
    pub(super) fn begin(&mut self, expires_at: u64, now: Instant) {
        let Some((then, wall)) = self.clock else { return };
        let wall = wall + now.saturating_duration_since(then);
        let end = UNIX_EPOCH.checked_add(Duration::from_secs(expires_at));
        let left = end.and_then(|end| end.duration_since(wall).ok());
        // A clock that is wrong must not make a session move at once.
        let left = left.filter(|left| *left > Duration::from_secs(1) && *left < MAX_LIFETIME);
        self.stage = match left {
            Some(left) => RenewalStage::Waits { until: now + left - RENEW_AHEAD.min(left / 4) },
            None => RenewalStage::Never,
        };
    }

    /// Whether a connection is to be opened now; said once.
    pub(super) fn take_opening(&mut self, now: Instant) -> bool {
        let is_due = matches!(self.stage, RenewalStage::Waits { until } if until <= now);
        if is_due {
            self.stage = RenewalStage::Opening;
        }
        is_due
    }

    /// The connection is open.
    pub(super) fn mark_ready(&mut self) {
        if self.stage == RenewalStage::Opening {
            self.stage = RenewalStage::Ready;
        }
    }

    /// It could not be opened, or it waited for too long.
    pub(super) fn retry_later(&mut self, now: Instant) {
        if matches!(self.stage, RenewalStage::Opening | RenewalStage::Ready) {
            self.stage = RenewalStage::Waits { until: now + RETRY };
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.stage == RenewalStage::Ready
    }

    /// The session has moved; the new one states its own end.
    pub(super) fn reset(&mut self) {
        self.stage = RenewalStage::Never;
    }

    pub(super) fn wakes(&self) -> Option<Instant> {
        match self.stage {
            RenewalStage::Waits { until } => Some(until),
            RenewalStage::Never | RenewalStage::Opening | RenewalStage::Ready => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    use tollgate_engine::clock::{Clock as _, SystemClock};

    use super::SessionExpiry;

    fn at(now: Instant) -> (SessionExpiry, SystemTime) {
        let wall = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let mut expiry = SessionExpiry::default();
        expiry.synchronize(now, wall);
        (expiry, wall)
    }

    #[test]
    fn an_hour_is_renewed_five_minutes_ahead() {
        let now = SystemClock.now();
        let (mut expiry, _) = at(now);
        expiry.begin(1_800_003_600, now);
        let due = now + Duration::from_secs(55 * 60);
        assert_eq!(expiry.wakes(), Some(due));
        assert!(!expiry.take_opening(now));
        assert!(expiry.take_opening(due) && !expiry.take_opening(due));
        assert!(!expiry.is_ready());
        expiry.mark_ready();
        assert!(expiry.is_ready());
    }

    #[test]
    fn a_connection_that_could_not_be_opened_is_tried_again() {
        let now = SystemClock.now();
        let (mut expiry, _) = at(now);
        expiry.begin(1_800_000_040, now);
        let due = now + Duration::from_secs(30);
        assert!(expiry.take_opening(due));
        expiry.retry_later(due);
        assert_eq!(expiry.wakes(), Some(due + Duration::from_secs(20)));
    }

    #[test]
    fn an_end_in_the_past_or_far_away_is_not_believed() {
        let now = SystemClock.now();
        let (mut expiry, _) = at(now);
        for end in [0, 1_799_999_000, 1_800_000_001, u64::MAX] {
            expiry.begin(end, now);
            assert_eq!(expiry.wakes(), None, "{end}");
        }
    }
}
