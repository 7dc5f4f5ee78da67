//! Rolls the dice of an expression. Randomness is an argument, so tests decide the rolls.

use super::expression::{
    Dice, DiceTerm, Explosion, Expression, Faces, MAX_EXTRA_ROLLS, Product, RerollTimes, Selection,
    Sign,
};

/// The result of a roll.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RollResult {
    /// In the order of the expression.
    pub(crate) products: Vec<Product<Value>>,
    pub(crate) total: i64,
    pub(crate) extra: ExtraRolls,
}

impl RollResult {
    /// The faces that count, in the order rolled.
    pub(crate) fn kept_faces(&self) -> Vec<i64> {
        self.faces(|fallen| &fallen.kept_dice)
    }

    /// The faces that were rerolled or dropped.
    pub(crate) fn dropped_faces(&self) -> Vec<i64> {
        self.faces(|fallen| &fallen.dropped)
    }

    fn faces<'a>(&'a self, of: impl Fn(&'a RolledDice) -> &'a Vec<i64>) -> Vec<i64> {
        let values = self.products.iter().flat_map(|product| &product.factors);
        let fallen = values.filter_map(|value| match value {
            Value::Number(_) => None,
            Value::Dice(fallen) => Some(fallen),
        });
        fallen.flat_map(of).copied().collect()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Number(i64),
    Dice(RolledDice),
}

impl Value {
    fn number(&self) -> i64 {
        match self {
            Self::Number(number) => *number,
            Self::Dice(fallen) => fallen.kept_dice.iter().sum(),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RolledDice {
    pub(crate) kept_dice: Vec<i64>,
    pub(crate) dropped: Vec<i64>,
}

/// Whether the allowance of extra rolls sufficed for all explosions and rerolls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExtraRolls {
    Enough,
    RanOut,
}

/// `random` returns a number from 1 to its argument.
pub(crate) fn roll(expression: &Expression, random: &mut dyn FnMut(u32) -> u32) -> RollResult {
    let mut cup = DiceRoller { random, extra_left: MAX_EXTRA_ROLLS, extra: ExtraRolls::Enough };
    let products: Vec<_> = expression
        .products()
        .iter()
        .map(|product| Product {
            sign: product.sign,
            factors: product.factors.iter().map(|term| cup.value(term)).collect(),
        })
        .collect();
    RollResult { total: total(&products), products, extra: cup.extra }
}

fn total(products: &[Product<Value>]) -> i64 {
    let sum = products.iter().try_fold(0_i64, |sum, product| {
        let value = product.value(Value::number)?;
        match product.sign {
            Sign::Plus => sum.checked_add(value),
            Sign::Minus => sum.checked_sub(value),
        }
    });
    sum.expect("an expression's total fits however the dice fall")
}

struct DiceRoller<'a> {
    random: &'a mut dyn FnMut(u32) -> u32,
    extra_left: u32,
    extra: ExtraRolls,
}

impl DiceRoller<'_> {
    fn value(&mut self, term: &DiceTerm) -> Value {
        match term {
            DiceTerm::Number(number) => Value::Number(*number),
            DiceTerm::Dice(dice) => Value::Dice(self.dice(dice)),
        }
    }

    fn dice(&mut self, dice: &Dice) -> RolledDice {
        let mut fallen = RolledDice::default();
        for _ in 0..dice.count {
            let mut face = self.die(dice, &mut fallen.dropped);
            fallen.kept_dice.push(face);
            while explodes(dice, face) && self.take_extra() {
                face = self.die(dice, &mut fallen.dropped);
                fallen.kept_dice.push(face);
            }
        }
        select(&mut fallen, dice.selection);
        fallen
    }

    /// One die, with its rerolls; earlier rolls go to `dropped`.
    fn die(&mut self, dice: &Dice, dropped: &mut Vec<i64>) -> i64 {
        let mut face = self.face(dice.faces);
        let Some(reroll) = dice.reroll else { return face };
        let again = i64::from(reroll.lowest)..=i64::from(reroll.highest);
        while again.contains(&face) && self.take_extra() {
            dropped.push(face);
            face = self.face(dice.faces);
            if reroll.times == RerollTimes::Once {
                break;
            }
        }
        face
    }

    fn face(&mut self, faces: Faces) -> i64 {
        match faces {
            Faces::Numbered(sides) => i64::from((self.random)(sides)),
            Faces::Fate => i64::from((self.random)(3)) - 2,
        }
    }

    fn take_extra(&mut self) -> bool {
        if self.extra_left == 0 {
            self.extra = ExtraRolls::RanOut;
            return false;
        }
        self.extra_left -= 1;
        true
    }
}

fn explodes(dice: &Dice, face: i64) -> bool {
    dice.explosion == Explosion::OnLargest && face == dice.faces.largest()
}

/// Moves the dice that do not count to `dropped`; the others keep their order.
fn select(fallen: &mut RolledDice, selection: Selection) {
    if selection == Selection::All {
        return;
    }
    let all = fallen.kept_dice.len();
    let mut by_face: Vec<usize> = (0..all).collect();
    by_face.sort_by_key(|at| fallen.kept_dice[*at]);
    let retained = match selection {
        Selection::All => &by_face[..],
        Selection::KeepHighest(n) => &by_face[all - n as usize..],
        Selection::KeepLowest(n) => &by_face[..n as usize],
        Selection::DropHighest(n) => &by_face[..all - n as usize],
        Selection::DropLowest(n) => &by_face[n as usize..],
    };
    let mut counts = vec![false; all];
    for at in retained {
        counts[*at] = true;
    }
    for (face, counts) in std::mem::take(&mut fallen.kept_dice).into_iter().zip(counts) {
        if counts {
            fallen.kept_dice.push(face);
        } else {
            fallen.dropped.push(face);
        }
    }
}

#[cfg(test)]
mod tests;
