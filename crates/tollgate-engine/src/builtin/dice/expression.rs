//! A valid dice expression: a sum of products of dice and numbers. Built by the parser only;
//! independent of text and randomness.

/// Dice in one expression in total.
pub(crate) const MAX_DICE: u32 = 1_000;
/// Sides of one die.
pub(crate) const MAX_SIDES: u32 = 1_000_000;
/// Explosions and rerolls of one expression in total.
pub(crate) const MAX_EXTRA_ROLLS: u32 = 1_000;

/// Invariant: the total fits an `i64`, whatever is rolled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expression {
    products: Vec<Product<DiceTerm>>,
}

impl Expression {
    /// `None` if some roll could overflow `i64`.
    pub(crate) fn new(products: Vec<Product<DiceTerm>>) -> Option<Self> {
        products
            .iter()
            .try_fold(0_i64, |sum, product| sum.checked_add(product.value(DiceTerm::largest)?))?;
        Some(Self { products })
    }

    pub(crate) fn products(&self) -> &[Product<DiceTerm>] {
        &self.products
    }
}

/// Factors with a sign: of terms as written, or of values as rolled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Product<T> {
    pub(crate) sign: Sign,
    pub(crate) factors: Vec<T>,
}

impl<T> Product<T> {
    /// The product without its sign, or `None` if it overflows `i64`.
    pub(crate) fn value(&self, of: impl Fn(&T) -> i64) -> Option<i64> {
        self.factors.iter().try_fold(1_i64, |value, factor| value.checked_mul(of(factor)))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Plus,
    Minus,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DiceTerm {
    /// Never negative.
    Number(i64),
    Dice(Dice),
}

impl DiceTerm {
    /// Largest absolute value of this term.
    fn largest(&self) -> i64 {
        match self {
            Self::Number(number) => *number,
            Self::Dice(dice) => i64::from(dice.count + MAX_EXTRA_ROLLS) * dice.faces.largest(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dice {
    /// 1 to [`MAX_DICE`].
    pub(crate) count: u32,
    pub(crate) faces: Faces,
    pub(crate) reroll: Option<Reroll>,
    pub(crate) explosion: Explosion,
    pub(crate) selection: Selection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Faces {
    /// Faces from 1 to this, which is at most [`MAX_SIDES`].
    Numbered(u32),
    /// -1, 0 or 1.
    Fate,
}

impl Faces {
    pub(crate) fn largest(self) -> i64 {
        match self {
            Self::Numbered(sides) => i64::from(sides),
            Self::Fate => 1,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Explosion {
    None,
    /// The largest face adds one more die.
    OnLargest,
}

/// Which dice count. The number is at least 1 and leaves at least one die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Selection {
    All,
    KeepHighest(u32),
    KeepLowest(u32),
    DropHighest(u32),
    DropLowest(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reroll {
    pub(crate) times: RerollTimes,
    pub(crate) lowest: u32,
    /// Faces from `lowest` up to this one are rolled again.
    pub(crate) highest: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RerollTimes {
    Once,
    UntilItDiffers,
}
