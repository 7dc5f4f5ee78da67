//! `round` as in Python: ties go to the even neighbour, and digits may be negative. Pure.

use std::cmp::Ordering;

use num_bigint::BigInt;
use tollgate_sandbox::frames::ProgramErrorKind;

use crate::failure::ProgramStopError;

/// More digits do not change a float.
const DIGITS: i32 = 400;

/// To this many digits after the point, or before it if negative.
pub(crate) fn float(number: f64, digits: i32) -> Result<f64, ProgramStopError> {
    if !number.is_finite() {
        return Ok(number);
    }
    let digits = digits.clamp(-DIGITS, DIGITS);
    let Ok(after) = usize::try_from(digits) else {
        return tens(number, digits.unsigned_abs());
    };
    // Always parses: it is a formatted float.
    Ok(format!("{number:.after$}").parse().unwrap_or(number))
}

/// To the nearest integer.
pub(crate) fn to_whole(number: f64) -> Result<BigInt, ProgramStopError> {
    if number.is_finite() {
        Ok(exact(number.round_ties_even()))
    } else {
        Err(ProgramStopError::bare(
            ProgramErrorKind::Runtime,
            format!("`round` cannot round {number}"),
        ))
    }
}

/// To a multiple of `10^zeros`.
pub(crate) fn round_to_power(number: &BigInt, zeros: u32) -> BigInt {
    // The number is far less than half of that; avoids computing a huge power for a small number.
    if u64::from(zeros) > number.bits() {
        return BigInt::ZERO;
    }
    let unit = BigInt::from(10).pow(zeros);
    let lower = number / &unit;
    let rest = number % &unit;
    let is_further = match (rest.magnitude() * 2_u32).cmp(unit.magnitude()) {
        Ordering::Less => false,
        Ordering::Equal => lower.bit(0),
        Ordering::Greater => true,
    };
    let step = BigInt::from_biguint(number.sign(), u32::from(is_further).into());
    (lower + step) * unit
}

fn tens(number: f64, zeros: u32) -> Result<f64, ProgramStopError> {
    let mut tenths = exact(number.trunc()) * 10;
    // Any fraction, however small, breaks a tie upwards.
    if number.fract() != 0.0 {
        tenths += if number < 0.0 { -1 } else { 1 };
    }
    let rounded: BigInt = round_to_power(&tenths, zeros + 1) / 10;
    match rounded.to_string().parse::<f64>() {
        Ok(rounded) if rounded.is_finite() => Ok(rounded.copysign(number)),
        _ => Err(ProgramStopError::bare(
            ProgramErrorKind::Runtime,
            format!("{number:?} rounded is too large for a float"),
        )),
    }
}

/// Of a float without a fraction.
fn exact(whole: f64) -> BigInt {
    format!("{whole:.0}").parse().unwrap_or_default()
}
