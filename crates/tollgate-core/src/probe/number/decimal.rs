//! Decimal numbers: digits and scale (digits after the point).

use serde_json::{Number, Value};

/// Maximum digits after the point, and before it.
const FINEST: i32 = 15;
const MAX_DIGITS: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: i128,
    pub(super) scale: u32,
}

impl Decimal {
    pub(super) fn new(digits: i128, scale: u32) -> Self {
        Self { digits, scale }
    }

    /// `None` if it has too many digits.
    pub(super) fn of(number: &Number) -> Option<Self> {
        let text = number.to_string();
        let (digits, power) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let part = part.trim_end_matches('0');
        let scale = i32::try_from(part.len()).ok()?.checked_sub(power.parse().ok()?)?;
        if whole.len() + part.len() > MAX_DIGITS || !(-FINEST..=FINEST).contains(&scale) {
            return None;
        }
        let digits: i128 = format!("{whole}{part}").parse().ok()?;
        Some(match u32::try_from(scale) {
            Ok(scale) => Self { digits, scale },
            Err(_) => Self { digits: digits * 10_i128.pow(scale.unsigned_abs()), scale: 0 },
        })
    }

    /// In units of `scale`, if that is exact.
    pub(super) fn at(self, scale: u32) -> Option<i128> {
        self.digits.checked_mul(10_i128.checked_pow(scale.checked_sub(self.scale)?)?)
    }

    /// As JSON: an integer if it is one.
    pub(super) fn number(self) -> Option<Value> {
        let unit = 10_i128.checked_pow(self.scale)?;
        if self.digits % unit == 0 {
            let whole = self.digits / unit;
            let signed = i64::try_from(whole).map(Value::from);
            return signed.or_else(|_| u64::try_from(whole).map(Value::from)).ok();
        }
        let whole = (self.digits / unit).abs();
        let part = (self.digits % unit).abs();
        let sign = if self.digits < 0 { "-" } else { "" };
        let width = usize::try_from(self.scale).ok()?;
        let value: f64 = format!("{sign}{whole}.{part:0width$}").parse().ok()?;
        Number::from_f64(value).map(Value::Number)
    }
}

pub(super) fn least_common_multiple(a: i128, b: i128) -> Option<i128> {
    let mut low = a;
    let mut high = b;
    while low != 0 {
        (low, high) = (high % low, low);
    }
    (a / high.max(1)).checked_mul(b)
}
