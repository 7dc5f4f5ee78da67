//! A model limit, on the use of models: `60 requests/min`, `2000000 tokens/day`, `5 USD/day`.

use std::fmt;
use std::time::Duration;

use super::cost::Cost;
use super::totals::{UsageEstimate, UsageTotals};

/// Larger numbers are typing errors.
const MAX_COUNT: u64 = 1_000_000_000_000;
const MAX_COST: Cost = Cost::from_nano_usd(10_000_000 * 1_000_000_000);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ModelLimit {
    /// In units of what is limited; money in billionths of a dollar.
    pub amount: u64,
    pub unit: LimitedUnit,
    pub per: LimitPeriod,
}

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LimitedUnit {
    Requests,
    /// Input and output together.
    Tokens,
    InputTokens,
    OutputTokens,
    Cost,
}

/// A minute and an hour roll: what was used fades at the rate of the limit. A day is that of the
/// calendar, in UTC, and survives a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LimitPeriod {
    Minute,
    Hour,
    Day,
}

impl LimitPeriod {
    pub const fn span(self) -> Duration {
        match self {
            Self::Minute => Duration::from_secs(60),
            Self::Hour => Duration::from_secs(3_600),
            Self::Day => Duration::from_secs(86_400),
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Minute => "min",
            Self::Hour => "h",
            Self::Day => "day",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "m" | "min" | "minute" => Self::Minute,
            "h" | "hour" => Self::Hour,
            "d" | "day" => Self::Day,
            _ => return None,
        })
    }
}

impl LimitedUnit {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Tokens => "tokens",
            Self::InputTokens => "input_tokens",
            Self::OutputTokens => "output_tokens",
            Self::Cost => "USD",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "request" | "requests" => Self::Requests,
            "token" | "tokens" => Self::Tokens,
            "input_tokens" => Self::InputTokens,
            "output_tokens" => Self::OutputTokens,
            "USD" | "usd" => Self::Cost,
            _ => return None,
        })
    }

    pub(super) fn of_totals(self, totals: &UsageTotals) -> u64 {
        match self {
            Self::Requests => totals.requests,
            Self::Tokens => totals.input.saturating_add(totals.output),
            Self::InputTokens => totals.input,
            Self::OutputTokens => totals.output,
            Self::Cost => totals.cost.nano_usd(),
        }
    }

    /// The part of a request that is known before it is sent.
    pub(super) fn certain_part(self, estimate: &UsageEstimate) -> u64 {
        match self {
            Self::Requests => 1,
            Self::Tokens | Self::InputTokens => estimate.input,
            Self::OutputTokens => 0,
            Self::Cost => estimate.input_cost.nano_usd(),
        }
    }
}

impl ModelLimit {
    /// A number of requests, tokens or dollars, per minute, hour or day.
    pub fn parse(text: &str) -> Option<Self> {
        let (counted, per) = text.split_once('/')?;
        let (amount, unit) = counted.trim().split_once(char::is_whitespace)?;
        let unit = LimitedUnit::parse(unit.trim())?;
        let (amount, most) = match unit {
            LimitedUnit::Cost => (Cost::parse(amount)?.nano_usd(), MAX_COST.nano_usd()),
            LimitedUnit::Requests
            | LimitedUnit::Tokens
            | LimitedUnit::InputTokens
            | LimitedUnit::OutputTokens => (amount.parse().ok()?, MAX_COUNT),
        };
        let per = LimitPeriod::parse(per.trim())?;
        (1..=most).contains(&amount).then_some(Self { amount, unit, per })
    }
}

impl fmt::Display for ModelLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { amount, unit, per } = self;
        match unit {
            LimitedUnit::Cost => write!(f, "{}", Cost::from_nano_usd(*amount))?,
            LimitedUnit::Requests
            | LimitedUnit::Tokens
            | LimitedUnit::InputTokens
            | LimitedUnit::OutputTokens => write!(f, "{amount}")?,
        }
        write!(f, " {}/{}", unit.as_str(), per.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::ModelLimit;

    #[test]
    fn limits_are_a_number_a_unit_and_a_period() {
        for (text, expected) in [
            ("60 requests/min", Some("60 requests/min")),
            ("1 request / hour", Some("1 requests/h")),
            ("2000000 tokens/day", Some("2000000 tokens/day")),
            ("500 input_tokens/m", Some("500 input_tokens/min")),
            ("500 output_tokens/min", Some("500 output_tokens/min")),
            ("5 USD/day", Some("5 USD/day")),
            ("0.25 usd/d", Some("0.25 USD/day")),
            ("60/min", None),
            ("0 requests/min", None),
            ("0 USD/day", None),
            ("-1 USD/day", None),
            ("1.5 tokens/min", None),
            ("5 EUR/day", None),
            ("5 USD/week", None),
            ("5 USD", None),
            ("9999999999999999999 tokens/min", None),
            ("99999999999 USD/day", None),
            ("", None),
        ] {
            let found = ModelLimit::parse(text).map(|limit| limit.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
