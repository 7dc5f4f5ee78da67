//! Describes a roll in a sentence that can be read aloud.

use super::expression::{MAX_EXTRA_ROLLS, Sign};
use super::roll::{ExtraRolls, RollResult, RolledDice, Value};

/// More dice than this are summarized instead of listed.
const MAX_LISTED_DICE: usize = 10;

pub(crate) fn sentence(expression: &str, rolled: &RollResult) -> String {
    let mut parts = Vec::new();
    for (at, product) in rolled.products.iter().enumerate() {
        let factors: Vec<String> = match &product.factors[..] {
            [single] => vec![value(single)],
            several => several.iter().map(factor).collect(),
        };
        let sign = match (at, product.sign) {
            (0, _) => "",
            (_, Sign::Plus) => "plus ",
            (_, Sign::Minus) => "minus ",
        };
        parts.push(format!("{sign}{}", factors.join(" times ")));
    }
    let mut text = format!("{expression}: {}", parts.join(", "));
    if !says_the_total(rolled) {
        text.push_str(&format!(", makes {}", rolled.total));
    }
    text.push('.');
    if rolled.extra == ExtraRolls::RanOut {
        text.push_str(&format!(" Extra rolls ended at the limit of {MAX_EXTRA_ROLLS}."));
    }
    text
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
fn factor(factor: &Value) -> String {
    match factor {
        Value::Dice(fallen) if fallen.kept_dice.len() > 1 => {
            format!("the sum of {}", value(factor))
        }
        Value::Dice(_) | Value::Number(_) => value(factor),
    }
}

fn value(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::Dice(RolledDice { kept_dice: retained, dropped }) if dropped.is_empty() => {
            faces(retained)
        }
        Value::Dice(RolledDice { kept_dice: retained, dropped }) => {
            format!("{} (without {})", faces(retained), faces(dropped))
        }
    }
}

fn faces(faces: &[i64]) -> String {
    match faces {
        [] => "nothing".to_owned(),
        [one] => one.to_string(),
        many if many.len() > MAX_LISTED_DICE => {
            format!("{} dice with a sum of {}", many.len(), many.iter().sum::<i64>())
        }
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(ToString::to_string).collect();
            format!("{} and {last}", first.join(", "))
        }
    }
}

#[cfg(test)]
mod tests;
