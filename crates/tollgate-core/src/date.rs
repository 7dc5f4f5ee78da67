//! RFC 3339 timestamps in UTC: parsing and formatting. Does not read the clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Days from 1 March of the year 0 to 1970-01-01.
const SHIFT: u64 = 719_468;
const DAY: u64 = 86_400;

/// Times before 1970 are written as 1970.
pub fn format_rfc3339(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let days = seconds / DAY;
    let clock = seconds % DAY;
    // Years are counted from March, so that the leap day is the last day of a year.
    let shifted = days + SHIFT;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let hour = clock / 3_600;
    let minute = clock / 60 % 60;
    let second = clock % 60;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// With milliseconds, unless they are zero.
pub fn format_rfc3339_millis(time: SystemTime) -> String {
    let milliseconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_millis());
    let mut text = format_rfc3339(time);
    if milliseconds > 0 {
        text.insert_str(text.len() - 1, &format!(".{milliseconds:03}"));
    }
    text
}

/// `2027-01-31` (start of that day), `2027-01-31T12:00:00Z` or `2027-01-31T12:00:00.250Z`, from
/// 1970 to 9999. Digits below a millisecond are ignored.
pub fn parse(text: &str) -> Option<SystemTime> {
    let (day, clock) = match text.split_once(['T', 't']) {
        Some((day, clock)) => (day, clock.strip_suffix(['Z', 'z'])?),
        None => (text, "00:00:00"),
    };
    let (clock, milliseconds) = match clock.split_once('.') {
        Some((clock, fraction)) => (clock, thousandths(fraction)?),
        None => (clock, 0),
    };
    let [year, month, day] = numbers(day, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    if !(1970..=9999).contains(&year) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    if !(1..=12).contains(&month) || day == 0 || day > days_in(year, month) {
        return None;
    }
    let (year, month_from_march) =
        if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let era = year / 400;
    let year_of_era = year % 400;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = (era * 146_097 + day_of_era).checked_sub(SHIFT)?;
    let seconds = days * DAY + hour * 3_600 + minute * 60 + second;
    Some(UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_millis(milliseconds))
}

fn thousandths(fraction: &str) -> Option<u64> {
    let is_plain = fraction.bytes().all(|byte| byte.is_ascii_digit());
    if !is_plain || !(1..=9).contains(&fraction.len()) {
        return None;
    }
    format!("{fraction:0<3}")[..3].parse().ok()
}

fn days_in(year: u64, month: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Exactly three numbers with these digit counts.
fn numbers(text: &str, between: char, digits: [usize; 3]) -> Option<[u64; 3]> {
    let mut parts = text.split(between);
    let mut read = [0; 3];
    for (number, digits) in read.iter_mut().zip(digits) {
        let part = parts.next().filter(|part| part.len() == digits)?;
        let is_plain = part.bytes().all(|byte| byte.is_ascii_digit());
        *number = is_plain.then(|| part.parse().ok()).flatten()?;
    }
    parts.next().is_none().then_some(read)
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
        for day in 0..200_000 {
            let time = UNIX_EPOCH + Duration::from_secs(day * 43_201);
            assert_eq!(parse(&format_rfc3339(time)), Some(time));
        }
        assert_eq!(parse("2023-11-14"), parse("2023-11-14T00:00:00z"));
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
