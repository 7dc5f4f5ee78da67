//! Checks that numbers in JSON text are parsed exactly. Arguments that are compared by value must
//! not be sent as text if the two differ.

use serde_json::Number;

/// Whether each number in `text`, which is JSON, equals its parsed value.
pub(super) fn are_exact(text: &str) -> bool {
    let mut rest = text;
    let mut in_string = false;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\\' if in_string => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            '"' => {
                in_string = !in_string;
                1
            }
            '-' | '0'..='9' if !in_string => {
                let is_part = |it: char| matches!(it, '0'..='9' | '-' | '+' | '.' | 'e' | 'E');
                let end = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
                if !is_exact(&rest[..end]) {
                    return false;
                }
                end
            }
            other => other.len_utf8(),
        };
        rest = &rest[length..];
    }
    true
}

fn is_exact(number: &str) -> bool {
    let read: Option<Number> = serde_json::from_str(number).ok();
    let read = read.map(|it| it.to_string());
    read.is_some_and(|read| {
        CanonicalDecimal::of(&read).is_some_and(|it| Some(it) == CanonicalDecimal::of(number))
    })
}

/// The canonical form of a number: `digits * 10^exponent`.
#[derive(PartialEq, Eq)]
struct CanonicalDecimal {
    is_negative: bool,
    digits: String,
    exponent: i64,
}

impl CanonicalDecimal {
    fn of(number: &str) -> Option<Self> {
        let (is_negative, number) = match number.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, number),
        };
        let (mantissa, exponent) = match number.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (number, 0),
        };
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{part}");
        let digits = all.trim_end_matches('0');
        let dropped = i64::try_from(all.len() - digits.len()).ok()?;
        let digits = digits.trim_start_matches('0').to_owned();
        let behind = i64::try_from(part.len()).ok()?;
        let exponent = if digits.is_empty() {
            0
        } else {
            exponent.checked_sub(behind)?.checked_add(dropped)?
        };
        Some(Self { is_negative, digits, exponent })
    }
}

#[cfg(test)]
mod tests;
