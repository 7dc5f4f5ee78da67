//! Encoding of numbers and times for SQLite.

use std::time::{Duration, SystemTime};

/// Milliseconds since 1970.
pub(crate) fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn time(millis: i64) -> SystemTime {
    let since = Duration::from_millis(to_unsigned(millis));
    SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH)
}

pub(crate) fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

pub(crate) fn to_signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn size(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(crate) fn to_unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
