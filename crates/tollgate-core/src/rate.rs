//! Rate limits: a number of calls per period.

use std::fmt;
use std::time::Duration;

mod token_bucket;

pub use token_bucket::{BucketToken, TokenBucket};

/// A number of calls per period, in any distribution including a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    pub calls: u32,
    pub per: Duration,
}

impl RateLimit {
    /// `30/min`: 1 to a million, per second, minute, hour or day.
    pub fn parse(text: &str) -> Option<Self> {
        let (calls, unit) = text.split_once('/')?;
        let calls: u32 = calls.trim().parse().ok()?;
        let seconds = match unit.trim() {
            "s" | "sec" | "second" => 1,
            "m" | "min" | "minute" => 60,
            "h" | "hour" => 3_600,
            "d" | "day" => 86_400,
            _ => return None,
        };
        let per = Duration::from_secs(seconds);
        (1..=1_000_000).contains(&calls).then_some(Self { calls, per })
    }
}

impl fmt::Display for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { calls, per } = self;
        match per.as_secs() {
            1 => write!(f, "{calls}/s"),
            60 => write!(f, "{calls}/min"),
            3_600 => write!(f, "{calls}/h"),
            86_400 => write!(f, "{calls}/day"),
            seconds => write!(f, "{calls} in {seconds} s"),
        }
    }
}

/// A wait in whole seconds for messages and headers, rounded so that a retry is not too early.
pub fn whole_seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}
