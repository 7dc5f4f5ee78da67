//! Text helpers: truncation and encoding of untrusted text, tagged ids, human-readable durations.

use std::fmt::{self, Write as _};
use std::time::Duration;

/// At most `limit` characters of `text`, with a mark if there were more.
pub fn truncate_chars(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Percent-encodes a text as one URL segment, so that it cannot change the target.
pub fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// A 128-bit id: a prefix that names its kind, and 32 hex digits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaggedId(pub(crate) &'static str, pub(crate) u128);

impl TaggedId {
    const DIGITS: usize = 32;

    /// Parses exactly the [`TaggedId`] display format.
    pub(crate) fn parse(prefix: &str, text: &str) -> Option<u128> {
        let digits = text.strip_prefix(prefix)?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let fits = digits.len() == Self::DIGITS && digits.bytes().all(is_digit);
        fits.then(|| u128::from_str_radix(digits, 16).ok()).flatten()
    }
}

impl fmt::Display for TaggedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:0width$x}", self.0, self.1, width = Self::DIGITS)
    }
}

/// A duration for humans: `0.4 ms`, `620 ms`, `12.3 s`, `10 min`. Rounded up, so that a value shown
/// as the ceiling does not exceed it.
#[derive(Debug, Clone, Copy)]
pub struct HumanDuration(pub Duration);

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.0.as_micros().div_ceil(100);
        match tenths.div_ceil(10) {
            0..10 => in_tenths(f, tenths, "ms"),
            millis @ 10..10_000 => write!(f, "{millis} ms"),
            millis @ 10_000..120_000 => in_tenths(f, millis.div_ceil(100), "s"),
            millis @ 120_000..7_200_000 => write!(f, "{} min", millis.div_ceil(60_000)),
            millis @ 7_200_000.. => write!(f, "{} h", millis.div_ceil(3_600_000)),
        }
    }
}

fn in_tenths(f: &mut fmt::Formatter<'_>, tenths: u128, unit: &str) -> fmt::Result {
    match (tenths / 10, tenths % 10) {
        (whole, 0) => write!(f, "{whole} {unit}"),
        (whole, rest) => write!(f, "{whole}.{rest} {unit}"),
    }
}

/// Time since an event. Rounded down.
#[derive(Debug, Clone, Copy)]
pub struct HumanAgo(pub Duration);

impl fmt::Display for HumanAgo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() {
            0 => f.write_str("less than 1 s ago"),
            seconds @ 1..120 => write!(f, "{seconds} s ago"),
            seconds => write!(f, "{} min ago", seconds / 60),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{HumanAgo, HumanDuration, percent_encoded, truncate_chars};

    #[test]
    fn a_name_in_a_route_takes_no_other_way() {
        for (name, expected) in [
            ("roll_dice.v2", "roll_dice.v2"),
            ("a/b?c#d", "a%2Fb%3Fc%23d"),
            ("../x", "..%2Fx"),
            ("würfel", "w%C3%BCrfel"),
        ] {
            assert_eq!(percent_encoded(name), expected);
        }
    }

    #[test]
    fn spans_are_as_exact_as_they_are_short_and_never_too_short() {
        for (micros, expected) in [
            (0, "0 ms"),
            (1, "0.1 ms"),
            (401, "0.5 ms"),
            (5_000, "5 ms"),
            (9_901, "10 ms"),
            (619_001, "620 ms"),
            (9_999_000, "9999 ms"),
            (10_000_000, "10 s"),
            (12_345_000, "12.4 s"),
            (119_999_001, "2 min"),
            (600_000_000, "10 min"),
            (7_200_000_000, "2 h"),
        ] {
            assert_eq!(HumanDuration(Duration::from_micros(micros)).to_string(), expected);
        }
        assert!(HumanDuration(Duration::MAX).to_string().ends_with(" h"));
    }

    #[test]
    fn what_was_a_while_ago_is_told_in_whole_units() {
        for (millis, expected) in [
            (999, "less than 1 s ago"),
            (1_999, "1 s ago"),
            (119_999, "119 s ago"),
            (179_999, "2 min ago"),
        ] {
            assert_eq!(HumanAgo(Duration::from_millis(millis)).to_string(), expected);
        }
    }

    #[test]
    fn only_what_is_longer_is_cut_and_marked() {
        for (text, expected) in
            [("", ""), ("abc", "abc"), ("äöü", "äöü"), ("abcd", "abc…"), ("äöü語", "äöü…")]
        {
            assert_eq!(truncate_chars(text, 3), expected);
        }
    }
}
