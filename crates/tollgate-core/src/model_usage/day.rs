//! A day of the calendar, in UTC: what usage is summed up by.

use std::fmt;
use std::time::{Duration, SystemTime};

use crate::date;

const DAY: Duration = Duration::from_secs(86_400);

/// Days since 1970-01-01.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UsageDay(u32);

impl UsageDay {
    pub const FIRST: Self = Self(0);
    pub const LAST: Self = Self(u32::MAX);

    pub fn of(time: SystemTime) -> Self {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self(u32::try_from(since.as_secs() / DAY.as_secs()).unwrap_or(u32::MAX))
    }

    pub const fn from_number(days: u32) -> Self {
        Self(days)
    }

    pub const fn number(self) -> u32 {
        self.0
    }

    /// `2027-01-31`.
    pub fn parse(text: &str) -> Option<Self> {
        let is_day = text.len() == "2027-01-31".len();
        date::parse(text).filter(|_| is_day).map(Self::of)
    }

    #[must_use]
    pub const fn days_before(self, days: u32) -> Self {
        Self(self.0.saturating_sub(days))
    }

    /// Time from `time`, which is in this day, to the next day.
    pub fn rest(time: SystemTime) -> Duration {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        DAY - Duration::new(since.as_secs() % DAY.as_secs(), since.subsec_nanos())
    }
}

impl fmt::Display for UsageDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let begin = SystemTime::UNIX_EPOCH + DAY * self.0;
        f.write_str(date::format_rfc3339(begin).split('T').next().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::UsageDay;

    #[test]
    fn a_day_is_written_as_it_is_read_and_ends_at_midnight_utc() {
        let day = UsageDay::parse("2027-01-31").unwrap();
        assert_eq!(day.to_string(), "2027-01-31");
        assert_eq!(day.days_before(31).to_string(), "2026-12-31");
        for wrong in ["2027-02-30", "2027-01-31T12:00:00Z", "today", ""] {
            assert_eq!(UsageDay::parse(wrong), None, "{wrong}");
        }
        let noon = SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * 20_000 + 43_200);
        assert_eq!(UsageDay::of(noon).number(), 20_000);
        assert_eq!(UsageDay::rest(noon), Duration::from_secs(43_200));
        let midnight = SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * 20_001);
        assert_eq!(UsageDay::rest(midnight), Duration::from_secs(86_400));
        assert_eq!(UsageDay::LAST.to_string(), "9999-12-31");
    }
}
