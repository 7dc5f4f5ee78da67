//! Parses `Retry-After` and similar headers of an error response. Pure; the time is an argument.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, header};

/// Longer delays are clamped.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 3600);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RetryHint {
    /// Minimum delay.
    pub(super) after: Option<Duration>,
    /// The provider's explicit advice, if there is one.
    pub(super) advice: Option<RetryAdvice>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryAdvice {
    Retry,
    GiveUp,
}

pub(super) fn read(headers: &HeaderMap, wall: SystemTime) -> RetryHint {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let millis = text("retry-after-ms").and_then(|text| parse_duration(text, 0.001));
    let after = millis.or_else(|| {
        let text = text(header::RETRY_AFTER.as_str())?;
        parse_duration(text, 1.0).or_else(|| until(text, wall))
    });
    let advice = match text("x-should-retry") {
        Some("true") => Some(RetryAdvice::Retry),
        Some("false") => Some(RetryAdvice::GiveUp),
        _ => None,
    };
    RetryHint { after: after.map(|after| after.min(MAX_RETRY_AFTER)), advice }
}

/// A number of seconds, or of fractions of one. Negative values and non-numbers are ignored.
fn parse_duration(text: &str, unit: f64) -> Option<Duration> {
    let number = text.parse::<f64>().ok().filter(|number| !number.is_nan())?;
    let seconds = (number * unit).min(MAX_RETRY_AFTER.as_secs_f64());
    Duration::try_from_secs_f64(seconds).ok()
}

/// An HTTP date: `Wed, 21 Oct 2026 07:28:00 GMT`. A past date means now.
fn until(text: &str, wall: SystemTime) -> Option<Duration> {
    let time = httpdate::parse_http_date(text).ok()?;
    Some(time.duration_since(wall).unwrap_or_default())
}

#[cfg(test)]
mod tests;
