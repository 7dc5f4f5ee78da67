//! An amount of money, exact to a billionth of a US dollar.

use std::fmt;

/// Nine digits are enough for one token of the cheapest model.
const NANO_PER_USD: u64 = 1_000_000_000;
const DECIMALS: usize = 9;

/// US dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost(u64);

impl Cost {
    pub const ZERO: Self = Self(0);

    pub const fn from_nano_usd(nano: u64) -> Self {
        Self(nano)
    }

    pub const fn nano_usd(self) -> u64 {
        self.0
    }

    /// `5`, `0.25`: up to nine decimals.
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(decimals) || decimals.len() > DECIMALS {
            return None;
        }
        let whole: u64 = whole.parse().ok()?;
        let nano: u64 = format!("{decimals:0<DECIMALS$}").parse().ok()?;
        Some(Self(whole.checked_mul(NANO_PER_USD)?.checked_add(nano)?))
    }

    /// For displays and metrics, which do not calculate with it.
    #[expect(clippy::cast_precision_loss, reason = "16 digits are enough to look at")]
    pub fn as_usd(self) -> f64 {
        self.0 as f64 / NANO_PER_USD as f64
    }

    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.0 / NANO_PER_USD;
        let decimals = format!("{:0>DECIMALS$}", self.0 % NANO_PER_USD);
        match decimals.trim_end_matches('0') {
            "" => write!(f, "{whole}"),
            decimals => write!(f, "{whole}.{decimals}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cost;

    #[test]
    fn amounts_are_read_and_written_exactly() {
        for (text, nano) in [
            ("0", Some(0)),
            ("5", Some(5_000_000_000)),
            ("0.25", Some(250_000_000)),
            ("0.000000001", Some(1)),
            ("18446744073.709551615", Some(u64::MAX)),
            ("18446744073.709551616", None),
            ("0.0000000001", None),
            ("-1", None),
            ("1.", None),
            (".5", None),
            ("1e3", None),
            ("", None),
        ] {
            assert_eq!(Cost::parse(text).map(Cost::nano_usd), nano, "{text}");
            if let Some(cost) = Cost::parse(text) {
                assert_eq!(cost.to_string(), text);
            }
        }
    }
}
