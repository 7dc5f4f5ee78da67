//! RFC 3339 timestamps in UTC: parsing and formatting. Does not read the clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time};

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// Times before 1970 are written as 1970, times after 9999 as the last second of 9999.
pub fn format_rfc3339(time: SystemTime) -> String {
    format!("{:.0}Z", civil(time))
}

/// With milliseconds, unless they are zero.
pub fn format_rfc3339_millis(time: SystemTime) -> String {
    let civil = civil(time);
    let digits = if civil.millisecond() > 0 { 3 } else { 0 };
    format!("{civil:.digits$}Z")
}

fn civil(time: SystemTime) -> DateTime {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let civil = SignedDuration::try_from(since).ok().and_then(|it| EPOCH.checked_add(it).ok());
    civil.unwrap_or(DateTime::MAX)
}

/// `2027-01-31` (start of that day), `2027-01-31T12:00:00Z` or `2027-01-31T12:00:00.250Z`, from
/// 1970 to 9999. Digits below a millisecond are ignored.
pub fn parse(text: &str) -> Option<SystemTime> {
    let (day, clock) = match text.split_once(['T', 't']) {
        Some((day, clock)) => (day, clock.strip_suffix(['Z', 'z'])?),
        None => (text, "00:00:00"),
    };
    let date: Date = day.parse().ok()?;
    let time: Time = clock.parse().ok()?;
    // The parser knows all forms of ISO 8601, with fewer digits, other separators and leap seconds.
    let seconds = clock.split('.').next()?;
    if date.to_string() != day || format!("{time:.0}") != seconds {
        return None;
    }
    let since: Duration = date.to_datetime(time).duration_since(EPOCH).try_into().ok()?;
    let nanoseconds = since.subsec_millis() * 1_000_000;
    Some(UNIX_EPOCH + Duration::new(since.as_secs(), nanoseconds))
}

/// A duration: `90s`, `15m` or `15min`, `1h`, `7d`.
pub fn span(text: &str) -> Option<Duration> {
    let (count, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let seconds: u64 = match unit {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    count.parse::<u64>().ok()?.checked_mul(seconds).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::{format_rfc3339, format_rfc3339_millis, parse, span};

    #[test]
    fn times_are_read_as_they_are_written() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_700_000_000, "2023-11-14T22:13:20Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(format_rfc3339(time), expected);
            assert_eq!(parse(expected), Some(time), "{expected}");
        }
        for day in (0..200_000).step_by(199) {
            let time = UNIX_EPOCH + Duration::from_secs(day * 43_201);
            assert_eq!(parse(&format_rfc3339(time)), Some(time));
        }
        assert_eq!(parse("2023-11-14"), parse("2023-11-14T00:00:00z"));
    }

    #[test]
    fn times_outside_the_range_are_written_as_its_ends() {
        let second = Duration::from_secs(1);
        assert_eq!(format_rfc3339(UNIX_EPOCH - second), "1970-01-01T00:00:00Z");
        for seconds in [253_402_300_800, i64::MAX.unsigned_abs()] {
            let late = UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(format_rfc3339(late), "9999-12-31T23:59:59Z");
        }
    }

    #[test]
    fn milliseconds_are_written_where_there_are_some() {
        for (milliseconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (1_700_000_000_000, "2023-11-14T22:13:20Z"),
            (1_700_000_000_007, "2023-11-14T22:13:20.007Z"),
            (1_700_000_000_250, "2023-11-14T22:13:20.250Z"),
        ] {
            let time = UNIX_EPOCH + Duration::from_millis(milliseconds);
            assert_eq!(format_rfc3339_millis(time), expected);
            assert_eq!(parse(expected), Some(time), "{expected}");
        }
        assert_eq!(parse("2023-11-14T22:13:20.25Z"), parse("2023-11-14T22:13:20.250999Z"));
    }

    #[test]
    fn spans_have_a_count_and_a_unit() {
        for (text, seconds) in [
            ("90s", Some(90)),
            ("15m", Some(900)),
            ("15min", Some(900)),
            ("1h", Some(3_600)),
            ("7d", Some(604_800)),
            ("0d", Some(0)),
        ] {
            assert_eq!(span(text), seconds.map(Duration::from_secs), "{text}");
        }
        for bad in ["", "5", "d", "-1d", "1.5h", "1 h", "99999999999999999999d", "1w"] {
            assert_eq!(span(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "today",
            "2023",
            "2023-1-1",
            "2023-13-01",
            "2023-00-01",
            "2023-02-29",
            "2100-02-29",
            "2023-04-31",
            "2023-01-00",
            "1969-12-31",
            "12023-01-01",
            "2023-01-01T24:00:00Z",
            "2023-01-01T00:00:00",
            "2023-01-01T00:00:00+01:00",
            "2023-01-01T00:00Z",
            "2023-01-01T00:00:00.Z",
            "2023-01-01T00:00:00.1234567890Z",
            "2023-01-01T00:00:00.+1Z",
            "2023-01-01 00:00:00Z",
            "+023-01-01",
            "2023-01-01-01",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
