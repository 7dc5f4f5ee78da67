//! Retention of audit rows. The wall clock may jump, so the trail has its own time: that of its
//! newest row at the start, plus the time since then.

use std::time::{Duration, Instant, SystemTime};

use tollgate_store::audit::RetentionBounds;

use crate::clock::Clock;
use crate::settings::Audit;

/// A wall clock ahead of the trail by up to this is trusted.
const SLACK: Duration = Duration::from_secs(24 * 3_600);

pub(super) struct Retention {
    newest: Option<SystemTime>,
    began: Instant,
    age: Option<Duration>,
    rows: u64,
}

impl Retention {
    pub(super) fn new(settings: &Audit, newest: Option<SystemTime>, clock: &dyn Clock) -> Self {
        let Audit { keep, keep_rows, .. } = *settings;
        Self { newest, began: clock.now(), age: keep, rows: keep_rows }
    }

    pub(super) fn change(&mut self, settings: &Audit) {
        (self.age, self.rows) = (settings.keep, settings.keep_rows);
    }

    pub(super) fn keep(&self, clock: &dyn Clock) -> RetentionBounds {
        let passed = clock.now().saturating_duration_since(self.began);
        let own = self.newest.and_then(|newest| newest.checked_add(passed + SLACK));
        let now = own.map_or(clock.wall(), |own| own.min(clock.wall()));
        let since = self.age.and_then(|age| now.checked_sub(age));
        let since = since.unwrap_or(SystemTime::UNIX_EPOCH);
        RetentionBounds { since, now, rows: self.rows }
    }
}
