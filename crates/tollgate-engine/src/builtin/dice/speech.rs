//! Describes a roll in a sentence that can be read aloud.

use std::fmt::{self, Write as _};

use super::expression::{MAX_EXTRA_ROLLS, Sign};
use super::roll::{ExtraRolls, RollResult, RolledDice, Value};

/// More dice than this are summarized instead of listed.
const MAX_LISTED_DICE: usize = 10;
/// Most sentences are shorter.
const USUAL_BYTES: usize = 64;

pub(crate) fn sentence(expression: &str, rolled: &RollResult) -> String {
    let mut text = String::with_capacity(expression.len() + USUAL_BYTES);
    // Writing to a string cannot fail.
    let _ = write_sentence(&mut text, expression, rolled);
    text
}

fn write_sentence(out: &mut String, expression: &str, rolled: &RollResult) -> fmt::Result {
    write!(out, "{expression}: ")?;
    for (at, product) in rolled.products.iter().enumerate() {
        out.push_str(match (at, product.sign) {
            (0, _) => "",
            (_, Sign::Plus) => ", plus ",
            (_, Sign::Minus) => ", minus ",
        });
        match &product.factors[..] {
            [single] => write_value(out, single)?,
            several => write_factors(out, several)?,
        }
    }
    if !says_the_total(rolled) {
        write!(out, ", makes {}", rolled.total)?;
    }
    out.push('.');
    if rolled.extra == ExtraRolls::RanOut {
        write!(out, " Extra rolls ended at the limit of {MAX_EXTRA_ROLLS}.")?;
    }
    Ok(())
}

/// False for a single die or number, which is its own total.
fn says_the_total(rolled: &RollResult) -> bool {
    match &rolled.products[..] {
        [product] => match &product.factors[..] {
            [Value::Number(_)] => true,
            [Value::Dice(fallen)] => fallen.kept_dice.len() == 1 && fallen.dropped.is_empty(),
            _ => false,
        },
        _ => false,
    }
}

/// Says that several dice are summed before the multiplication.
fn write_factors(out: &mut String, factors: &[Value]) -> fmt::Result {
    for (at, factor) in factors.iter().enumerate() {
        if at > 0 {
            out.push_str(" times ");
        }
        if matches!(factor, Value::Dice(fallen) if fallen.kept_dice.len() > 1) {
            out.push_str("the sum of ");
        }
        write_value(out, factor)?;
    }
    Ok(())
}

fn write_value(out: &mut String, value: &Value) -> fmt::Result {
    let RolledDice { kept_dice, dropped } = match value {
        Value::Number(number) => return write!(out, "{number}"),
        Value::Dice(fallen) => fallen,
    };
    write_faces(out, kept_dice)?;
    if !dropped.is_empty() {
        out.push_str(" (without ");
        write_faces(out, dropped)?;
        out.push(')');
    }
    Ok(())
}

fn write_faces(out: &mut String, faces: &[i64]) -> fmt::Result {
    match faces {
        [] => out.push_str("nothing"),
        [one] => write!(out, "{one}")?,
        many if many.len() > MAX_LISTED_DICE => {
            write!(out, "{} dice with a sum of {}", many.len(), many.iter().sum::<i64>())?;
        }
        [first, between @ .., last] => {
            write!(out, "{first}")?;
            for face in between {
                write!(out, ", {face}")?;
            }
            write!(out, " and {last}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
